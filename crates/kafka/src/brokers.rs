//! Brokers, and how to speak to them: over TLS, unless they are on this machine.

use std::collections::BTreeSet;
use std::fs;
use std::net::IpAddr;
use std::path::Path;

use mangrove_graph::{GraphError, Result};
use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::metadata::Metadata;

/// What a file of settings may set: how to agree on TLS, and who we are. The rest is decided here.
const PROTOCOL: &str = "security.protocol";
const GROUPS: [&str; 2] = ["ssl.", "sasl."];
/// Whether the certificate of a broker must name its host.
const HOST_CHECK: &str = "ssl.endpoint.identification.algorithm";
const SECURE: [&str; 2] = ["SSL", "SASL_SSL"];

/// The brokers of a log.
#[derive(Clone)]
pub struct Brokers {
    addresses: String,
    settings: Vec<(String, String)>,
}

impl Brokers {
    /// Brokers like `host:port,host:port`. `file` has lines like `ssl.ca.location=/etc/kafka/ca.pem`, in the words of librdkafka: those of
    /// `security.protocol`, `ssl.*` and `sasl.*`.
    ///
    /// # Errors
    /// If a broker is not on this machine and the settings have no TLS, or if the file says something else.
    pub fn new(addresses: &str, file: Option<&Path>) -> Result<Self> {
        let settings = file.map_or(Ok(Vec::new()), read)?;
        let new = Self { addresses: addresses.to_owned(), settings };
        for broker in addresses.split(',') {
            match broker.rsplit_once(':') {
                Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => new.must_be_safe(host)?,
                _ => return Err(GraphError::Invalid(format!("{broker:?} is no broker: write host:port"))),
            }
        }
        Ok(new)
    }

    /// Fails if the brokers have told of one to which nothing may be sent.
    pub fn must_all_be_safe(&self, told: &Metadata) -> Result<()> {
        told.brokers().iter().try_for_each(|broker| self.must_be_safe(broker.host()))
    }

    fn must_be_safe(&self, host: &str) -> Result<()> {
        if self.is_secure() || is_here(host) {
            return Ok(());
        }
        Err(GraphError::Invalid(format!(
            "the broker {host} is not on this machine: give --log-config a file with security.protocol=SSL (or SASL_SSL), and its certificates"
        )))
    }

    fn is_secure(&self) -> bool {
        let protocol = self.settings.iter().find(|(key, _)| key == PROTOCOL);
        protocol.is_some_and(|(_, protocol)| SECURE.iter().any(|secure| protocol.eq_ignore_ascii_case(secure)))
    }

    /// What all clients set. Brokers that fail are noticed within seconds.
    pub fn config(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        for (key, value) in &self.settings {
            config.set(key, value);
        }
        config
            .set("bootstrap.servers", &self.addresses)
            .set("client.id", "mangrove")
            .set("socket.timeout.ms", "3000")
            // While packets are lost, a system asks ever more rarely to be let in. A new attempt begins anew.
            .set("socket.connection.setup.timeout.ms", "3000")
            .set("reconnect.backoff.ms", "50")
            .set("reconnect.backoff.max.ms", "500")
            .set("topic.metadata.refresh.interval.ms", "30000")
            .set_log_level(RDKafkaLogLevel::Error);
        config
    }
}

/// The settings may have a password.
impl std::fmt::Debug for Brokers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Brokers").field("addresses", &self.addresses).finish_non_exhaustive()
    }
}

impl std::fmt::Display for Brokers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.addresses)
    }
}

fn is_here(host: &str) -> bool {
    let ip = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || ip.is_ok_and(|ip| ip.to_canonical().is_loopback())
}

/// The settings of a file.
fn read(file: &Path) -> Result<Vec<(String, String)>> {
    let text = fs::read_to_string(file).map_err(|error| GraphError::Invalid(format!("{}: {error}", file.display())))?;
    let lines = text.lines().map(str::trim).enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let mut known = BTreeSet::new();
    let parsed = lines.map(|(at, line)| {
        let wrong = |what: String| GraphError::Invalid(format!("{}:{}: {what}", file.display(), at + 1));
        let (key, value) = line.split_once('=').ok_or_else(|| wrong("a line is KEY=VALUE".into()))?;
        let (key, value) = (key.trim().to_owned(), value.trim().to_owned());
        if !known.insert(key.clone()) {
            return Err(wrong(format!("{key} is there twice")));
        }
        if key == HOST_CHECK && !value.eq_ignore_ascii_case("https") {
            return Err(wrong(format!("{key}={value} would accept the certificate of any host")));
        }
        if key == PROTOCOL || GROUPS.iter().any(|group| key.starts_with(group)) {
            return Ok((key, value));
        }
        Err(wrong(format!("{key} is not for this file: it has {PROTOCOL}, ssl.* and sasl.*")))
    });
    parsed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(settings: &str, addresses: &str) -> std::result::Result<Brokers, String> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("kafka.conf");
        fs::write(&file, settings).unwrap();
        let shown = format!("{}:", file.display());
        Brokers::new(addresses, Some(&file)).map_err(|error| error.to_string().replace(&shown, ""))
    }

    #[test]
    fn brokers_elsewhere_want_tls() {
        for here in ["127.0.0.1:9092", "localhost:9092,[::1]:9093"] {
            assert!(Brokers::new(here, None).is_ok(), "{here}");
        }
        for (settings, addresses) in [
            ("", "10.0.0.1:9092"),
            ("", "127.0.0.1:9092,kafka:9092"),
            ("security.protocol=PLAINTEXT", "kafka:9092"),
            ("security.protocol=SASL_PLAINTEXT", "kafka:9092"),
        ] {
            let refused = with(settings, addresses).unwrap_err();
            assert!(refused.contains("is not on this machine"), "{refused}");
        }
        for protocol in ["SSL", "ssl", "SASL_SSL"] {
            let secure = format!("# who we are\n\nsecurity.protocol = {protocol}\nsasl.username=me\n");
            assert!(with(&secure, "kafka-1:9092,kafka-2:9092").is_ok());
        }
    }

    #[test]
    fn a_file_with_other_settings_is_refused() {
        let refused = |settings| with(settings, "127.0.0.1:9092").unwrap_err();
        assert_eq!(
            refused("security.protocol=SSL\nacks=1"),
            "2: acks is not for this file: it has security.protocol, ssl.* and sasl.*"
        );
        assert_eq!(refused("ssl.ca.location"), "1: a line is KEY=VALUE");
        assert_eq!(refused("security.protocol=SSL\n\nsecurity.protocol=PLAINTEXT"), "3: security.protocol is there twice");
        let any_host = refused("ssl.endpoint.identification.algorithm=none");
        assert!(any_host.contains("would accept the certificate of any host"), "{any_host}");
        assert!(Brokers::new("kafka", None).unwrap_err().to_string().contains("write host:port"));
        assert!(Brokers::new("localhost:1", Some(Path::new("/nowhere/kafka.conf"))).is_err());
    }
}
