//! Who a process is: its certificate and key, and the authority whose certificates it believes.

use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::version::TLS13;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use thiserror::Error;
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};

/// The authority that has signed all certificates of a graph.
pub const CA_FILE: &str = "ca.pem";
/// The certificate of a process, and its key.
pub const CERTIFICATE_FILE: &str = "cert.pem";
pub const KEY_FILE: &str = "key.pem";
const PROTOCOL: &[u8] = b"h2";

/// A certificate with its key. Both sides of a connection show one that the same authority has signed.
#[derive(Clone)]
pub struct Identity {
    connector: TlsConnector,
    acceptor: TlsAcceptor,
    directory: PathBuf,
    chain: Vec<CertificateDer<'static>>,
    roots: Arc<RootCertStore>,
}

/// Why a directory gives no identity.
#[derive(Debug, Error)]
#[error("{}: {why}", path.display())]
pub struct IdentityError {
    path: PathBuf,
    why: String,
}

impl Identity {
    /// Reads `ca.pem`, `cert.pem` and `key.pem` of a directory.
    ///
    /// # Errors
    /// If a file is missing or damaged, or if the key is not that of the certificate.
    pub fn read(directory: &Path) -> Result<Self, IdentityError> {
        let path = |file| directory.join(file);
        let failed = |path: PathBuf, why: &dyn std::fmt::Display| IdentityError { path, why: why.to_string() };
        let certificates = |file| {
            let found: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(path(file))
                .and_then(Iterator::collect)
                .map_err(|error| failed(path(file), &error))?;
            if found.is_empty() { Err(failed(path(file), &"it has no certificate")) } else { Ok(found) }
        };
        let mut roots = RootCertStore::empty();
        for root in certificates(CA_FILE)? {
            roots.add(root).map_err(|error| failed(path(CA_FILE), &error))?;
        }
        let (roots, chain) = (Arc::new(roots), certificates(CERTIFICATE_FILE)?);
        let key = PrivateKeyDer::from_pem_file(path(KEY_FILE)).map_err(|error| failed(path(KEY_FILE), &error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(roots.clone(), provider.clone())
            .build()
            .map_err(|error| failed(path(CA_FILE), &error))?;
        let mut serving = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&TLS13])
            .and_then(|builder| builder.with_client_cert_verifier(verifier).with_single_cert(chain.clone(), key.clone_key()))
            .map_err(|error| failed(path(CERTIFICATE_FILE), &error))?;
        let mut connecting = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .and_then(|builder| builder.with_root_certificates(roots.clone()).with_client_auth_cert(chain.clone(), key))
            .map_err(|error| failed(path(CERTIFICATE_FILE), &error))?;
        serving.alpn_protocols = vec![PROTOCOL.to_vec()];
        connecting.alpn_protocols = vec![PROTOCOL.to_vec()];
        let (connector, acceptor) = (Arc::new(connecting).into(), Arc::new(serving).into());
        Ok(Self { connector, acceptor, directory: directory.to_owned(), chain, roots })
    }

    /// Fails if clients would not accept the certificate of a node at `host:port`.
    ///
    /// # Errors
    /// If it is for another host, or for somebody who connects, if its time is over, or if another authority has signed it.
    pub fn must_be_of(&self, address: &str) -> Result<(), IdentityError> {
        let failed = |why: String| IdentityError { path: self.directory.join(CERTIFICATE_FILE), why };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(self.roots.clone(), provider).build();
        let verifier = verifier.map_err(|error| failed(error.to_string()))?;
        let name = host_of(address).map_err(|error| failed(error.to_string()))?;
        let checked = verifier.verify_server_cert(&self.chain[0], &self.chain[1..], &name, &[], UnixTime::now());
        checked.map(drop).map_err(|error| failed(format!("{error}: make one for {address} with `mangrove cluster certs`")))
    }

    /// Agrees on TLS with the node at `host:port`.
    pub(crate) async fn connect(&self, address: &str, stream: TcpStream) -> io::Result<client::TlsStream<TcpStream>> {
        self.connector.connect(host_of(address)?, stream).await
    }

    /// Agrees on TLS with a client.
    pub(crate) async fn accept(&self, stream: TcpStream) -> io::Result<server::TlsStream<TcpStream>> {
        self.acceptor.accept(stream).await
    }
}

/// The host of `host:port`.
fn host_of(address: &str) -> io::Result<ServerName<'static>> {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    ServerName::try_from(host).map_err(io::Error::other)
}

/// Whether an address is on this machine: the only one that is spoken to without TLS.
pub(crate) fn is_here(ip: IpAddr) -> bool {
    ip.to_canonical().is_loopback()
}
