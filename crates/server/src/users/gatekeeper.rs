//! Checks who sends a request.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use argon2::password_hash::PasswordHasher;
use argon2::password_hash::phc::PasswordHash;
use argon2::{Algorithm, Argon2, Block, Params, Version};
use subtle::ConstantTimeEq;

use super::Principal;
use super::file::{PASSWORD_BYTES_MAX, Users, UsersError};
use super::token::{self, Hash};

/// What a client says to prove who it is.
#[derive(PartialEq, Eq, Debug)]
pub enum Login {
    /// A token may stand for the password.
    Password {
        name: String,
        password: String,
    },
    Token(String),
}

/// Checks names, passwords and tokens. To check a password takes some 20 ms and 19 MB, so one that was right is known for the next time.
pub struct Gatekeeper {
    users: Users,
    known: Mutex<HashMap<String, String>>,
    /// The tokens of those who logged in. They end with the server.
    issued: Mutex<HashMap<Hash, Issued>>,
    /// What to check a password against if there is no such user, so that the answer takes as long.
    nobody: String,
    /// The memory of checks, for the next ones. Allocators keep such large pieces for longer than they are used.
    blocks: Mutex<Vec<Vec<Block>>>,
}

struct Issued {
    to: Principal,
    until: Instant,
}

/// The most tokens of those who logged in, and of one of them. The one that ends first makes room.
const ISSUED_MAX: usize = 10_000;
const OF_USER_MAX: usize = 100;

impl Gatekeeper {
    /// How long a token lasts that stands for a login.
    pub const LASTING: Duration = Duration::from_secs(12 * 3600);

    pub fn new(users: Users) -> Result<Self, UsersError> {
        let nobody = Argon2::default().hash_password(b"nobody's password").map_err(|_| UsersError::Random)?.to_string();
        Ok(Self { users, known: Mutex::default(), issued: Mutex::default(), nobody, blocks: Mutex::default() })
    }

    /// Whom a token stands for, or a password that was right before.
    pub fn knows(&self, login: &Login) -> Option<Principal> {
        match login {
            Login::Token(token) => self.of_token(token),
            Login::Password { name, password } => {
                if let Some(principal) = self.of_token(password) {
                    return Some(principal).filter(|principal| principal.name.as_deref() == Some(name));
                }
                let known = locked(&self.known);
                let right = known.get(name)?;
                let is_right = bool::from(right.as_bytes().ct_eq(password.as_bytes()));
                if is_right { self.principal(name) } else { None }
            }
        }
    }

    /// Who has this name and this password. Takes long.
    pub fn check(&self, name: &str, password: &str) -> Option<Principal> {
        if password.len() > PASSWORD_BYTES_MAX {
            return None;
        }
        let user = self.users.get(name);
        let hash = PasswordHash::new(user.map_or(&self.nobody, |user| &user.password)).ok()?;
        let is_right = self.is_hash_of(&hash, password).unwrap_or(false);
        user.filter(|_| is_right)?;
        locked(&self.known).insert(name.to_owned(), password.to_owned());
        self.principal(name)
    }

    /// Whether a text looks like a token.
    pub fn is_token(text: &str) -> bool {
        token::hash(text).is_some()
    }

    /// Whether a hash is that of a password; `None` if it is none by Argon2.
    fn is_hash_of(&self, hash: &PasswordHash, password: &str) -> Option<bool> {
        let (salt, right) = (hash.salt.as_ref()?, hash.hash.as_ref()?);
        let params = Params::try_from(hash).ok()?;
        let algorithm = Algorithm::try_from(hash.algorithm.as_str()).ok()?;
        let version = Version::try_from(hash.version?).ok()?;
        let mut blocks = locked(&self.blocks).pop().unwrap_or_default();
        blocks.resize(params.block_count(), Block::default());
        let mut out = vec![0; right.len()];
        let argon = Argon2::new(algorithm, version, params);
        let hashed = argon.hash_password_into_with_memory(password.as_bytes(), salt.as_ref(), &mut out, &mut blocks);
        locked(&self.blocks).push(blocks);
        Some(hashed.is_ok() && bool::from(out.ct_eq(right.as_ref())))
    }

