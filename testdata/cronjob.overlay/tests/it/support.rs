// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! Shared by the tests: CronJobs in a namespace of their own, and what happens to them.

use std::time::Duration;

use api::v1::CronJob;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::events::v1::Event;
use kbr_testing::TestEnv;
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Resource, ResourceExt};
use serde_json::{Value, json};

/// The time by the operator's clock. It is before the creation of any object, so that no run is due
/// until a test makes one due.
pub fn now() -> Timestamp {
    "2026-03-02T10:00:30Z".parse().unwrap()
}

/// A schedule whose runs [`World::make_due`] makes due.
pub const HOURLY: &str = "@every 1h";

/// A namespace, and the objects in it.
pub struct World<'a> {
    pub env: &'a TestEnv,
    pub namespace: String,
    pub cronjobs: Api<CronJob>,
    pub jobs: Api<Job>,
}

impl<'a> World<'a> {
    pub async fn new(env: &'a TestEnv) -> Self {
        let namespace = env.namespace().await;
        Self {
            env,
            cronjobs: Api::namespaced(env.admin(), &namespace),
            jobs: Api::namespaced(env.admin(), &namespace),
            namespace,
        }
    }

    /// Creates a CronJob with the given schedule and a merge patch of its spec, and waits for its
    /// first status.
    pub async fn create(&self, name: &str, schedule: &str, spec: Value) -> CronJob {
        self.add(name, schedule, spec).await.unwrap();
        self.wait(name, |cronjob| !conditions(cronjob).is_empty())
            .await
    }

    /// Creates such a CronJob, without waiting.
    pub async fn add(&self, name: &str, schedule: &str, spec: Value) -> kube::Result<CronJob> {
        let object = cronjob(name, schedule, spec);
        self.cronjobs.create(&PostParams::default(), &object).await
    }

    /// A CronJob as the API server stores it, untyped.
    pub async fn stored(&self, name: &str) -> Value {
        let resource = ApiResource::erase::<CronJob>(&());
        let client = self.env.admin();
        let api = Api::<DynamicObject>::namespaced_with(client, &self.namespace, &resource);
        api.get(name).await.unwrap().data
    }

    /// Makes a run of [`HOURLY`] due half an hour ago: the last one was an hour before. Returns the
    /// expected name of its Job.
    pub async fn make_due(&self, name: &str) -> String {
        self.make_due_at(name, now() - SignedDuration::from_mins(30))
            .await
    }

    /// Makes the run at the time `run` due.
    pub async fn make_due_at(&self, name: &str, run: Timestamp) -> String {
        let last = run - SignedDuration::from_hours(1);
        let status = json!({ "status": { "lastScheduleTime": last } });
        let params = PatchParams::default();
        self.cronjobs
            .patch_status(name, &params, &Patch::Merge(&status))
            .await
            .unwrap();
        format!("{name}-{}", run.as_second())
    }

    /// Changes the spec of a CronJob with a merge patch.
    pub async fn change(&self, name: &str, spec: Value) -> CronJob {
        let patch = Patch::Merge(json!({ "spec": spec }));
        self.cronjobs
            .patch(name, &PatchParams::default(), &patch)
            .await
            .unwrap()
    }

    /// Waits until the CronJob satisfies the condition.
    pub async fn wait(&self, name: &str, is_so: impl Fn(&CronJob) -> bool) -> CronJob {
        let is_so = |cronjob: Option<&CronJob>| cronjob.is_some_and(&is_so);
        self.env
            .wait_for(&self.cronjobs, name, is_so)
            .await
            .unwrap()
    }

    /// Waits until the Jobs of these names are active.
    pub async fn wait_for_active(&self, name: &str, jobs: &[&str]) -> CronJob {
        self.wait(name, |cronjob| active(cronjob) == jobs).await
    }

    /// Waits until the operator has seen everything that has happened to a CronJob so far, by changing
    /// its spec: the change is observed after everything before it.
    pub async fn settle(&self, name: &str) -> CronJob {
        let cronjob = self.cronjobs.get(name).await.unwrap();
        let deadline = cronjob.spec.starting_deadline_seconds;
        let other = deadline.map_or(1_000_000_000, |deadline| deadline + 1);
        let changed = self
            .change(name, json!({ "startingDeadlineSeconds": other }))
            .await;
        let generation = changed.metadata.generation;
        self.wait(name, |cronjob| {
            let status = cronjob.status.as_ref();
            status.is_some_and(|status| status.observed_generation == generation)
        })
        .await
    }

    /// Whether the API server would create a Job that the CronJob owns.
    pub async fn try_job(&self, owner: &CronJob, name: &str) -> kube::Result<Job> {
        let params = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        self.jobs.create(&params, &job_of(owner, name)).await
    }

