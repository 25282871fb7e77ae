// Copyright The memcached authors
// SPDX-License-Identifier: Apache-2.0

//! The operator's own metrics: the numbers of Memcacheds and pods.
//!
//! They are counted in the caches at each scrape, so they are correct without any code where objects are
//! created or deleted. A replica that does not lead has empty caches, and reports 0.

use std::fmt::{self, Debug};
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use kbr_runtime::prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use kbr_runtime::prometheus_client::metrics::{MetricType, TypedMetric};
use kbr_runtime::{Cache, Metrics};

use super::{Object, pods};

/// Adds the gauges to the metrics of the manager.
pub fn register(metrics: &Metrics, objects: &Cache<Object>, pods: &Cache<Pod>) {
    let (objects, pods) = (objects.clone(), pods.clone());
    metrics.register(
        "memcached_objects",
        "Memcacheds that there are",
        Counted::by(move || objects.count()),
    );
    metrics.register(
        "memcached_pods",
        "Pods of all Memcacheds",
        Counted::by(move || pods::count(&pods)),
    );
}

/// A gauge whose value is counted at each scrape.
#[derive(Clone)]
struct Counted(Arc<dyn Fn() -> usize + Send + Sync>);

impl Counted {
    fn by(count: impl Fn() -> usize + Send + Sync + 'static) -> Self {
        Self(Arc::new(count))
    }
}

impl EncodeMetric for Counted {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let count = i64::try_from(self.0()).unwrap_or(i64::MAX);
        encoder.encode_gauge(&count)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

impl TypedMetric for Counted {
    const TYPE: MetricType = MetricType::Gauge;
}

impl Debug for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Counted({})", self.0())
    }
}
