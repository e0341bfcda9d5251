//! TLS: certificates and keys from files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use thiserror::Error;
use tokio_rustls::TlsAcceptor;

/// The files of a certificate and of its key, in PEM. The certificate comes first, and those that signed it follow.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// An error from reading a certificate or a key.
#[derive(Debug, Error)]
#[error("{}: {why}", path.display())]
pub struct TlsError {
    path: PathBuf,
    why: String,
}

impl TlsFiles {
    /// `protocols` are those that clients may speak within TLS (ALPN).
    pub fn acceptor(&self, protocols: &[&str]) -> Result<TlsAcceptor, TlsError> {
        self.acceptor_for(None, protocols)
    }

    /// The same for clients who must show a certificate that an authority has signed. `authority` is the file of that one's.
    pub fn acceptor_for(&self, authority: Option<&Path>, protocols: &[&str]) -> Result<TlsAcceptor, TlsError> {
        let chain = certificates(&self.certificate)?;
        let key = PrivateKeyDer::from_pem_file(&self.key).map_err(|error| failed(&self.key, &error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = authority.map(|file| {
            let mut roots = RootCertStore::empty();
            certificates(file)?.into_iter().try_for_each(|root| roots.add(root)).map_err(|error| failed(file, &error))?;
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build();
            verifier.map_err(|error| failed(file, &error))
        });
        let verifier = verifier.transpose()?.unwrap_or_else(WebPkiClientVerifier::no_client_auth);
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_client_cert_verifier(verifier).with_single_cert(chain, key))
            .map_err(|error| failed(&self.certificate, &error))?;
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    CertificateDer::pem_file_iter(file).and_then(Iterator::collect).map_err(|error| failed(file, &error))
}

fn failed(path: &Path, why: &dyn std::fmt::Display) -> TlsError {
    TlsError { path: path.to_owned(), why: why.to_string() }
}
