// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The moments of a run at which something can go wrong: the requests of the operator.

use std::fmt;
use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{Method, StatusCode};
use kbr_runtime::internal::{Target, is_built_in};
use serde_json::Value;

/// What happens at a moment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Fault {
    /// The API server carries out the request, and the connection breaks before its answer arrives.
    AnswerLost,
    /// The process is killed before the request reaches the API server.
    DiesBefore,
    /// The API server carries out the request, and the process is killed once it has.
    DiesAfter,
    /// The API server refuses the request with 409.
    Conflict,
    /// The API server refuses the request with 500.
    InternalError,
    /// The API server refuses the request with 429, and asks for a second of patience.
    TooManyRequests,
    /// The API server carries out the request, and what the operator watches reaches it a second later.
    CachesLag,
    /// The process takes so long to send the request that another one leads and has done its part when it arrives.
    NewLeader,
    /// Another field manager has written the same fields with an update before, as operators in Go do.
    WrittenBefore,
}

impl Fault {
    const OF_WRITES: [Self; 8] = [
        Self::AnswerLost,
        Self::DiesBefore,
        Self::DiesAfter,
        Self::Conflict,
        Self::InternalError,
        Self::TooManyRequests,
        Self::CachesLag,
        Self::NewLeader,
    ];

    /// Those that can happen to a request that only reads: without a write, it makes no difference whether the process
    /// dies before or after it, and nobody answers a read with 409.
    const OF_READS: [Self; 4] = [
        Self::DiesBefore,
        Self::InternalError,
        Self::TooManyRequests,
        Self::CachesLag,
    ];

    /// What happens, in a story.
    pub(super) fn explained(self) -> &'static str {
        match self {
            Self::AnswerLost => {
                "the API server carried it out, but the connection broke before its answer arrived"
            }
            Self::DiesBefore => "the process was killed before the API server received it",
            Self::DiesAfter => {
                "the API server carried it out, and the process was killed before it went on"
            }
            Self::Conflict => "it was refused with 409 Conflict, and not carried out",
            Self::InternalError => {
                "it was refused with 500 Internal Server Error, and not carried out"
            }
            Self::TooManyRequests => {
                "it was refused with 429 Too Many Requests, to be sent again after a second"
            }
            Self::CachesLag => "it was carried out, and no watch showed anything new for a second",
            Self::NewLeader => {
                "it was underway when another process took over, and was carried out after that one had done its part"
            }
            Self::WrittenBefore => {
                "just before it, the field manager `manager` wrote the same fields with an update"
            }
        }
    }

    /// The answer that takes the place of that of the API server, with the header `Retry-After`.
    pub(super) fn refusal(self) -> Option<(StatusCode, Option<Duration>)> {
        match self {
            Self::Conflict => Some((StatusCode::CONFLICT, None)),
            Self::InternalError => Some((StatusCode::INTERNAL_SERVER_ERROR, None)),
            Self::TooManyRequests => {
                Some((StatusCode::TOO_MANY_REQUESTS, Some(Duration::from_secs(1))))
            }
            _ => None,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::AnswerLost => "answer lost",
            Self::DiesBefore => "dies before",
            Self::DiesAfter => "dies after",
            Self::Conflict => "409",
            Self::InternalError => "500",
            Self::TooManyRequests => "429",
            Self::CachesLag => "caches lag",
            Self::NewLeader => "new leader",
            Self::WrittenBefore => "written before",
        })
    }
}

/// A request of the operator, which is the same in each run of a scenario.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Moment {
    pub(super) what: Asked,
    /// 1 for the first such request of the run.
    pub(super) nth: usize,
    /// Whether it applies fields that the operator takes over from whoever has written them before.
    pub(super) takes_over: bool,
}

impl Moment {
    /// What can go wrong then.
    pub(super) fn faults(&self) -> impl Iterator<Item = Fault> + use<> {
        let faults = match self.what.is_read() {
            true => &Fault::OF_READS[..],
            false => &Fault::OF_WRITES,
        };
        let before = self.takes_over.then_some(Fault::WrittenBefore);
        faults.iter().copied().chain(before)
    }
}

/// What a request asks for.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Asked {
    /// As in a role.
    pub(super) verb: &'static str,
    /// The resource with its group and subresource, such as `jobs.batch/status`.
    pub(super) resource: String,
    /// A name that the API server has made up is what the request asked for, and `*`.
    pub(super) name: String,
}

impl fmt::Display for Moment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Asked {
            verb,
            resource,
            name,
        } = &self.what;
        write!(formatter, "{verb} {resource} {name}")?;
        match self.nth {
            1 => Ok(()),
            nth => write!(formatter, " ({nth})"),
        }
    }
}

impl Asked {
    pub(super) fn is_read(&self) -> bool {
        ["get", "list"].contains(&self.verb)
    }

    /// Whether a request applies fields that the operator takes over: the status of a kind that is not Kubernetes' own,
    /// and with `children` all other objects.
    pub(super) fn takes_over(head: &Parts, children: bool) -> bool {
        let content = head.headers.get(CONTENT_TYPE);
        let is_apply = content.is_some_and(|it| it.as_bytes().starts_with(b"application/apply"));
        let target = Target::of(head.uri.path()).filter(|_| is_apply);
        target.is_some_and(|target| match target.subresource.as_deref() {
            Some("status") => !is_built_in(&target.group),
            Some(_) => false,
            None => children,
        })
    }

    /// What a request asks for, unless it is a watch or not about a resource. `known` returns what a name that the API
    /// server has made up was made from.
    ///
    /// A Lease is no matter of a controller.
    pub(super) fn of(
        head: &Parts,
        body: &[u8],
        known: impl Fn(&str) -> Option<String>,
    ) -> Option<Self> {
        let target = Target::of(head.uri.path())?;
        let verb = match (&head.method, &target.name) {
            (&Method::POST, _) => "create",
            (&Method::PUT, _) => "update",
            (&Method::PATCH, _) => "patch",
            (&Method::DELETE, Some(_)) => "delete",
            (&Method::DELETE, None) => "deletecollection",
            (&Method::GET, Some(_)) => "get",
            (&Method::GET, None) => "list",
            _ => return None,
        };
        if target.group == "coordination.k8s.io" {
            return None;
        }
        let name = match &target.name {
            // Whoever records events makes up their names.
            _ if target.resource == "events" => "*".to_owned(),
            Some(name) => known(name).unwrap_or_else(|| name.clone()),
            None => {
                let body: Value = serde_json::from_slice(body).unwrap_or_default();
                let metadata = &body["metadata"];
                match (metadata["name"].as_str(), metadata["generateName"].as_str()) {
                    (Some(name), _) => name.to_owned(),
                    (None, Some(start)) => made_up(start),
                    (None, None) => "*".to_owned(),
                }
            }
        };
        let mut resource = target.full_resource();
        if let Some(subresource) = &target.subresource {
            resource = format!("{resource}/{subresource}");
        }
        Some(Self {
            verb,
            resource,
            name,
        })
    }
}

/// What stands for all names that the API server makes up from `start`.
pub(super) fn made_up(start: &str) -> String {
    format!("{start}*")
}

#[cfg(test)]
pub(super) mod tests;