    /// Creates a Job that the CronJob owns, with the given start time.
    pub async fn add_job(&self, owner: &CronJob, name: &str, started: Timestamp) -> Job {
        let job = job_of(owner, name);
        self.jobs
            .create(&PostParams::default(), &job)
            .await
            .unwrap();
        let status = json!({ "status": { "active": 1, "startTime": started } });
        self.patch_status(name, &status).await
    }

    /// Ends a Job, as Kubernetes' own controller would.
    pub async fn end(&self, name: &str, condition: &str) -> Job {
        let job = self.jobs.get(name).await.unwrap();
        let started = job.status.and_then(|status| status.start_time);
        let started = started.map_or_else(now, |started| started.0);
        let because = match condition {
            "Complete" => "SuccessCriteriaMet",
            _ => "FailureTarget",
        };
        let condition =
            |type_: &str| json!({ "type": type_, "status": "True", "lastTransitionTime": now() });
        let mut status = json!({
            "active": 0,
            "startTime": started,
            "conditions": [condition(because)],
        });
        self.patch_status(name, &json!({ "status": &status })).await;
        let ended = if because == "FailureTarget" {
            "Failed"
        } else {
            "Complete"
        };
        status["conditions"] = json!([condition(because), condition(ended)]);
        if ended == "Complete" {
            status["completionTime"] = json!(started);
            status["succeeded"] = json!(1);
        }
        self.patch_status(name, &json!({ "status": status })).await
    }

    async fn patch_status(&self, job: &str, status: &Value) -> Job {
        let params = PatchParams::default();
        self.jobs
            .patch_status(job, &params, &Patch::Merge(status))
            .await
            .unwrap()
    }

    /// The names of all Jobs in the namespace.
    pub async fn job_names(&self) -> Vec<String> {
        let jobs = self.jobs.list(&ListParams::default()).await.unwrap();
        jobs.iter().map(ResourceExt::name_any).collect()
    }

    /// The events in the namespace with the given reason.
    pub async fn events(&self, reason: &str) -> Vec<Event> {
        let events = Api::<Event>::namespaced(self.env.admin(), &self.namespace);
        let mut events = events.list(&ListParams::default()).await.unwrap().items;
        events.retain(|event| event.reason.as_deref() == Some(reason));
        events
    }

    /// Waits until such an event with the given reason is there: events are published in the background, and so
    /// perhaps a moment after the status.
    pub async fn wait_for_event(&self, reason: &str, is_it: impl Fn(&Event) -> bool) -> Event {
        for _ in 0..600 {
            if let Some(event) = self.events(reason).await.into_iter().find(&is_it) {
                return event;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("no such event {reason} within a minute");
    }
}

fn job_of(owner: &CronJob, name: &str) -> Job {
    let mut job = Job::default();
    job.metadata.name = Some(name.to_owned());
    job.metadata.owner_references = owner.controller_owner_ref(&()).map(|owner| vec![owner]);
    job.spec = owner.spec.job_template.spec.clone();
    job
}

/// A CronJob with the given schedule and a merge patch of its spec.
pub fn cronjob(name: &str, schedule: &str, change: Value) -> CronJob {
    let mut spec = spec(schedule);
    json_patch(&mut spec, change);
    let object = json!({ "metadata": { "name": name }, "spec": spec });
    serde_json::from_value(object).unwrap()
}

/// The spec of a CronJob with the given schedule, without any optional field.
pub fn spec(schedule: &str) -> Value {
    let container = json!({ "name": "main", "image": "busybox" });
    let pod = json!({ "restartPolicy": "Never", "containers": [container] });
    json!({
        "schedule": schedule,
        "jobTemplate": {
            "metadata": { "labels": { "team": "blue" }, "annotations": { "note": "kept" } },
            "spec": { "template": { "spec": pod } },
        },
    })
}

/// Merges one object into another; null removes a field.
fn json_patch(target: &mut Value, patch: Value) {
    match (target, patch) {
        (Value::Object(target), Value::Object(patch)) => {
            for (key, value) in patch {
                match value {
                    Value::Null => drop(target.remove(&key)),
                    value => json_patch(target.entry(key).or_insert(Value::Null), value),
                }
            }
        }
        (target, patch) => *target = patch,
    }
}

/// Each condition as `Type=Status Reason`.
pub fn conditions(cronjob: &CronJob) -> Vec<String> {
    let conditions = cronjob.status.iter().flat_map(|status| &status.conditions);
    let text = conditions.map(|condition| {
        format!(
            "{}={} {}",
            condition.type_, condition.status, condition.reason
        )
    });
    text.collect()
}

/// The names in `status.active`.
pub fn active(cronjob: &CronJob) -> Vec<String> {
    let active = cronjob.status.iter().flat_map(|status| &status.active);
    active.filter_map(|job| job.name.clone()).collect()
}
