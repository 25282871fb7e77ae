// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! How the process finds its cluster and connects to it over TLS.
//!
//! kube finds the kubeconfig, and reads and renews tokens.

use http::Request;
use kube::Client;

/// Makes ring the TLS provider of the process, unless it already has one.
///
/// rustls refuses to choose when a dependency brings a second provider into the build.
pub fn install_tls_provider() {
    // An error means that a provider is already installed, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Asks the API server whether it is ready.
pub async fn ask_readiness(client: &Client) -> kube::Result<()> {
    let request = Request::get("/readyz")
        .body(Vec::new())
        .map_err(kube::Error::HttpError)?;
    match client.request_text(request).await {
        // Some clusters do not let everyone ask. A refusal is an answer too.
        Err(kube::Error::Api(status)) if status.code == 403 => Ok(()),
        answer => answer.map(|_| ()),
    }
}

/// The value of a parameter of the request, as it is written in its query.
#[cfg(feature = "manager")]
pub(crate) fn parameter<'a, B>(request: &'a Request<B>, name: &str) -> Option<&'a str> {
    let query = request.uri().query().unwrap_or_default();
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find_map(|(other, value)| (other == name).then_some(value))
}

/// How many seconds the API server asks to wait (RFC 9110, 10.2.3).
#[cfg(feature = "manager")]
pub(crate) fn retry_after<B>(response: &http::Response<B>) -> Option<u32> {
    let seconds = response.headers().get(http::header::RETRY_AFTER)?;
    seconds.to_str().ok()?.parse().ok()
}

/// Sends a request, which has this name in traces, and returns the text of the answer.
#[cfg(feature = "manager")]
pub(crate) async fn send(
    client: &Client,
    name: &'static str,
    request: Result<Request<Vec<u8>>, kube::core::request::Error>,
) -> kube::Result<String> {
    let mut request = request.map_err(kube::Error::BuildRequest)?;
    request.extensions_mut().insert(name);
    client.request_text(request).await
}

/// Names the program in the header `User-Agent`, which the audit log shows, unless the configuration does.
#[cfg(feature = "manager")]
pub(crate) fn say_who_asks(config: &mut kube::Config) {
    use http::header::USER_AGENT;

    if config.headers.iter().any(|(name, _)| *name == USER_AGENT) {
        return;
    }
    let program = std::env::current_exe().ok();
    let program = program.as_deref().and_then(std::path::Path::file_stem);
    let mut agent = program.unwrap_or_default().to_string_lossy().into_owned();
    agent.retain(|character| character.is_ascii_alphanumeric() || "-_.".contains(character));
    agent += concat!(" kbr-runtime/", env!("CARGO_PKG_VERSION"));
    if let Ok(agent) = agent.trim_start().parse() {
        config.headers.push((USER_AGENT, agent));
    }
}

/// Reads `kubeconfig`, or without it $KUBECONFIG, ~/.kube/config or the pod's service account.
///
/// # Errors
///
/// [`ManagerError::NoCluster`] and [`ManagerError::Kubeconfig`].
#[cfg(feature = "manager")]
pub(crate) async fn load_config(
    kubeconfig: Option<&std::path::Path>,
) -> Result<kube::Config, crate::ManagerError> {
    use crate::ManagerError;
    use kube::Config;
    use kube::config::{KubeConfigOptions, Kubeconfig};

    let Some(path) = kubeconfig else {
        let config = Config::infer().await.map_err(ManagerError::NoCluster)?;
        return Ok(heed_no_proxy(config));
    };
    let read = async {
        let kubeconfig = Kubeconfig::read_from(path)?;
        Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await
    };
    let config = read.await.map_err(|source| ManagerError::Kubeconfig {
        path: path.to_owned(),
        source,
    })?;
    Ok(heed_no_proxy(config))
}

/// Bypasses the proxy of $HTTPS_PROXY if $NO_PROXY lists the cluster. kube 5.0 looks in $NO_PROXY for
/// the proxy instead of the cluster. A proxy from the kubeconfig is still used.
#[cfg(feature = "manager")]
fn heed_no_proxy(mut config: kube::Config) -> kube::Config {
    use hyper_util::client::proxy::matcher::Matcher;

    let from_environment = ["HTTPS_PROXY", "https_proxy"].map(std::env::var);
    let is_from_environment = config.proxy_url.as_ref().is_some_and(|proxy| {
        let mut proxies = from_environment.iter().flatten();
        proxies.any(|text| text.parse().is_ok_and(|other: http::Uri| other == *proxy))
    });
    if is_from_environment && Matcher::from_env().intercept(&config.cluster_url).is_none() {
        config.proxy_url = None;
    }
    config
}

#[cfg(test)]
mod tests;
