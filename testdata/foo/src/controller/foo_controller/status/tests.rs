// Copyright The foo authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use api::v1alpha1::FooSpec;
use k8s_openapi::api::apps::v1::DeploymentStatus;
use kube::api::ObjectMeta;

use super::*;

fn foo(name: &str) -> Foo {
    let spec = FooSpec {
        deployment_name: name.to_owned(),
        replicas: None,
    };
    let mut foo = Foo::new("sample", spec);
    foo.metadata.namespace = Some("here".to_owned());
    foo.metadata.generation = Some(1);
    foo
}

fn deployment(available: Option<i32>) -> Arc<Deployment> {
    let status = DeploymentStatus {
        available_replicas: available,
        ..DeploymentStatus::default()
    };
    Arc::new(Deployment {
        metadata: ObjectMeta::default(),
        status: Some(status),
        ..Deployment::default()
    })
}

fn now() -> Timestamp {
    "2026-03-02T10:00:30Z".parse().unwrap()
}

fn synced(foo: &Foo) -> FooStatus {
    of(foo, &[], Outcome::Synced(None), now())
}

#[test]
fn available_pods_are_counted() {
    let mut deleted = (*deployment(Some(8))).clone();
    deleted.metadata.deletion_timestamp =
        Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(now()));
    let owned = [deployment(None), deployment(Some(3)), Arc::new(deleted)];

    let status = of(&foo("web"), &owned, Outcome::Synced(None), now());

    assert_eq!(status.available_replicas, 3);
}

#[test]
fn an_unchanged_status_is_no_event() {
    let mut foo = foo("web");
    let status = synced(&foo);
    assert_eq!(event(&foo, &status).unwrap().reason, "Synced");
    foo.status = Some(status.clone());

    let again = of(
        &foo,
        &[],
        Outcome::Synced(None),
        "2027-01-01T00:00:00Z".parse().unwrap(),
    );

    assert_eq!(again, status);
    assert!(event(&foo, &again).is_none());
}

#[test]
fn a_change_of_the_size_is_no_event() {
    let mut foo = foo("web");
    foo.status = Some(synced(&foo));
    foo.metadata.generation = Some(2);

    let status = synced(&foo);

    assert_eq!(status.observed_generation, Some(2));
    assert!(event(&foo, &status).is_none());
}

#[test]
fn each_name_that_is_taken_is_a_warning_of_its_own() {
    let mut one = foo("one");
    one.status = Some(synced(&one));
    let taken = of(&one, &[], Outcome::NameTaken, now());
    let warning = event(&one, &taken).unwrap();
    assert_eq!(warning.type_, EventType::Warning);
    assert_eq!(warning.reason, "ErrResourceExists");
    let note = "Deployment one exists and is not controlled by this Foo";
    assert_eq!(warning.note.as_deref(), Some(note));
    one.status = Some(taken);
    one.spec.deployment_name = "two".to_owned();

    let taken = of(&one, &[], Outcome::NameTaken, now());

    let other = event(&one, &taken).unwrap();
    assert_ne!(other.secondary, warning.secondary);
}

#[test]
fn a_problem_of_the_pods_is_new_until_it_is_in_the_status() {
    let mut foo = foo("web");
    let failing = |message: &str| {
        let problem = Problem {
            reason: "CrashLoopBackOff".to_owned(),
            message: message.to_owned(),
        };
        Outcome::Synced(Some(problem))
    };
    assert!(new_problem(&foo, &synced(&foo)).is_none());

    let status = of(&foo, &[], failing("exit code 1"), now());
    let degraded = new_problem(&foo, &status).unwrap();
    assert_eq!(degraded.reason, "CrashLoopBackOff");
    assert_eq!(degraded.message, "exit code 1");
    foo.status = Some(status);
    let status = of(&foo, &[], failing("exit code 2"), now());
    assert!(new_problem(&foo, &status).is_none());
    assert_eq!(status.conditions[1].message, "exit code 2");

    foo.status = Some(synced(&foo));
    let status = of(&foo, &[], failing("exit code 1"), now());
    assert!(new_problem(&foo, &status).is_some());
    // A name that is taken is reported elsewhere.
    let taken = of(&foo, &[], Outcome::NameTaken, now());
    assert_eq!(taken.conditions[1].status, "True");
    assert!(new_problem(&foo, &taken).is_none());
}

#[test]
fn conditions_of_others_are_left_alone() {
    let mut foo = foo("web");
    let mut status = synced(&foo);
    status.conditions[0].type_ = "Other".to_owned();
    foo.status = Some(status);

    let types = synced(&foo).conditions.into_iter().map(|c| c.type_);

    assert_eq!(types.collect::<Vec<_>>(), ["Degraded", "Synced"]);
}
