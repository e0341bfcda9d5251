//! Tokens: secrets that stand for a user. A server and a file keep hashes of them only.

use std::fmt::Write;

use sha2::{Digest, Sha256};
use uuid::Uuid;

/// What each token begins with. Scanners of source code find it.
const PREFIX: &str = "mangrove_";

/// The hash of a token, in hexadecimal. It takes no salt, because nobody can guess a token.
pub type Hash = String;

/// A token with 244 random bits.
pub fn make() -> String {
    format!("{PREFIX}{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
}

/// The hash of a text; `None` if it does not look like a token.
pub fn hash(text: &str) -> Option<Hash> {
    text.starts_with(PREFIX).then(|| {
        Sha256::digest(text).iter().fold(String::with_capacity(64), |mut hash, byte| {
            // Strings take all that is written.
            let _ = write!(hash, "{byte:02x}");
            hash
        })
    })
}

pub fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_unlike_any_other() {
        let (one, other) = (make(), make());
        assert_ne!(one, other);
        assert_eq!(hash(&one), hash(&one));
        assert_ne!(hash(&one), hash(&other));
        assert!(is_hash(&hash(&one).unwrap()));
        assert_eq!(hash("a password"), None);
        assert!(!is_hash(&one));
    }
}
