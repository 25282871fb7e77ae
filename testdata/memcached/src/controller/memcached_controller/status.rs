// Copyright The memcached authors
// SPDX-License-Identifier: Apache-2.0

//! What the status of a Memcached says.

use api::v1::MemcachedStatus;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;
use kbr_runtime::conditions::{self, ConditionStatus};
use kbr_runtime::{OwnedError, Problem};

use super::Object;

/// Whether as many pods are available as the spec requires.
pub const AVAILABLE: &str = "Available";

/// Whether there is a problem that will not resolve itself.
pub const DEGRADED: &str = "Degraded";

/// The conditions that this controller writes. All others in the status belong to other writers.
const CONDITIONS: [&str; 2] = [AVAILABLE, DEGRADED];

/// What this controller has written to the status of `object`.
fn written(object: &Object) -> MemcachedStatus {
    let mut status = object.status.clone().unwrap_or_default();
    status.conditions = conditions::of_types(&status.conditions, &CONDITIONS);
    status
}

/// The status of `object`, given its Deployment, its pods and what keeps it from its desired state.
pub fn of(
    object: &Object,
    deployment: Option<&Deployment>,
    pods: Vec<String>,
    problem: Option<Problem>,
    now: Timestamp,
) -> MemcachedStatus {
    let generation = object.metadata.generation;
    let condition = |type_, is_true, reason: &str, message| {
        let status = if is_true {
            ConditionStatus::True
        } else {
            ConditionStatus::False
        };
        let mut condition = conditions::new(type_, status, reason, generation, now);
        condition.message = message;
        condition
    };
    let size = object.spec.size;
    let serving = deployment.and_then(|it| it.status.as_ref()?.available_replicas);
    let serving = serving.unwrap_or_default();
    let (is_available, reason) = if deployment.is_some() && serving >= size {
        (true, "EnoughPods")
    } else {
        (false, "TooFewPods")
    };
    let message = format!("{serving} of {size} pods are available");

    let mut status = written(object);
    status.observed_generation = generation;
    status.nodes = pods;
    // What is known of an earlier generation of the Deployment says nothing about this one.
    let is_outdated = deployment.is_some_and(is_outdated);
    if !is_outdated || conditions::find(&status.conditions, AVAILABLE).is_none() {
        let available = condition(AVAILABLE, is_available, reason, message);
        conditions::set(&mut status.conditions, available);
    }
    let degraded = match problem {
        Some(Problem { reason, message }) => condition(DEGRADED, true, &reason, message),
        None => condition(DEGRADED, false, "AsWanted", String::new()),
    };
    conditions::set(&mut status.conditions, degraded);
    status
}

/// Whether the status of a Deployment is about an earlier generation of it.
fn is_outdated(deployment: &Deployment) -> bool {
    let status = deployment.status.as_ref();
    let observed = status.and_then(|status| status.observed_generation);
    observed.is_some_and(|observed| Some(observed) < deployment.metadata.generation)
}

/// The problem that `status` reports, if any.
pub fn degraded(status: &MemcachedStatus) -> Option<&Condition> {
    let degraded = conditions::find(&status.conditions, DEGRADED)?;
    (degraded.status == "True").then_some(degraded)
}

