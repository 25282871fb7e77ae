// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The metrics of requests to the API server.

use std::fmt;

use http::{Method, StatusCode};
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;

pub(super) const NAME: &str = "rest_client_requests";
pub(super) const HELP: &str = "Requests to the API server, by the status of their answer";

/// Counts requests to the API server. Clones share the counters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Requests(pub(super) Family<Request, Counter>);

impl Requests {
    /// A request was answered with `status`, or not at all.
    pub(crate) fn count(&self, method: &'static str, status: Option<StatusCode>) {
        let code = Code(status.map_or(0, |status| status.as_u16()));
        self.0.get_or_create(&Request { code, method }).inc();
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

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
pub(super) struct Request {
    code: Code,
    method: &'static str,
}

/// A status; 0 for no response.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Code(u16);

impl EncodeLabelValue for Code {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        match self.0 {
            // As in client-go.
            0 => "<error>".encode(encoder),
            status => status.encode(encoder),
        }
    }
}
