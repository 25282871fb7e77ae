// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The metrics of watches, which controller-runtime has no names for.

use std::sync::LazyLock;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

use super::Table;

/// How often an object of a cache was parsed, by all caches of the process.
pub(crate) static DECODED: LazyLock<Counter> = LazyLock::new(Counter::default);

/// How often a function of the operator that is called for each object took longer than a second.
pub(crate) static SLOW: LazyLock<Counter> = LazyLock::new(Counter::default);

/// The resource and its group, such as `jobs.batch`.
type Resource = [(&'static str, String); 1];

/// The series of all watches. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Watches {
    failing: Family<Resource, Gauge>,
    unreadable: Family<Resource, Gauge>,
    panics: Family<Resource, Counter>,
}

impl Watches {
    pub(super) fn new(table: &mut Table) -> Self {
        table.register(
            "kbr_decoded_objects_total",
            "How often an object of a cache was parsed: when a watch sends it, and when it is read",
            DECODED.clone(),
        );
        table.register(
            "kbr_slow_functions_total",
            "Calls of a mapper, predicate, index or the like that took longer than a second",
            SLOW.clone(),
        );
        Self {
            failing: table.add(
                "kbr_failing_watches",
                "Watches that have failed and that the API server has not accepted since",
            ),
            unreadable: table.add(
                "kbr_unreadable_objects",
                "Objects that do not fit their Rust type and are skipped, once for each watch that has them",
            ),
            panics: table.add(
                "kbr_cache_panics_total",
                "Panics of the functions that index or slim the objects of a cache",
            ),
        }
    }

    /// Whether one watch of `resource` fails, as 0 or 1.
    pub(crate) fn failing(&self, resource: &str) -> Share {
        Share::of(&self.failing, resource)
    }

    /// The panics of functions that index or slim objects of `resource`.
    pub(crate) fn panics(&self, resource: &str) -> Counter {
        let label = [("resource", resource.to_owned())];
        self.panics.get_or_create_owned(&label)
    }

    /// How many objects of one watch of `resource` cannot be read.
    pub(crate) fn unreadable(&self, resource: &str) -> Share {
        Share::of(&self.unreadable, resource)
    }
}

/// What one watch contributes to a gauge of its resource, until it is dropped. It starts with 0.
pub(crate) struct Share {
    sum: Gauge,
    value: i64,
}

impl Share {
    fn of(series: &Family<Resource, Gauge>, resource: &str) -> Self {
        let label = [("resource", resource.to_owned())];
        Self {
            sum: series.get_or_create_owned(&label),
            value: 0,
        }
    }

    pub(crate) fn set(&mut self, value: usize) {
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        self.sum.inc_by(value - self.value);
        self.value = value;
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.set(0);
    }
}
