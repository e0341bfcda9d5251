//! Object stores by address, with the credentials that are usual for each.
//!
//! | address | credentials |
//! |---|---|
//! | `s3://bucket/path` | `AWS_…` variables, then profile files, then those of the machine |
//! | `gs://bucket/path` | `GOOGLE_…` variables, application default credentials |
//! | `az://container/path` | `AZURE_…` variables |
//! | `https://host/path` | none |

use std::str::FromStr;
use std::sync::{Arc, Once};
use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::http::HttpBuilder;
use object_store::path::Path;
use object_store::{ClientConfigKey, ObjectStore, ObjectStoreScheme, RetryConfig};
use url::{Position, Url};

use super::profile;

/// How often a request is sent again after an error of the store, and for how long.
const RETRIES_MAX: usize = 5;
const RETRY_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a store may take to answer one request.
const TIMEOUT: &str = "30 seconds";
const CONNECT_TIMEOUT: &str = "5 seconds";

/// The store of an address, and the path of the address in it.
pub fn store_of(address: &str) -> Result<(Arc<dyn ObjectStore>, Path), String> {
    choose_cryptography();
    let url = Url::parse(address).map_err(|error| error.to_string())?;
    let (scheme, path) = ObjectStoreScheme::parse(&url).map_err(|error| error.to_string())?;
    let store: Result<Arc<dyn ObjectStore>, object_store::Error> = match scheme {
        ObjectStoreScheme::AmazonS3 => {
            // Later options win: the environment before the profile.
            let options: Vec<_> = profile::options().into_iter().chain(environment()).collect();
            let builder = AmazonS3Builder::new().with_url(address).with_retry(retries());
            let builder = configured(builder, &options, AmazonS3Builder::with_config);
            configured(builder, &client_options(&options), AmazonS3Builder::with_config)
                .build()
                .map(|store| Arc::new(store) as _)
        }
        ObjectStoreScheme::GoogleCloudStorage => {
            let builder = GoogleCloudStorageBuilder::new().with_url(address).with_retry(retries());
            let builder = configured(builder, &environment(), GoogleCloudStorageBuilder::with_config);
            let options = client_options(&[]);
            configured(builder, &options, GoogleCloudStorageBuilder::with_config).build().map(|store| Arc::new(store) as _)
        }
        ObjectStoreScheme::MicrosoftAzure => {
            let builder = MicrosoftAzureBuilder::new().with_url(address).with_retry(retries());
            let builder = configured(builder, &environment(), MicrosoftAzureBuilder::with_config);
            let options = client_options(&[]);
            configured(builder, &options, MicrosoftAzureBuilder::with_config).build().map(|store| Arc::new(store) as _)
        }
        ObjectStoreScheme::Http => {
            let builder = HttpBuilder::new().with_url(&url[..Position::BeforePath]).with_retry(retries());
            let mut options = client_options(&[]);
            options.push(("allow_http".into(), "true".into()));
            configured(builder, &options, HttpBuilder::with_config).build().map(|store| Arc::new(store) as _)
        }
        _ => return Err("addresses begin with s3://, gs://, az://, http:// or https://".into()),
    };
    let path = Path::parse(path).map_err(|error| error.to_string())?;
    store.map(|store| (store, path)).map_err(|error| error.to_string())
}

fn retries() -> RetryConfig {
    RetryConfig { max_retries: RETRIES_MAX, retry_timeout: RETRY_TIMEOUT, ..RetryConfig::default() }
}

fn environment() -> Vec<(String, String)> {
    std::env::vars_os().filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?))).collect()
}

/// Bounds on waiting. An endpoint that the user names without encryption is used without.
fn client_options(of_user: &[(String, String)]) -> Vec<(String, String)> {
    let key = |key: ClientConfigKey| key.as_ref().to_owned();
    let mut options = vec![
        (key(ClientConfigKey::Timeout), TIMEOUT.into()),
        (key(ClientConfigKey::ConnectTimeout), CONNECT_TIMEOUT.into()),
    ];
    let is_endpoint =
        |name: &str| name.eq_ignore_ascii_case("aws_endpoint_url") || name.eq_ignore_ascii_case("aws_endpoint");
    if of_user.iter().any(|(name, value)| is_endpoint(name) && value.starts_with("http://")) {
        options.push((key(ClientConfigKey::AllowHttp), "true".into()));
    }
    options
}

/// A builder with the options that it knows.
fn configured<B, K: FromStr>(builder: B, options: &[(String, String)], with: impl Fn(B, K, String) -> B) -> B {
    options.iter().fold(builder, |builder, (key, value)| match key.to_ascii_lowercase().parse() {
        Ok(key) => with(builder, key, value.clone()),
        Err(_) => builder,
    })
}

/// Encrypted connections use `ring`. It builds without tools beyond a C compiler.
fn choose_cryptography() {
    static CHOSEN: Once = Once::new();
    CHOSEN.call_once(|| {
        // Another library of this process may have chosen before, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}
