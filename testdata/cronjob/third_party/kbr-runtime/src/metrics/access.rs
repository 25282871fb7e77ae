// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Who may ask for what: the API server says so.
//!
//! A TokenReview tells whose token it is, a SubjectAccessReview whether a role allows the request. Times
//! are those of controller-runtime. Whoever can connect can send any number of tokens, so the number of
//! answers that are kept is bounded, and so is that of the reviews that are under way.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::response::{IntoResponse, Response};
use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderMap, StatusCode};
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client, Config};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use super::cache::{Cache, Key};
use crate::chain::chain;

/// How long it may take to find out whether a request is allowed.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long it is known whose token it is.
const TOKEN: Duration = Duration::from_secs(60);

/// How long it is known that somebody may do something.
const ALLOWED: Duration = Duration::from_secs(5 * 60);

/// How long it is known that somebody may not do something, or that a token is nobody's. One of several
/// API servers may know a new account or role a little later than the others.
const DENIED: Duration = Duration::from_secs(30);

/// Answers of one kind that are kept. Those about bad tokens are kept by themselves, so that they take
/// no place from the others.
const KEPT: usize = 256;

/// Reviews that are under way at the same time.
const REVIEWS: usize = 4;

/// Between two lines about an API server that does not answer.
const REMINDER: Duration = Duration::from_secs(60);

/// Whom the API server takes for somebody without a name.
const ANONYMOUS: &str = "system:anonymous";

/// Whether requests are allowed.
pub(super) struct Access {
    config: Config,
    patience: Duration,
    state: Mutex<State>,
    reviews: Semaphore,
}

struct State {
    client: Client,
    users: Cache<UserInfo>,
    /// Tokens that are nobody's.
    bad: Cache<()>,
    /// What was asked by whom, and whether it is allowed.
    rights: Cache<bool>,
    told: Option<Instant>,
}

/// Why a request is not answered.
#[derive(Debug, PartialEq)]
pub(super) enum Refusal {
    /// It has no token, or one that is nobody's.
    Stranger,
    /// No role allows it.
    Forbidden(String),
    /// It could not be found out.
    Unknown(&'static str),
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        match self {
            Self::Stranger => {
                let scheme = [(WWW_AUTHENTICATE, "Bearer")];
                let reason = "a bearer token is needed that the API server knows\n";
                (StatusCode::UNAUTHORIZED, scheme, reason).into_response()
            }
            Self::Forbidden(reason) => (StatusCode::FORBIDDEN, reason).into_response(),
            Self::Unknown(reason) => (StatusCode::INTERNAL_SERVER_ERROR, reason).into_response(),
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
        let state = State {
            client: Client::try_from(config.clone())?,
            users: Cache::new(KEPT),
            bad: Cache::new(KEPT),
            rights: Cache::new(KEPT),
            told: None,
        };
        Ok(Self {
            config,
            patience,
            state: Mutex::new(state),
            reviews: Semaphore::new(REVIEWS),
        })
    }

    /// The name of whoever has the token in `headers`.
    ///
    /// # Errors
    ///
    /// Unless a role allows them `verb` at `path`.
    pub(super) async fn check(
        &self,
        headers: &HeaderMap,
        verb: &str,
        path: &str,
    ) -> Result<String, Refusal> {
        let token = bearer(headers).ok_or(Refusal::Stranger)?;
        let asked = async {
            let user = self.user(token).await?;
            let name = user.username.clone().unwrap_or_default();
            if self.may(user, verb, path).await? {
                return Ok(name);
            }
            let reason = format!("no role allows `{name}` the verb `{verb}` at `{path}`\n");
            Err(Refusal::Forbidden(reason))
        };
        match timeout(self.patience, asked).await {
            Ok(answer) => answer,
            Err(_) => {
                // Its connections may be dead.
                if let Ok(client) = Client::try_from(self.config.clone()) {
                    self.state().client = client;
                }
                self.tell(&format_args!("no answer within {:?}", self.patience));
                Err(Refusal::Unknown("the API server does not answer\n"))
            }
        }
    }

    /// Whose token it is.
    async fn user(&self, token: &str) -> Result<UserInfo, Refusal> {
        let key = Key::of(token.as_bytes());
        let known = || {
            let state = self.state();
            match state.users.get(key) {
                Some(user) => Some(Ok(user)),
                None => state.bad.get(key).map(|()| Err(Refusal::Stranger)),
            }
        };
        if let Some(known) = known() {
            return known;
        }
        let _permit = self.reviews.acquire().await;
        // Another request may have asked meanwhile.
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
        let reviews = Api::<TokenReview>::all(self.state().client.clone());
        let answer = reviews.create(&PostParams::default(), &review).await;
        let answer = answer.map_err(|error| self.unknown(&error, "tokenreviews"))?;
        let status = answer.status.unwrap_or_default();
        let user = status.user.filter(|user| {
            let name = user.username.as_deref().unwrap_or_default();
            status.authenticated == Some(true) && !name.is_empty() && name != ANONYMOUS
        });
        let mut state = self.state();
        match user {
            Some(user) => {
                state.users.insert(key, user.clone(), TOKEN);
                Ok(user)
            }
            None => {
                state.bad.insert(key, (), DENIED);
                Err(Refusal::Stranger)
            }
        }
    }

    /// Whether a role allows it.
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
            .map_err(|_| Refusal::Unknown("the API server cannot be asked about this user\n"))?;
        let key = Key::of(&question);
        let known = || self.state().rights.get(key);
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
        let reviews = Api::<SubjectAccessReview>::all(self.state().client.clone());
        let answer = reviews.create(&PostParams::default(), &review).await;
        let answer = answer.map_err(|error| self.unknown(&error, "subjectaccessreviews"))?;
        let allowed = answer.status.is_some_and(|status| status.allowed);
        let good_for = if allowed { ALLOWED } else { DENIED };
        self.state().rights.insert(key, allowed, good_for);
        Ok(allowed)
    }

    fn unknown(&self, error: &kube::Error, resource: &str) -> Refusal {
        if let kube::Error::Api(status) = error
            && status.is_forbidden()
        {
            let error = &status.message;
            self.tell(&format_args!(
                "the manager's role must allow to create {resource}: {error}"
            ));
            return Refusal::Unknown("the API server lets the manager ask for no review\n");
        }
        self.tell(&chain(error));
        Refusal::Unknown("the API server could not be asked\n")
    }

    /// Logs why it is not known whether a request is allowed, and not for each request.
    fn tell(&self, error: &dyn fmt::Display) {
        let mut state = self.state();
        if state.told.is_none_or(|at| at.elapsed() >= REMINDER) {
            tracing::error!(%error, "cannot find out who may ask for metrics");
            state.told = Some(Instant::now());
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The token of a request (RFC 6750).
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.trim().split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}
