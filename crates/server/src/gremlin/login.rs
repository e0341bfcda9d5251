//! What a client sends to prove who it is.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mangrove::Value;
use mangrove::graph::Map;

use crate::users::Login;

impl Login {
    /// The argument `sasl` of a request, by the mechanism PLAIN (RFC 4616): nothing or the name, a zero byte, the name, a zero byte, the
    /// password. Drivers send it in base64, or as bytes.
    pub fn of_sasl(args: &Map) -> Option<Self> {
        let decoded;
        let plain = match args.get_str("sasl")? {
            Value::Bytes(bytes) => &**bytes,
            Value::String(text) => {
                decoded = STANDARD.decode(&**text).ok()?;
                &decoded[..]
            }
            _ => return None,
        };
        let mut parts = plain.split(|byte| *byte == 0).map(str::from_utf8);
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(Ok(_)), Some(Ok(name)), Some(Ok(password)), None) => Some(Self::new(name, password)),
            _ => None,
        }
    }

    /// The header `Authorization` of HTTP, by the schemes Basic (RFC 7617) and Bearer (RFC 6750).
    pub fn of_header(header: &str) -> Option<Self> {
        let (scheme, text) = header.split_once(' ')?;
        if scheme.eq_ignore_ascii_case("bearer") {
            return Some(Self::Token(text.trim().to_owned()));
        }
        let decoded = STANDARD.decode(text.trim()).ok().filter(|_| scheme.eq_ignore_ascii_case("basic"))?;
        let (name, password) = str::from_utf8(&decoded).ok()?.split_once(':')?;
        Some(Self::new(name, password))
    }

    fn new(name: &str, password: &str) -> Self {
        Self::Password { name: name.to_owned(), password: password.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sasl(value: Value) -> Option<Login> {
        Login::of_sasl(&[("sasl".into(), value)].into_iter().collect())
    }

    #[test]
    fn a_name_and_a_password_are_read() {
        let ada = Some(Login::new("ada", "pass:word"));
        assert_eq!(sasl(Value::Bytes(b"\0ada\0pass:word"[..].into())), ada);
        assert_eq!(sasl(STANDARD.encode("ada\0ada\0pass:word").as_str().into()), ada);
        assert_eq!(Login::of_header(&format!("Basic {}", STANDARD.encode("ada:pass:word"))), ada);
        for wrong in ["", "ada", "\0ada", "\0ada\0x\0y", "\0\u{ff}"] {
            let value = Value::Bytes(wrong.as_bytes().into());
            assert!(sasl(value).is_none_or(|login| login == Login::new("", "")), "{wrong:?}");
        }
        assert_eq!(sasl("not base64!".into()), None);
        assert_eq!(Login::of_header("Bearer x"), Some(Login::Token("x".into())));
        assert_eq!(Login::of_header("Digest x"), None);
        assert_eq!(Login::of_header("Basic"), None);
    }
}
