//! `--param name=value`: reads values as in JSON.
//!
//! `x=5` is an integer, `x=1.5` a double, `x="5"` a string. `x=true`, `x=null`, `x=[1,2]` and `x={"a":1}` are as in JSON. Anything
//! that is not JSON is a string (`x=AUS`).

use mangrove::graph::Value;
use mangrove::{Parameters, json};

/// The parameters of `name=value` arguments.
pub fn parse(arguments: &[String]) -> Result<Parameters, String> {
    let mut parameters = Parameters::new();
    for argument in arguments {
        let (name, text) = split(argument)?;
        if parameters.insert(name.to_owned(), value(text)).is_some() {
            return Err(format!("--param {name} is given twice"));
        }
    }
    Ok(parameters)
}

/// The options of an algorithm, as `name=value` arguments.
pub fn parse_options(arguments: &[String]) -> Result<Parameters, String> {
    let mut options = Parameters::new();
    for argument in arguments {
        let (name, text) = argument.split_once('=').ok_or_else(|| format!("{argument}: expected OPTION=VALUE"))?;
        if options.insert(name.to_owned(), value(text)).is_some() {
            return Err(format!("{name} is given twice"));
        }
    }
    Ok(options)
}

fn split(argument: &str) -> Result<(&str, &str), String> {
    let (name, text) = argument.split_once('=').ok_or_else(|| format!("--param {argument}: expected NAME=VALUE"))?;
    let starts_well = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    if !starts_well || !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
        return Err(format!("--param {argument}: {name:?} cannot be the name of a parameter"));
    }
    Ok((name, text))
}

/// The value of a text.
pub fn value(text: &str) -> Value {
    let trimmed = text.trim();
    if let Some(number) = json::integer(trimmed) {
        return number;
    }
    match serde_json::from_str(trimmed) {
        Ok(read) => json::value(&read),
        Err(_) => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_typed_as_they_are_written() {
        let cases: [(&str, Value); 10] = [
            ("5", 5.into()),
            ("-3000000000", (-3_000_000_000i64).into()),
            ("1.5", 1.5.into()),
            ("true", true.into()),
            ("null", Value::Null),
            ("AUS", "AUS".into()),
            ("\"5\"", "5".into()),
            ("007", "007".into()),
            (" spaced out ", " spaced out ".into()),
            ("[1, \"a\"]", vec![1.into(), "a".into()].into()),
        ];
        for (text, expected) in cases {
            assert_eq!(value(text), expected, "{text}");
        }
        assert_eq!(value("99999999999999999999"), "99999999999999999999".parse::<mangrove::graph::BigInt>().unwrap().into());
    }

    #[test]
    fn arguments_that_are_no_parameters_are_refused() {
        for argument in ["x", "1x=5", "a-b=5", "=5"] {
            assert!(parse(&[argument.to_owned()]).is_err(), "{argument}");
        }
        assert!(parse(&["x=1".to_owned(), "x=2".to_owned()]).unwrap_err().contains("twice"));
        assert_eq!(parse(&["x=a=b".to_owned()]).unwrap()["x"], "a=b".into());
    }
}
