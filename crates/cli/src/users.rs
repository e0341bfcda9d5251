//! `mangrove users`: who may use a server.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use mangrove_server::users::{Role, Users as List, UsersError};

use super::{Failure, counted, output, say};

/// Add, list or remove users of `mangrove serve --users FILE`, and make or remove their tokens
#[derive(Args)]
pub struct Users {
    /// File of names, roles and hashes of passwords. It is made if it is missing
    file: PathBuf,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Add a user, or give one another role and password, which ends its tokens. Asks for the password, or reads it from standard input
    Add {
        name: String,
        /// What the user may do: read; also write; also look after the server
        #[arg(long, value_enum)]
        role: RoleName,
    },
    /// Remove a user, and its tokens
    Remove { name: String },
    /// Make a token, which programs send instead of a password, and print it. It is not shown again
    Token {
        name: String,
        /// What the token may do, at most what the user may; default: the same
        #[arg(long, value_enum)]
        role: Option<RoleName>,
        /// How many days it lasts
        #[arg(long, value_name = "N", default_value_t = 90)]
        days: u32,
    },
    /// Remove all tokens of a user
    Revoke { name: String },
    /// Show names and roles
    List,
}

#[derive(Clone, Copy, ValueEnum)]
enum RoleName {
    Read,
    Write,
    Admin,
}

impl From<RoleName> for Role {
    fn from(name: RoleName) -> Self {
        match name {
            RoleName::Read => Self::Read,
            RoleName::Write => Self::Write,
            RoleName::Admin => Self::Admin,
        }
    }
}

impl Users {
    pub fn run(self) -> Result<(), Failure> {
        match self.action {
            Action::Add { name, role } => {
                let mut users = if self.file.exists() { List::read(&self.file)? } else { List::default() };
                let ended = users.set(&name, role.into(), &password(&name)?)?;
                users.write(&self.file)?;
                let done = match ended {
                    None => format!("added {name}"),
                    Some(0) => format!("changed {name}"),
                    Some(count) => format!("changed {name}, and ended {}", counted(count as u64, "token", "tokens")),
                };
                say(&format!("{done}; a running server must be started again"));
            }
            Action::Remove { name } => {
                let mut users = List::read(&self.file)?;
                if !users.remove(&name) {
                    return Err(Failure::Request(format!("{} has no user {name}", self.file.display())));
                }
                users.write(&self.file)?;
                say(&format!("removed {name}; a running server must be started again"));
            }
            Action::Token { name, role, days } => {
                let mut users = List::read(&self.file)?;
                let lasting = Duration::from_secs(u64::from(days) * 24 * 3600);
                let granted = users.grant(&name, role.map(Role::from), lasting)?;
                users.write(&self.file)?;
                let (role, until) = (granted.role.name(), granted.until);
                say(&format!(
                    "a token of {name} with the role {role}, until {until:.0}; a running server must be started again"
                ));
                output::print_text(&(granted.token + "\n"))?;
            }
            Action::Revoke { name } => {
                let mut users = List::read(&self.file)?;
                let count = users.revoke(&name);
                users.write(&self.file)?;
                say(&format!(
                    "removed {} of {name}; a running server must be started again",
                    counted(count as u64, "token", "tokens")
                ));
            }
            Action::List => {
                let users = List::read(&self.file)?;
                let line = |(name, role, tokens): (&str, Role, usize)| match tokens {
                    0 => format!("{name}\t{}\n", role.name()),
                    count => format!("{name}\t{}\t{}\n", role.name(), counted(count as u64, "token", "tokens")),
                };
                output::print_text(&users.list().map(line).collect::<String>())?;
            }
        }
        Ok(())
    }
}

fn password(name: &str) -> Result<String, Failure> {
    let failed = |error: io::Error| Failure::Request(format!("cannot read the password: {error}"));
    if !io::stdin().is_terminal() {
        let mut line = String::new();
        io::stdin().read_line(&mut line).map_err(failed)?;
        return Ok(line.trim_end_matches(['\r', '\n']).to_owned());
    }
    let first = rpassword::prompt_password(format!("password of {name}: ")).map_err(failed)?;
    let again = rpassword::prompt_password("once more: ").map_err(failed)?;
    if first == again { Ok(first) } else { Err(Failure::Request("the two passwords differ: nothing was changed".into())) }
}

impl From<UsersError> for Failure {
    fn from(error: UsersError) -> Self {
        Failure::Request(error.to_string())
    }
}
