//! The profile files of Amazon's tools: `~/.aws/config` and `~/.aws/credentials`.

use std::path::{Path, PathBuf};

/// What a profile says, as options of a store. The environment goes before it.
///
/// `AWS_PROFILE` names the profile, otherwise `default`. `AWS_CONFIG_FILE` and `AWS_SHARED_CREDENTIALS_FILE` name the files.
pub fn options() -> Vec<(String, String)> {
    let of_environment = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let profile = of_environment("AWS_PROFILE").unwrap_or_else(|| "default".into());
    let home = of_environment("HOME").or_else(|| of_environment("USERPROFILE"));
    let file = |named: &str, name: &str| -> Option<PathBuf> {
        of_environment(named).map(PathBuf::from).or_else(|| Some(Path::new(home.as_ref()?).join(".aws").join(name)))
    };
    let files = [file("AWS_CONFIG_FILE", "config"), file("AWS_SHARED_CREDENTIALS_FILE", "credentials")];
    // A missing file is no profile.
    let texts = files.into_iter().flatten().filter_map(|path| std::fs::read_to_string(path).ok());
    texts.flat_map(|text| settings(&text, &profile)).collect()
}

/// The settings of one profile in a file.
fn settings(text: &str, profile: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut is_here = false;
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';'])) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            is_here = name.trim().strip_prefix("profile ").unwrap_or(name).trim() == profile;
            continue;
        }
        let Some((key, value)) = line.split_once('=').filter(|_| is_here) else { continue };
        let option = match key.trim() {
            "aws_access_key_id" => "aws_access_key_id",
            "aws_secret_access_key" => "aws_secret_access_key",
            "aws_session_token" => "aws_session_token",
            "region" => "aws_region",
            "endpoint_url" => "aws_endpoint_url",
            _ => continue,
        };
        found.push((option.to_owned(), value.trim().to_owned()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_of_one_profile_are_read() {
        let text = "# keys\n[default]\naws_access_key_id = A\n[profile other]\nregion=eu-west-1 \noutput = json\n[ third ]\nregion = x";
        let of = |profile| settings(text, profile);
        assert_eq!(of("default"), [("aws_access_key_id".to_owned(), "A".to_owned())]);
        assert_eq!(of("other"), [("aws_region".to_owned(), "eu-west-1".to_owned())]);
        assert_eq!(of("third"), [("aws_region".to_owned(), "x".to_owned())]);
        assert!(of("none").is_empty());
    }
}
