// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The operator's metrics, read with an account that the project's role allows to read them.

use http::Request;
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::api::{ApiResource, PostParams};
use kube::{Api, Client, Config};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::control_plane::{LOOPBACK, PAUSE, START_TIMEOUT};
use super::grants::items;
use super::install::{Account, Manifests, apply, token};
use super::port::ReservedPort;
use super::{TestEnvError, client};

/// The account that reads the metrics.
const READER: &str = "testenv-metrics-reader";

const PATH: &str = "/metrics";

/// Where the operator serves its metrics, and which role allows reading them.
pub(super) struct Metrics {
    pub(super) port: ReservedPort,
    /// A ClusterRole.
    role: Option<String>,
    reader: Account,
}

impl Metrics {
    /// Reserves a port, if the deployed manager serves metrics.
    ///
    /// # Errors
    ///
    /// [`TestEnvError::NoPort`].
    pub(super) fn prepare(manifests: &Manifests) -> Result<Option<Self>, TestEnvError> {
        if !manifests.serves_metrics() {
            return Ok(None);
        }
        let may_read = |document: &&Value| {
            let mut rules = items(&document["rules"]);
            document["kind"] == "ClusterRole"
                && rules.any(|rule| items(&rule["nonResourceURLs"]).any(|url| url == PATH))
        };
        let role = manifests.documents.iter().find(may_read);
        let role = role.and_then(|role| role["metadata"]["name"].as_str());
        Ok(Some(Self {
            port: ReservedPort::choose()?,
            role: role.map(str::to_owned),
            reader: Account {
                namespace: manifests.account.namespace.clone(),
                name: READER.to_owned(),
            },
        }))
    }

    /// The operator's response to an account that may read the metrics.
    pub(super) async fn scrape(&self, admin: Client) -> String {
        let read = async {
            let token = self.allow(admin).await?;
            let mut config = Config::new(self.url().parse()?);
            // Its certificate is self-signed.
            config.accept_invalid_certs = true;
            config.default_retry = false;
            config.auth_info.token = Some(token.into());
            let client = client(config);
            loop {
                let request = Request::get(PATH).body(Vec::new())?;
                match client.request_text(request).await {
                    Ok(metrics) => return Ok(metrics),
                    Err(error @ kube::Error::Api(_)) => return Err(error.into()),
                    // It does not listen yet.
                    Err(_) => sleep(PAUSE).await,
                }
            }
        };
        let read: Result<Result<_, Box<dyn std::error::Error>>, _> =
            timeout(START_TIMEOUT, read).await;
        match read {
            Ok(Ok(metrics)) => metrics,
            Ok(Err(error)) => panic!("no metrics: {error}"),
            Err(_) => panic!("no metrics: no response from {}", self.url()),
        }
    }

    fn url(&self) -> String {
        format!("https://{LOOPBACK}:{}", self.port.number)
    }

    /// Allows the reader to read the metrics, and returns its token.
    async fn allow(&self, admin: Client) -> Result<String, Box<dyn std::error::Error>> {
        let Some(role) = &self.role else {
            return Err(format!("no ClusterRole in `config/default` allows `{PATH}`").into());
        };
        let Account { namespace, name } = &self.reader;
        let account = json!({
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": { "namespace": namespace, "name": name },
        });
        let accounts = ApiResource::erase::<ServiceAccount>(&());
        apply(&admin, &accounts, name, &account).await?;
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": { "name": name },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role },
            "subjects": [{ "kind": "ServiceAccount", "namespace": namespace, "name": name }],
        });
        let bindings = ApiResource::erase::<ClusterRoleBinding>(&());
        apply(&admin, &bindings, name, &binding).await?;
        // The API server learns of roles a moment after they were written, and the operator caches a
        // refusal.
        let review = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: Some(self.reader.user()),
                non_resource_attributes: Some(NonResourceAttributes {
                    path: Some(PATH.to_owned()),
                    verb: Some("get".to_owned()),
                }),
                ..SubjectAccessReviewSpec::default()
            },
            ..SubjectAccessReview::default()
        };
        let reviews = Api::<SubjectAccessReview>::all(admin.clone());
        loop {
            let answer = reviews.create(&PostParams::default(), &review).await?;
            if answer.status.is_some_and(|status| status.allowed) {
                return Ok(token(admin, namespace, name).await?);
            }
            sleep(PAUSE).await;
        }
    }
}
