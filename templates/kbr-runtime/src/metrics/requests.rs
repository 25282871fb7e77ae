// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The metrics of requests to the API server.

use std::borrow::Cow;

use http::{Method, StatusCode};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;

pub(super) const NAME: &str = "rest_client_requests";
pub(super) const HELP: &str = "Requests to the API server, by the status of their answer";

/// The status of an answer, and the method of the request.
type Labels = [(&'static str, Cow<'static, str>); 2];

/// Counts requests to the API server. Clones share the counters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Requests(pub(super) Family<Labels, Counter>);

impl Requests {
    /// A request was answered with `status`, or not at all.
    pub(crate) fn count(&self, method: &'static str, status: Option<StatusCode>) {
        let code = match &status {
            Some(status) => Cow::Owned(status.as_str().to_owned()),
            // As in client-go.
            None => Cow::Borrowed("<error>"),
        };
        let labels = [("code", code), ("method", method.into())];
        self.0.get_or_create(&labels).inc();
    }
}

/// The label of a method.
pub(crate) fn method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}
