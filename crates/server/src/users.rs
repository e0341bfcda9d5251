//! Who may use a server, and for what. A file holds their names, roles, and hashes of their passwords.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;
use thiserror::Error;

/// What a user may do. Each role may do what the ones before it may.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    Read,
    Write,
    Admin,
}

impl Role {
    pub const ALL: [(&'static str, Role); 3] = [("read", Role::Read), ("write", Role::Write), ("admin", Role::Admin)];

    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, role)| *role == self).map_or("", |(name, _)| name)
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct User {
    role: Role,
    /// In PHC's form: `$argon2id$v=19$…`.
    password: String,
}

/// The users in a file.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub struct Users {
    users: BTreeMap<String, User>,
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
    #[error("a password has at least {PASSWORD_BYTES_MIN} bytes, and at most {PASSWORD_BYTES_MAX}")]
    Password,
    #[error("a name has 1 to {NAME_BYTES_MAX} bytes, without a colon and without control characters")]
    Name,
    #[error("the system has no random numbers for a hash")]
    Random,
}

const PASSWORD_BYTES_MIN: usize = 8;
const PASSWORD_BYTES_MAX: usize = 1024;
const NAME_BYTES_MAX: usize = 128;

impl Users {
    /// Reads a file of users.
    pub fn read(path: &Path) -> Result<Self, UsersError> {
        let shown = || path.display().to_string();
        let text = std::fs::read(path).map_err(|error| UsersError::Read { path: shown(), error })?;
        let users: Self = serde_json::from_slice(&text).map_err(|error| UsersError::Malformed { path: shown(), error })?;
        match users.users.iter().find(|(_, user)| PasswordHash::new(&user.password).is_err()) {
            Some((name, _)) => Err(UsersError::NotAHash { path: shown(), name: name.clone() }),
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

    /// Adds a user, or gives one another role and password. Returns whether the user is new.
    pub fn set(&mut self, name: &str, role: Role, password: &str) -> Result<bool, UsersError> {
        if name.is_empty() || name.len() > NAME_BYTES_MAX || name.contains(|c: char| c == ':' || c.is_control()) {
            return Err(UsersError::Name);
        }
        if !(PASSWORD_BYTES_MIN..=PASSWORD_BYTES_MAX).contains(&password.len()) {
            return Err(UsersError::Password);
        }
        let hash = Argon2::default().hash_password(password.as_bytes()).map_err(|_| UsersError::Random)?;
        let user = User { role, password: hash.to_string() };
        Ok(self.users.insert(name.to_owned(), user).is_none())
    }

    /// Removes a user. Returns false if there is none of that name.
    pub fn remove(&mut self, name: &str) -> bool {
        self.users.remove(name).is_some()
    }

    /// Names and roles, by name.
    pub fn list(&self) -> impl Iterator<Item = (&str, Role)> {
        self.users.iter().map(|(name, user)| (name.as_str(), user.role))
    }

    pub fn is_empty(&self) -> bool {
        self.users.is_empty()
    }
}

/// Checks names and passwords. A check takes some 20 ms and 19 MB, so a password that was right is known for the next time.
pub struct Gatekeeper {
    users: Users,
    known: Mutex<HashMap<String, String>>,
    /// What to check a password against if there is no such user, so that the answer takes as long.
    nobody: String,
}

impl Gatekeeper {
    pub fn new(users: Users) -> Result<Self, UsersError> {
        let nobody = Argon2::default().hash_password(b"nobody's password").map_err(|_| UsersError::Random)?.to_string();
        Ok(Self { users, known: Mutex::default(), nobody })
    }

    /// The role of a user whose password was right before.
    pub fn knows(&self, name: &str, password: &str) -> Option<Role> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_right = known.get(name).is_some_and(|right| bool::from(right.as_bytes().ct_eq(password.as_bytes())));
        if is_right { self.users.users.get(name).map(|user| user.role) } else { None }
    }

    /// The role of a user, if the password is right. Takes long.
    pub fn check(&self, name: &str, password: &str) -> Option<Role> {
        if password.len() > PASSWORD_BYTES_MAX {
            return None;
        }
        let user = self.users.users.get(name);
        let hash = PasswordHash::new(user.map_or(&self.nobody, |user| &user.password)).ok()?;
        let is_right = Argon2::default().verify_password(password.as_bytes(), &hash).is_ok();
        let user = user.filter(|_| is_right)?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(name.to_owned(), password.to_owned());
        Some(user.role)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_kept_in_a_file_of_their_owner() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("users.json");
        let mut users = Users::default();
        assert!(users.set("ada", Role::Admin, "correct horse").unwrap());
        assert!(users.set("bob", Role::Read, "battery staple").unwrap());
        assert!(!users.set("bob", Role::Write, "battery staple 2").unwrap());
        users.write(&path).unwrap();
        assert!(!std::fs::read_to_string(&path).unwrap().contains("horse"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        let users = Users::read(&path).unwrap();
        assert_eq!(users.list().collect::<Vec<_>>(), [("ada", Role::Admin), ("bob", Role::Write)]);

        let gatekeeper = Gatekeeper::new(users).unwrap();
        assert_eq!(gatekeeper.knows("ada", "correct horse"), None);
        assert_eq!(gatekeeper.check("ada", "correct horse"), Some(Role::Admin));
        assert_eq!(gatekeeper.knows("ada", "correct horse"), Some(Role::Admin));
        assert_eq!(gatekeeper.knows("ada", "correct horsf"), None);
        assert_eq!(gatekeeper.check("bob", "battery staple"), None);
        assert_eq!(gatekeeper.check("eve", "nobody's password"), None);
    }

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
        std::fs::write(&path, r#"{"users": {"ada": {"role": "read", "password": "plain"}}}"#).unwrap();
        assert!(matches!(Users::read(&path), Err(UsersError::NotAHash { .. })));
    }
}