/// The problem to report if a child could not be written; `None` if a retry may succeed, such as
/// after a timeout.
pub fn problem(error: &OwnedError) -> Option<Problem> {
    let (reason, message) = match error {
        OwnedError::NameTaken { .. } => ("NameTaken", error.to_string()),
        // Forbidden, such as by a quota, and Invalid.
        OwnedError::Apply {
            reason: kube::Error::Api(status),
            ..
        } if matches!(status.code, 403 | 422) => {
            ("Refused", format!("{error}: {}", status.message))
        }
        _ => return None,
    };
    Some(Problem {
        reason: reason.to_owned(),
        message,
    })
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::DeploymentStatus;
    use serde_json::{Value, json};

    use super::super::tests::object;
    use super::*;

    fn deployment(status: Value) -> Deployment {
        let status: DeploymentStatus = serde_json::from_value(status).unwrap();
        Deployment {
            status: Some(status),
            ..Deployment::default()
        }
    }

    /// The type, status and reason of each condition.
    fn short(conditions: &[Condition]) -> Vec<(&str, &str, &str)> {
        let conditions = conditions.iter();
        let short = conditions.map(|c| (c.type_.as_str(), c.status.as_str(), c.reason.as_str()));
        short.collect()
    }

    #[test]
    fn it_is_available_with_enough_pods() {
        for (available, expected) in [(0, "False"), (2, "False"), (3, "True"), (4, "True")] {
            let mut object = object(1);
            object.spec.size = 3;
            let deployment = deployment(json!({ "availableReplicas": available }));

            let status = of(
                &object,
                Some(&deployment),
                vec![],
                None,
                Timestamp::UNIX_EPOCH,
            );

            assert_eq!(status.conditions[0].type_, AVAILABLE);
            assert_eq!(status.conditions[0].status, expected, "{available}");
        }
    }

    #[test]
    fn pods_of_an_earlier_generation_are_not_enough() {
        let mut object = object(1);
        let mut deployment = deployment(json!({ "availableReplicas": 3, "observedGeneration": 1 }));
        deployment.metadata.generation = Some(1);
        let mut status_of = |generation, deployment: &Deployment| {
            object.metadata.generation = Some(generation);
            let status = of(
                &object,
                Some(deployment),
                vec![],
                None,
                Timestamp::UNIX_EPOCH,
            );
            object.status = Some(status.clone());
            let available = conditions::find(&status.conditions, AVAILABLE).unwrap();
            (available.status.clone(), available.observed_generation)
        };
        assert_eq!(status_of(1, &deployment), ("True".to_owned(), Some(1)));

        deployment.metadata.generation = Some(2);
        assert_eq!(status_of(2, &deployment), ("True".to_owned(), Some(1)));

        let seen = DeploymentStatus {
            observed_generation: Some(2),
            ..DeploymentStatus::default()
        };
        deployment.status = Some(seen);
        assert_eq!(status_of(2, &deployment), ("False".to_owned(), Some(2)));
    }

    #[test]
    fn a_problem_is_reported() {
        let problem = Problem {
            reason: "Why".to_owned(),
            message: "Because.".to_owned(),
        };
        for (problem, expected) in [
            (Some(problem), (DEGRADED, "True", "Why")),
            (None, (DEGRADED, "False", "AsWanted")),
        ] {
            let is_problem = problem.is_some();

            let status = of(&object(1), None, vec![], problem, Timestamp::UNIX_EPOCH);

            assert_eq!(short(&status.conditions)[1], expected);
            assert_eq!(degraded(&status).is_some(), is_problem);
        }
    }

    #[test]
    fn only_the_status_of_another_generation_changes() {
        let mut object = object(1);
        let status = of(&object, None, vec![], None, Timestamp::UNIX_EPOCH);
        object.status = Some(status.clone());

        assert_eq!(of(&object, None, vec![], None, Timestamp::MAX), status);
        object.metadata.generation = Some(2);
        let changed = of(&object, None, vec![], None, Timestamp::MAX);
        assert_eq!(changed.observed_generation, Some(2));
        assert_eq!(changed.conditions[0].observed_generation, Some(2));
    }

    #[test]
    fn conditions_of_others_are_not_written() {
        let mut object = object(1);
        let mut status = of(&object, None, vec![], None, Timestamp::UNIX_EPOCH);
        status.conditions[0].type_ = "Other".to_owned();
        object.status = Some(status);

        let status = of(&object, None, vec![], None, Timestamp::UNIX_EPOCH);

        let expected = [
            (DEGRADED, "False", "AsWanted"),
            (AVAILABLE, "False", "TooFewPods"),
        ];
        assert_eq!(short(&status.conditions), expected);
    }
}
