// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! The events of a CronJob, which `kubectl describe` shows.

#[cfg(test)]
mod tests;

use api::v1::{CronJob, CronJobStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::runtime::events::{Event, EventType};
use kube::{Resource, ResourceExt};

use super::decision::Run;
use super::jobs::Jobs;
use super::status::Outcome;

/// The events for the Jobs that were deleted and created for a run.
pub fn of_run(outcome: &Outcome) -> Vec<Event> {
    let (Run::Start { at, replaces }, Ok(Some(job))) = (&outcome.run, &outcome.job) else {
        return Vec::new();
    };
    let replaced = replaces.iter().map(|old| Event {
        secondary: Some(old.object_ref(&())),
        ..event(
            "Replaced",
            format!("deleted Job {} for the run of {at}", old.name_any()),
        )
    });
    let started = Event {
        secondary: Some(job.object_ref(&())),
        ..event(
            "Started",
            format!("created Job {} for the run of {at}", job.name_any()),
        )
    };
    replaced.chain([started]).collect()
}

/// The events for what is new in `status` compared with the status of `cronjob`: a lasting state is
/// reported once, when it begins.
pub fn of_changes(cronjob: &CronJob, status: &CronJobStatus, jobs: &Jobs) -> Vec<Event> {
    let new = status.conditions.iter();
    let changes = new.filter(|new| is_new(cronjob, new, jobs));
    let events = changes.filter_map(|new| match new.type_.as_str() {
        "Degraded" if new.status == "True" => Some(Event {
            type_: EventType::Warning,
            ..event(&new.reason, new.message.clone())
        }),
        "Progressing" if !new.message.is_empty() => Some(event("Skipped", new.message.clone())),
        _ => None,
    });
    events.collect()
}

fn is_new(cronjob: &CronJob, new: &Condition, jobs: &Jobs) -> bool {
    let mut old = cronjob.status.iter().flat_map(|status| &status.conditions);
    let old = old.find(|old| old.type_ == new.type_);
    // What a kubelet says about the same problem alternates.
    let problem = jobs.problem.as_ref();
    let is_of_pod = problem.is_some_and(|problem| problem.reason == new.reason);
    old.is_none_or(|old| old.reason != new.reason || old.message != new.message && !is_of_pod)
}

fn event(reason: &str, note: String) -> Event {
    Event {
        type_: EventType::Normal,
        reason: reason.to_owned(),
        action: "Schedule".to_owned(),
        note: Some(note),
        secondary: None,
    }
}
