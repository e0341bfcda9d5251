//! `mangrove cluster certs`: an authority of our own, and what it signs.

use std::path::PathBuf;

use clap::Args;

use crate::Failure;

#[derive(Args)]
pub struct Certs {
    /// Directory of the authority. Its ca.pem and ca.key are made if they are not there. Keep ca.key away from the nodes: who has it can make certificates
    directory: PathBuf,
    /// Whom the certificate is for: a node, several nodes, or somebody who connects. The directory of that name, in the first one, gets it
    name: String,
    /// Hosts of the nodes: names such as node-1.example.com or *.air.svc, or IP addresses. Without any, it is for somebody who connects
    hosts: Vec<String>,
    /// How long the certificate counts
    #[arg(long, default_value_t = 365, value_parser = clap::value_parser!(u16).range(1..=3_650))]
    days: u16,
    /// Replace the certificate and the key that are there
    #[arg(long)]
    renew: bool,
}

#[cfg(not(feature = "cluster"))]
impl Certs {
    pub fn run(self) -> Result<(), Failure> {
        let Self { directory: _, name: _, hosts: _, days: _, renew: _ } = self;
        Err(Failure::Request(crate::log::MISSING.into()))
    }
}

#[cfg(feature = "cluster")]
mod made {
    use std::fs;
    use std::io::{self, Write};
    use std::net::IpAddr;
    use std::path::Path;
    use std::time::{Duration, SystemTime};

    use mangrove::cluster::{CA_FILE, CERTIFICATE_FILE, KEY_FILE};
    use rcgen::{
        BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
        KeyUsagePurpose,
    };

    use super::{Certs, Failure};
    use crate::say;

    const CA_KEY_FILE: &str = "ca.key";
    /// The hosts of a certificate, one a line; none for somebody who connects.
    const HOSTS_FILE: &str = "hosts";
    const CA_NAME: &str = "Mangrove cluster";
    const CA_DAYS: u16 = 3_650;
    /// Clocks of other machines may be behind.
    const EARLIER: Duration = Duration::from_secs(3_600);
    const DAY: Duration = Duration::from_secs(24 * 3_600);

    impl Certs {
        pub fn run(self) -> Result<(), Failure> {
            let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            if self.name.is_empty() || self.name.starts_with('.') || !self.name.chars().all(is_name) {
                return Err(Failure::Usage(format!("{:?} is no name: use letters, digits, -, _ and .", self.name)));
            }
            if let Some(wrong) = self.hosts.iter().find(|host| !is_host(host)) {
                return Err(Failure::Usage(format!(
                    "{wrong:?} is no host: a name, *.NAME or an IP address, without a port"
                )));
            }
            let own = self.directory.join(&self.name);
            let there = own.join(CERTIFICATE_FILE);
            if there.exists() && !self.renew {
                return Err(Failure::Request(format!("{} is there already: --renew replaces it", there.display())));
            }
            self.must_be_the_same(&own)?;
            let (authority, ca) = self.authority()?;
            let (key, params) = (KeyPair::generate().map_err(failed)?, self.params()?);
            let certificate = params.signed_by(&key, &authority).map_err(failed)?;
            fs::create_dir_all(&own).map_err(|error| cannot(&own, &error))?;
            write(&own.join(CA_FILE), &ca, false)?;
            write(&own.join(KEY_FILE), &key.serialize_pem(), true)?;
            write(&own.join(HOSTS_FILE), &self.hosts.iter().map(|host| format!("{host}\n")).collect::<String>(), false)?;
            write(&own.join(CERTIFICATE_FILE), &certificate.pem(), false)?;
            let (whose, shown) = (if self.hosts.is_empty() { "to connect" } else { "for a node" }, own.display());
            say(&format!("{shown}: {CA_FILE}, {CERTIFICATE_FILE} and {KEY_FILE} {whose}, for {} days", self.days));
            Ok(())
        }

