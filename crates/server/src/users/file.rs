//! A file of users: their names, roles, hashes of their passwords and of their tokens.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use argon2::Argon2;
use argon2::password_hash::PasswordHasher;
use argon2::password_hash::phc::PasswordHash;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::token::{self, Hash};
use super::{Principal, Role};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct User {
    pub role: Role,
    /// In PHC's form: `$argon2id$v=19$…`.
    pub password: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Token {
    user: String,
    /// The user's own role may be lower by now.
    role: Role,
    /// The end, in seconds since 1970.
    until: i64,
}

/// A token that was made just now. It cannot be read anywhere else.
pub struct Granted {
    pub token: String,
    pub role: Role,
    pub until: Timestamp,
}

/// The users in a file.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub struct Users {
    users: BTreeMap<String, User>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    tokens: BTreeMap<Hash, Token>,
}

/// An error from reading or changing users.
#[derive(Debug, Error)]
pub enum UsersError {
    #[error("cannot read {path}: {error}")]
    Read { path: String, error: io::Error },
    #[error("cannot write {path}: {error}")]
    Write { path: String, error: io::Error },
    #[error("{path} is not a file of users: {error}")]
    Malformed { path: String, error: serde_json::Error },
    #[error("{path}: the password of {name} is not a hash by Argon2")]
    NotAHash { path: String, name: String },
    #[error("{path}: the token {hash:?} is not a hash by SHA-256")]
    NotATokenHash { path: String, hash: String },
    #[error("a password has at least {PASSWORD_BYTES_MIN} bytes, and at most {PASSWORD_BYTES_MAX}")]
    Password,
    #[error("a name has 1 to {NAME_BYTES_MAX} bytes, without a colon and without control characters")]
    Name,
    #[error("there is no user {0:?}: add it first")]
    NoUser(String),
    #[error("{name} has the role {}, so a token cannot have the role {}", has.name(), wanted.name())]
    RoleTooHigh { name: String, has: Role, wanted: Role },
    #[error("a token lasts at most {} days", TOKEN_MAX.as_secs() / DAY.as_secs())]
    TooLong,
    #[error("the system has no random numbers for a hash")]
    Random,
}

const PASSWORD_BYTES_MIN: usize = 8;
pub const PASSWORD_BYTES_MAX: usize = 1024;
const NAME_BYTES_MAX: usize = 128;
const DAY: Duration = Duration::from_secs(24 * 3600);
/// Ten years.
const TOKEN_MAX: Duration = Duration::from_secs(3653 * 24 * 3600);

impl Users {
    /// Reads a file of users.
    pub fn read(path: &Path) -> Result<Self, UsersError> {
        let shown = || path.display().to_string();
        let text = std::fs::read(path).map_err(|error| UsersError::Read { path: shown(), error })?;
        let users: Self = serde_json::from_slice(&text).map_err(|error| UsersError::Malformed { path: shown(), error })?;
        if let Some((name, _)) = users.users.iter().find(|(_, user)| PasswordHash::new(&user.password).is_err()) {
            return Err(UsersError::NotAHash { path: shown(), name: name.clone() });
        }
        match users.tokens.keys().find(|hash| !token::is_hash(hash)) {
            Some(hash) => Err(UsersError::NotATokenHash { path: shown(), hash: hash.clone() }),
            None => Ok(users),
        }
    }

    /// Replaces a file of users. Only its owner may read it.
    pub fn write(&self, path: &Path) -> Result<(), UsersError> {
        let failed = |error| UsersError::Write { path: path.display().to_string(), error };
        let text = serde_json::to_string_pretty(self).unwrap_or_default() + "\n";
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // Such a file is its owner's alone.
        let mut file = tempfile::NamedTempFile::new_in(directory).map_err(failed)?;
        file.write_all(text.as_bytes()).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
        file.persist(path).map_err(|error| failed(error.error))?;
        Ok(())
    }

    /// Adds a user, or gives one another role and password. Whoever knew the password before may have made tokens, so these end.
    /// Returns how many they were; `None` if the user is new.
    pub fn set(&mut self, name: &str, role: Role, password: &str) -> Result<Option<usize>, UsersError> {
        if name.is_empty() || name.len() > NAME_BYTES_MAX || name.contains(|c: char| c == ':' || c.is_control()) {
            return Err(UsersError::Name);
        }
        if !(PASSWORD_BYTES_MIN..=PASSWORD_BYTES_MAX).contains(&password.len()) {
            return Err(UsersError::Password);
        }
        let hash = Argon2::default().hash_password(password.as_bytes()).map_err(|_| UsersError::Random)?;
        let user = User { role, password: hash.to_string() };
        let ended = self.revoke(name);
        Ok(self.users.insert(name.to_owned(), user).map(|_| ended))
    }

