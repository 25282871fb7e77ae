// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Decides who may do what, by asking the API server.
//!
//! A TokenReview identifies the user of a token, a SubjectAccessReview says whether a role allows the
//! request. Cache times are those of controller-runtime. Anyone who can connect can send any number of
//! tokens, so the number of cached answers is bounded, and so is the number of concurrent reviews.

use std::sync::Mutex;
use std::time::Duration;

use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, StatusCode};
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client, Config};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use super::answers::{Cache, Key};
use crate::chain::chain;
use crate::http_server::{Answer, text};
use crate::lock::lock;
use crate::logging::LogLimit;

/// How long checking a request may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long the user of a token is cached.
const TOKEN: Duration = Duration::from_secs(60);

/// How long a permission is cached.
const ALLOWED: Duration = Duration::from_secs(5 * 60);

/// How long a denial or an invalid token is cached. One of several API servers may learn of a new
/// account or role a little later than the others.
const DENIED: Duration = Duration::from_secs(30);

/// Maximum number of cached answers of one kind. Answers about invalid tokens have their own cache, so
/// that they do not displace the others.
const KEPT: usize = 256;

/// Maximum number of concurrent reviews.
const REVIEWS: usize = 4;

/// The user name that the API server gives to users without a name.
const ANONYMOUS: &str = "system:anonymous";

/// Checks whether requests are allowed.
pub(super) struct Access {
    config: Config,
    patience: Duration,
    client: Mutex<Client>,
    users: Mutex<Cache<UserInfo>>,
    /// Invalid tokens.
    bad: Mutex<Cache<()>>,
    /// Whether a user may do what was asked for.
    rights: Mutex<Cache<bool>>,
    reviews: Semaphore,
    /// Log lines about requests that could not be checked.
    failures: LogLimit<()>,
}

/// Why a request is refused.
#[derive(Debug, PartialEq)]
pub(super) enum Refusal {
    /// It has no token, or an invalid one.
    Unauthenticated,
    /// No role allows it.
    Forbidden(String),
    /// The check failed.
    Unknown(&'static str),
}

impl Refusal {
    pub(super) fn answer(self) -> Answer {
        match self {
            Self::Unauthenticated => {
                let reason = "a bearer token that the API server accepts is required\n";
                let mut answer = text(StatusCode::UNAUTHORIZED, reason);
                let scheme = HeaderValue::from_static("Bearer");
                answer.headers_mut().insert(WWW_AUTHENTICATE, scheme);
                answer
            }
            Self::Forbidden(reason) => text(StatusCode::FORBIDDEN, reason),
            Self::Unknown(reason) => text(StatusCode::INTERNAL_SERVER_ERROR, reason),
        }
    }
}

impl Access {
    /// # Errors
    ///
    /// When the configuration is not usable.
    pub(super) fn new(config: Config) -> kube::Result<Self> {
        Self::with_patience(config, PATIENCE)
    }

    fn with_patience(mut config: Config, patience: Duration) -> kube::Result<Self> {
        config.default_retry = false;
        Ok(Self {
            client: Mutex::new(Client::try_from(config.clone())?),
            config,
            patience,
            users: Mutex::new(Cache::new(KEPT)),
            bad: Mutex::new(Cache::new(KEPT)),
            rights: Mutex::new(Cache::new(KEPT)),
            reviews: Semaphore::new(REVIEWS),
            failures: LogLimit::default(),
        })
    }

    /// Returns the name of the user whose token is in `headers`.
    ///
    /// # Errors
    ///
    /// When no role allows the user to use `verb` on `path`, or when that cannot be checked.
    pub(super) async fn check(
        &self,
        headers: &HeaderMap,
        verb: &str,
        path: &str,
    ) -> Result<String, Refusal> {
        let token = bearer(headers).ok_or(Refusal::Unauthenticated)?;
        let asked = async {
            let user = self.user(token).await?;
            let name = user.username.clone().unwrap_or_default();
            if self.may(user, verb, path).await? {
                return Ok(name);
            }
            let reason = format!("no role allows `{name}` to use the verb `{verb}` on `{path}`\n");
            Err(Refusal::Forbidden(reason))
        };
        match timeout(self.patience, asked).await {
            Ok(answer) => answer,
            Err(_) => {
                // Its connections may be dead.
                if let Ok(client) = Client::try_from(self.config.clone()) {
                    *lock(&self.client) = client;
                }
                self.log_failure(&format!("no answer within {:?}", self.patience));
                Err(Refusal::Unknown("the API server does not answer\n"))
            }
        }
    }