    /// Makes a token that stands for someone who logged in.
    pub fn issue(&self, to: Principal) -> String {
        let (token, now) = (token::make(), Instant::now());
        let mut issued = locked(&self.issued);
        issued.retain(|_, issued| issued.until > now);
        let own = issued.values().filter(|issued| issued.to.name == to.name).count();
        if own >= OF_USER_MAX || issued.len() >= ISSUED_MAX {
            let is_in_way = |(_, issued): &(&Hash, &Issued)| own < OF_USER_MAX || issued.to.name == to.name;
            let first = issued.iter().filter(is_in_way).min_by_key(|(_, issued)| issued.until);
            let first = first.map(|(hash, _)| hash.clone());
            first.map(|hash| issued.remove(&hash));
        }
        issued.extend(token::hash(&token).map(|hash| (hash, Issued { to, until: now + Self::LASTING })));
        token
    }

    /// Ends a token of someone who logged in. Returns false if it is none.
    pub fn revoke(&self, token: &str) -> bool {
        token::hash(token).is_some_and(|hash| locked(&self.issued).remove(&hash).is_some())
    }

    fn of_token(&self, token: &str) -> Option<Principal> {
        let hash = token::hash(token)?;
        let issued = locked(&self.issued).get(&hash).filter(|issued| issued.until > Instant::now()).map(|it| it.to.clone());
        issued.or_else(|| self.users.of_token(&hash))
    }

    fn principal(&self, name: &str) -> Option<Principal> {
        self.users.get(name).map(|user| Principal::new(name, user.role))
    }
}

/// What a panic of another thread cannot leave half changed.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::users::Role;

    fn password(name: &str, password: &str) -> Login {
        Login::Password { name: name.into(), password: password.into() }
    }

    #[test]
    fn users_are_kept_in_a_file_of_their_owner() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("users.json");
        let mut users = Users::default();
        assert_eq!(users.set("ada", Role::Admin, "correct horse").unwrap(), None);
        assert_eq!(users.set("bob", Role::Read, "battery staple").unwrap(), None);
        assert_eq!(users.set("bob", Role::Write, "battery staple 2").unwrap(), Some(0));
        let token = users.grant("bob", Some(Role::Read), Duration::from_secs(60)).unwrap().token;
        users.write(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains("horse") && !text.contains(&token));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        let users = Users::read(&path).unwrap();
        assert_eq!(users.list().collect::<Vec<_>>(), [("ada", Role::Admin, 0), ("bob", Role::Write, 1)]);

        let gatekeeper = Gatekeeper::new(users).unwrap();
        let (ada, bob) = (Some(Principal::new("ada", Role::Admin)), Some(Principal::new("bob", Role::Read)));
        assert_eq!(gatekeeper.knows(&password("ada", "correct horse")), None);
        assert_eq!(gatekeeper.check("ada", "correct horse"), ada);
        assert_eq!(gatekeeper.knows(&password("ada", "correct horse")), ada);
        assert_eq!(gatekeeper.knows(&password("ada", "correct horsf")), None);
        assert_eq!(gatekeeper.check("bob", "battery staple"), None);
        assert_eq!(gatekeeper.check("eve", "nobody's password"), None);
        // A token stands for its user, and for no other.
        assert_eq!(gatekeeper.knows(&Login::Token(token.clone())), bob);
        assert_eq!(gatekeeper.knows(&password("bob", &token)), bob);
        assert_eq!(gatekeeper.knows(&password("ada", &token)), None);
    }

    #[test]
    fn a_login_has_a_token_until_it_ends() {
        let gatekeeper = Gatekeeper::new(Users::default()).unwrap();
        let eve = Principal::new("eve", Role::Read);
        let token = gatekeeper.issue(eve.clone());
        assert_eq!(gatekeeper.knows(&Login::Token(token.clone())), Some(eve.clone()));
        assert_eq!(gatekeeper.knows(&Login::Token(token.clone() + "0")), None);
        assert!(gatekeeper.revoke(&token));
        assert!(!gatekeeper.revoke(&token));
        assert_eq!(gatekeeper.knows(&Login::Token(token)), None);

        let first = gatekeeper.issue(eve.clone());
        let other = gatekeeper.issue(Principal::new("bob", Role::Read));
        let last = (0..OF_USER_MAX).map(|_| gatekeeper.issue(eve.clone())).last().unwrap();
        assert_eq!(gatekeeper.knows(&Login::Token(first)), None);
        assert!(gatekeeper.knows(&Login::Token(other)).is_some(), "others keep theirs");
        assert_eq!(gatekeeper.knows(&Login::Token(last)), Some(eve));
    }
}
