// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! The CronJobs of a soak, and when their runs are due, computed without the operator's code.

use api::v1::{ConcurrencyPolicy, CronJob};
use k8s_openapi::api::core::v1::Container;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::PostParams;
use kube::{Api, Client, CustomResourceExt, ResourceExt};
use serde_json::{Value, json};

use crate::Result;

/// The label of a pod with the number of seconds until it succeeds.
pub const SECONDS: &str = "soak-seconds";

/// A CronJob whose runs are due at known times.
#[derive(Clone)]
pub struct Scheduled {
    pub namespace: String,
    pub name: String,
    pub policy: ConcurrencyPolicy,
    pub deadline: Option<i64>,
    /// Seconds from one run to the next.
    pub interval: i64,
    /// The Unix time from which intervals count: its creation, or zero for a calendar schedule.
    pub origin: i64,
    pub created: i64,
}

impl Scheduled {
    /// The first run after the Unix time `after`.
    pub fn next(&self, after: i64) -> i64 {
        let passed = after.max(self.created) - self.origin;
        self.origin + (passed.div_euclid(self.interval) + 1) * self.interval
    }

    pub fn is_run(&self, at: i64) -> bool {
        at > self.created && (at - self.origin) % self.interval == 0
    }
}

/// Makes the API server accept ports that the operator cannot read, as it may with another CRD.
pub async fn take_any_port(client: &Client) -> Result<()> {
    let api = Api::<CustomResourceDefinition>::all(client.clone());
    let mut crd = json!(api.get(CronJob::crd_name()).await?);
    let port = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/jobTemplate\
                /properties/spec/properties/template/properties/spec/properties/containers/items\
                /properties/livenessProbe/properties/httpGet/properties/port";
    let port = crd.pointer_mut(port).and_then(Value::as_object_mut);
    port.ok_or("no port")?.remove("maximum");
    let crd = serde_json::from_value(crd)?;
    api.replace(CronJob::crd_name(), &PostParams::default(), &crd)
        .await?;
    Ok(())
}

/// The container of each Job. If it is not readable, it has a port that the operator cannot read: see
/// [`take_any_port`].
pub fn container(is_readable: bool) -> Value {
    let mut container = json!({ "name": "main", "image": "busybox" });
    if !is_readable {
        container["livenessProbe"] = json!({ "httpGet": { "port": 5_000_000_000_u64 } });
    }
    container
}

/// Creates CronJobs of every policy in both namespaces, whose Jobs take less or more than an interval.
pub async fn create(client: &Client, namespaces: &[String; 2]) -> Result<Vec<Scheduled>> {
    let policies = [
        ConcurrencyPolicy::Allow,
        ConcurrencyPolicy::Forbid,
        ConcurrencyPolicy::Replace,
    ];
    // The schedule, its interval, and how long a Job takes.
    let kinds = [
        ("@every 15s", 15, 2),
        ("@every 20s", 20, 33),
        ("* * * * *", 60, 8),
    ];
    let mut all = Vec::new();
    for namespace in namespaces {
        let api = Api::<CronJob>::namespaced(client.clone(), namespace);
        for policy in policies {
            for (schedule, interval, seconds) in kinds {
                for deadline in [None, Some(10)] {
                    let name = format!(
                        "{policy:?}-{interval}s-{}",
                        deadline.map_or("late", |_| "deadline")
                    );
                    let name = name.to_lowercase();
                    let cronjob = cronjob(&name, schedule, policy, seconds, deadline)?;
                    let created = api.create(&PostParams::default(), &cronjob).await?;
                    let created = created.creation_timestamp().ok_or("no creation time")?;
                    let created = created.0.as_second();
                    all.push(Scheduled {
                        namespace: namespace.clone(),
                        name,
                        policy,
                        deadline,
                        interval,
                        origin: if schedule.starts_with('@') {
                            created
                        } else {
                            0
                        },
                        created,
                    });
                }
            }
        }
    }
    Ok(all)
}

fn cronjob(
    name: &str,
    schedule: &str,
    policy: ConcurrencyPolicy,
    seconds: u32,
    deadline: Option<i64>,
) -> Result<CronJob> {
    let container: Container = serde_json::from_value(container(true))?;
    let mut spec = json!({
        "schedule": schedule,
        "concurrencyPolicy": policy,
        "successfulJobsHistoryLimit": 2,
        "failedJobsHistoryLimit": 1,
        "jobTemplate": { "spec": { "template": {
            "metadata": { "labels": { SECONDS: seconds.to_string() } },
            "spec": { "restartPolicy": "Never", "containers": [container] },
        } } },
    });
    if let Some(deadline) = deadline {
        spec["startingDeadlineSeconds"] = deadline.into();
    }
    Ok(CronJob::new(name, serde_json::from_value(spec)?))
}