    /// Returns the user of `token`.
    async fn user(&self, token: &str) -> Result<UserInfo, Refusal> {
        let key = Key::of(token.as_bytes());
        let known = || {
            let user = lock(&self.users).get(key).map(Ok);
            let is_bad = || lock(&self.bad).get(key);
            user.or_else(|| is_bad().map(|()| Err(Refusal::Unauthenticated)))
        };
        if let Some(known) = known() {
            return known;
        }
        let _permit = self.reviews.acquire().await;
        // Another request may have asked in the meantime.
        if let Some(known) = known() {
            return known;
        }
        let review = TokenReview {
            spec: TokenReviewSpec {
                token: token.to_owned(),
                ..TokenReviewSpec::default()
            },
            ..TokenReview::default()
        };
        let reviews = Api::<TokenReview>::all(lock(&self.client).clone());
        let answer = reviews.create(&PostParams::default(), &review).await;
        let answer = answer.map_err(|error| self.unknown(&error, "tokenreviews"))?;
        let status = answer.status.unwrap_or_default();
        let user = status.user.filter(|user| {
            let name = user.username.as_deref().unwrap_or_default();
            status.authenticated == Some(true) && !name.is_empty() && name != ANONYMOUS
        });
        let Some(user) = user else {
            lock(&self.bad).insert(key, (), DENIED);
            return Err(Refusal::Unauthenticated);
        };
        lock(&self.users).insert(key, user.clone(), TOKEN);
        Ok(user)
    }

    /// Whether a role allows `user` to use `verb` on `path`.
    async fn may(&self, user: UserInfo, verb: &str, path: &str) -> Result<bool, Refusal> {
        let spec = SubjectAccessReviewSpec {
            extra: user.extra,
            groups: user.groups,
            non_resource_attributes: Some(NonResourceAttributes {
                path: Some(path.to_owned()),
                verb: Some(verb.to_owned()),
            }),
            uid: user.uid,
            user: user.username,
            ..SubjectAccessReviewSpec::default()
        };
        let question = serde_json::to_vec(&spec)
            .map_err(|_| Refusal::Unknown("could not write an access review for this user\n"))?;
        let key = Key::of(&question);
        let known = || lock(&self.rights).get(key);
        if let Some(known) = known() {
            return Ok(known);
        }
        let _permit = self.reviews.acquire().await;
        if let Some(known) = known() {
            return Ok(known);
        }
        let review = SubjectAccessReview {
            spec,
            ..SubjectAccessReview::default()
        };
        let reviews = Api::<SubjectAccessReview>::all(lock(&self.client).clone());
        let answer = reviews.create(&PostParams::default(), &review).await;
        let answer = answer.map_err(|error| self.unknown(&error, "subjectaccessreviews"))?;
        let allowed = answer.status.is_some_and(|status| status.allowed);
        let good_for = if allowed { ALLOWED } else { DENIED };
        lock(&self.rights).insert(key, allowed, good_for);
        Ok(allowed)
    }

    fn unknown(&self, error: &kube::Error, resource: &str) -> Refusal {
        if let kube::Error::Api(status) = error
            && status.is_forbidden()
        {
            let error = &status.message;
            self.log_failure(&format!(
                "the manager's role must allow creating {resource}: {error}"
            ));
            return Refusal::Unknown("the API server does not let the manager create reviews\n");
        }
        self.log_failure(&chain(error));
        Refusal::Unknown("the request to the API server failed\n")
    }

    /// Logs why a request could not be checked, but not for every request.
    fn log_failure(&self, error: &str) {
        if self.failures.pass((), Instant::now()).is_some() {
            tracing::error!(%error, "cannot check who may read metrics");
        }
    }
}

/// The bearer token of a request (RFC 6750).
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.trim().split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests;