    /// Removes a user and its tokens. Returns false if there is none of that name.
    pub fn remove(&mut self, name: &str) -> bool {
        self.revoke(name);
        self.users.remove(name).is_some()
    }

    /// Makes a token of a user, with the user's role or a lower one. Forgets those that have ended.
    pub fn grant(&mut self, name: &str, role: Option<Role>, lasting: Duration) -> Result<Granted, UsersError> {
        let user = self.users.get(name).ok_or_else(|| UsersError::NoUser(name.to_owned()))?;
        let role = role.unwrap_or(user.role);
        if role > user.role {
            return Err(UsersError::RoleTooHigh { name: name.to_owned(), has: user.role, wanted: role });
        }
        if lasting > TOKEN_MAX {
            return Err(UsersError::TooLong);
        }
        let now = Timestamp::now();
        let until = now.checked_add(lasting).map_err(|_| UsersError::TooLong)?;
        self.tokens.retain(|_, token| token.until > now.as_second());
        let token = token::make();
        let kept = Token { user: name.to_owned(), role, until: until.as_second() };
        self.tokens.extend(token::hash(&token).map(|hash| (hash, kept)));
        Ok(Granted { token, role, until })
    }

    /// Removes the tokens of a user. Returns how many there were.
    pub fn revoke(&mut self, name: &str) -> usize {
        let before = self.tokens.len();
        self.tokens.retain(|_, token| token.user != name);
        before - self.tokens.len()
    }

    /// Whom a token stands for.
    pub fn of_token(&self, hash: &Hash) -> Option<Principal> {
        let token = self.tokens.get(hash).filter(|token| token.until > Timestamp::now().as_second())?;
        let user = self.users.get(&token.user)?;
        Some(Principal::new(&token.user, token.role.min(user.role)))
    }

    pub fn get(&self, name: &str) -> Option<&User> {
        self.users.get(name)
    }

    /// Names, roles and numbers of tokens, by name.
    pub fn list(&self) -> impl Iterator<Item = (&str, Role, usize)> {
        let tokens = |name: &str| self.tokens.values().filter(|token| token.user == name).count();
        self.users.iter().map(move |(name, user)| (name.as_str(), user.role, tokens(name)))
    }

    pub fn is_empty(&self) -> bool {
        self.users.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_refused() {
        let mut users = Users::default();
        assert!(matches!(users.set("ada", Role::Read, "short"), Err(UsersError::Password)));
        for name in ["", "a:b", "a\n"] {
            assert!(matches!(users.set(name, Role::Read, "long enough"), Err(UsersError::Name)));
        }
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("users.json");
        assert!(matches!(Users::read(&path), Err(UsersError::Read { .. })));
        std::fs::write(&path, "{").unwrap();
        assert!(matches!(Users::read(&path), Err(UsersError::Malformed { .. })));
        std::fs::write(&path, r#"{"users":{"ada":{"role":"read","password":"plain"}}}"#).unwrap();
        assert!(matches!(Users::read(&path), Err(UsersError::NotAHash { .. })));
        std::fs::write(&path, r#"{"users":{},"tokens":{"mangrove_1":{"user":"ada","role":"read","until":1}}}"#).unwrap();
        assert!(matches!(Users::read(&path), Err(UsersError::NotATokenHash { .. })));
    }

    #[test]
    fn a_token_may_do_no_more_than_its_user() {
        let mut users = Users::default();
        users.set("bob", Role::Write, "battery staple").unwrap();
        let granted = |users: &mut Users, role, days| users.grant("bob", role, DAY * days);
        assert!(matches!(granted(&mut users, Some(Role::Admin), 1), Err(UsersError::RoleTooHigh { .. })));
        assert!(matches!(granted(&mut users, None, 5000), Err(UsersError::TooLong)));
        assert!(matches!(users.grant("eve", None, DAY), Err(UsersError::NoUser(_))));

        let mut hash = |role, days| token::hash(&granted(&mut users, role, days).unwrap().token).unwrap();
        let (over, reads, writes) = (hash(None, 0), hash(Some(Role::Read), 1), hash(None, 1));
        let role = |users: &Users, hash| users.of_token(hash).map(|principal| principal.role);
        assert_eq!([&over, &reads, &writes].map(|hash| role(&users, hash)), [None, Some(Role::Read), Some(Role::Write)]);
        assert_eq!(users.list().collect::<Vec<_>>(), [("bob", Role::Write, 2)]);
        users.users.get_mut("bob").unwrap().role = Role::Read;
        assert_eq!(role(&users, &writes), Some(Role::Read));
        assert_eq!(users.revoke("bob"), 2);
        assert_eq!(role(&users, &writes), None);
        users.grant("bob", None, DAY).unwrap();
        assert_eq!(users.set("bob", Role::Read, "battery staple").unwrap(), Some(1));
        assert_eq!(users.list().collect::<Vec<_>>(), [("bob", Role::Read, 0)]);
    }
}