        /// Fails if a node would become somebody who connects, or the other way round.
        fn must_be_the_same(&self, own: &Path) -> Result<(), Failure> {
            let Ok(before) = fs::read_to_string(own.join(HOSTS_FILE)) else { return Ok(()) };
            let hosts: Vec<&str> = before.lines().collect();
            match (hosts.is_empty(), self.hosts.is_empty()) {
                (false, true) => Err(Failure::Request(format!(
                    "{} is a node: give its hosts again, which were {}",
                    own.display(),
                    hosts.join(" ")
                ))),
                (true, false) => Err(Failure::Request(format!("{} is somebody who connects: give no hosts", own.display()))),
                _ => Ok(()),
            }
        }

        /// The authority of the directory, and its certificate.
        fn authority(&self) -> Result<(Issuer<'static, KeyPair>, String), Failure> {
            let (certificate, key) = (self.directory.join(CA_FILE), self.directory.join(CA_KEY_FILE));
            match (certificate.exists(), key.exists()) {
                (true, true) => {
                    let read = |path: &Path| fs::read_to_string(path).map_err(|error| cannot(path, &error));
                    let pair = KeyPair::from_pem(&read(&key)?).map_err(|error| cannot(&key, &error))?;
                    Ok((Issuer::new(authority_params()?, pair), read(&certificate)?))
                }
                (false, false) => {
                    fs::create_dir_all(&self.directory).map_err(|error| cannot(&self.directory, &error))?;
                    let (pair, params) = (KeyPair::generate().map_err(failed)?, authority_params()?);
                    let made = params.self_signed(&pair).map_err(failed)?.pem();
                    write(&key, &pair.serialize_pem(), true)?;
                    write(&certificate, &made, false)?;
                    say(&format!("{}: a new authority; keep {CA_KEY_FILE} away from the nodes", self.directory.display()));
                    Ok((Issuer::new(params, pair), made))
                }
                (there, _) => {
                    let (missing, there) = if there { (&key, &certificate) } else { (&certificate, &key) };
                    Err(Failure::Request(format!("{} is there, and {} is not", there.display(), missing.display())))
                }
            }
        }

        fn params(&self) -> Result<CertificateParams, Failure> {
            let wrong = |error| Failure::Usage(format!("{}: {error}", self.hosts.join(", ")));
            let mut params = CertificateParams::new(self.hosts.clone()).map_err(wrong)?;
            params.distinguished_name = named(&self.name);
            params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
            if !self.hosts.is_empty() {
                params.extended_key_usages.push(ExtendedKeyUsagePurpose::ServerAuth);
            }
            params.use_authority_key_identifier_extension = true;
            count_for(&mut params, self.days);
            Ok(params)
        }
    }

    fn is_host(text: &str) -> bool {
        let is_part = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
        text.parse::<IpAddr>().is_ok() || text.strip_prefix("*.").unwrap_or(text).split('.').all(is_part)
    }

    fn authority_params() -> Result<CertificateParams, Failure> {
        let mut params = CertificateParams::new([]).map_err(failed)?;
        params.distinguished_name = named(CA_NAME);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        count_for(&mut params, CA_DAYS);
        Ok(params)
    }

    fn named(name: &str) -> DistinguishedName {
        let mut named = DistinguishedName::new();
        named.push(DnType::CommonName, name);
        named
    }

    fn count_for(params: &mut CertificateParams, days: u16) {
        let now = SystemTime::now();
        params.not_before = (now - EARLIER).into();
        params.not_after = (now + DAY * u32::from(days)).into();
    }

    /// Writes a file as a whole. Only its owner can read a secret.
    fn write(path: &Path, text: &str, is_secret: bool) -> Result<(), Failure> {
        let written = || -> io::Result<()> {
            // A temporary file is its owner's alone.
            let mut new = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
            new.write_all(text.as_bytes())?;
            #[cfg(unix)]
            if !is_secret {
                let all_may_read = std::os::unix::fs::PermissionsExt::from_mode(0o644);
                new.as_file().set_permissions(all_may_read)?;
            }
            new.as_file().sync_all()?;
            new.persist(path).map(drop).map_err(|error| error.error)
        };
        written().map_err(|error| cannot(path, &error))
    }

    fn cannot(path: &Path, error: &dyn std::fmt::Display) -> Failure {
        Failure::Request(format!("{}: {error}", path.display()))
    }

    fn failed(error: impl std::fmt::Display) -> Failure {
        Failure::Request(format!("the certificate cannot be made: {error}"))
    }
}
