// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! What happens to a run while an earlier Job is active, and to the Jobs when the CronJob is deleted.
//! Kubernetes' own controllers run the Jobs here; a test stands in for the kubelet and determines how
//! their pods end.

use api::v1::CronJob;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::runtime::wait::conditions::is_deleted;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use crate::kubernetes;
use crate::support::{HOURLY, World, active, now};

/// A CronJob with the given policy whose first run has started, with its Job and the pod of the Job.
async fn started(policy: &str) -> (World<'static>, String, Pod) {
    started_with(json!({ "concurrencyPolicy": policy })).await
}

/// A CronJob with this change of its spec, whose first run has started.
async fn started_with(spec: Value) -> (World<'static>, String, Pod) {
    let world = World::new(kubernetes()).await;
    world.create("sample", HOURLY, spec).await;
    let job = world.make_due("sample").await;
    let has_pod = |job: Option<&Job>| {
        let status = job.and_then(|job| job.status.as_ref());
        status.is_some_and(|status| status.active == Some(1))
    };
    kubernetes().wait_for(&world.jobs, &job, has_pod).await;
    let of_job = ListParams::default().labels(&format!("batch.kubernetes.io/job-name={job}"));
    let pod = pods(&world).list(&of_job).await.unwrap().items.remove(0);
    (world, job, pod)
}

fn pods(world: &World<'_>) -> Api<Pod> {
    Api::namespaced(kubernetes().admin(), &world.namespace)
}

/// Makes a second run due, with a schedule that has one between the first and now.
async fn make_due_again(world: &World<'_>) -> String {
    world
        .change("sample", json!({ "schedule": "@every 10m" }))
        .await;
    format!("sample-{}", now().as_second())
}

#[tokio::test]
async fn allow_runs_both() {
    let (world, first, _) = started("Allow").await;

    let second = make_due_again(&world).await;

    world.wait_for_active("sample", &[&first, &second]).await;
}

#[tokio::test]
async fn forbid_skips_a_run_until_the_job_has_ended() {
    let (world, first, pod) = started("Forbid").await;

    let second = make_due_again(&world).await;

    let skipped = format!("runs are skipped while Job {first} runs");
    let is_skipped = |message: &str| message == skipped;
    world
        .wait("sample", |cronjob| {
            let status = cronjob.status.as_ref();
            status.is_some_and(|status| is_skipped(&status.conditions[1].message))
        })
        .await;
    assert_eq!(world.job_names().await, std::slice::from_ref(&first));

    let succeeded = Patch::Merge(json!({ "status": { "phase": "Succeeded" } }));
    let params = PatchParams::default();
    pods(&world)
        .patch_status(&pod.name_any(), &params, &succeeded)
        .await
        .unwrap();

    world.wait_for_active("sample", &[&second]).await;
}

#[tokio::test]
async fn replace_deletes_the_job_with_its_pods() {
    let (world, first, pod) = started("Replace").await;
    let job = world.jobs.get(&first).await.unwrap();

    let second = make_due_again(&world).await;

    world
        .wait("sample", |cronjob| active(cronjob) == [second.as_str()])
        .await;
    let uid = job.uid().unwrap();
    kubernetes()
        .wait_for(&world.jobs, &first, is_deleted(&uid))
        .await;
    let uid = pod.uid().unwrap();
    kubernetes()
        .wait_for(&pods(&world), &pod.name_any(), is_deleted(&uid))
        .await;
}

#[tokio::test]
async fn a_pod_that_does_not_run_says_why() {
    let template = json!({ "spec": { "restartPolicy": "OnFailure" } });
    let spec = json!({ "jobTemplate": { "spec": { "template": template } } });
    let (world, job, pod) = started_with(spec).await;
    let kubelet = kubernetes().kubelet();
    let says = async |reason: &str, message: &str| {
        let is_so = |cronjob: &CronJob| {
            let status = cronjob.status.as_ref();
            let degraded = status.map(|status| &status.conditions[2]);
            degraded.is_some_and(|it| it.reason == reason && it.message.ends_with(message))
        };
        let cronjob = world.wait("sample", is_so).await;
        let available = &cronjob.status.as_ref().unwrap().conditions[0];
        let expected = ["AsExpected", "JobsActive"].contains(&reason);
        assert_eq!(available.status == "True", expected, "{available:?}");
    };

    kubelet.unschedulable(&pod, "0/1 nodes are available").await;
    says("Unschedulable", "0/1 nodes are available").await;
    kubelet
        .fail_to_start(&pod, "ErrImagePull", "not found")
        .await;
    says("ImagePullBackOff", "not found").await;
    kubelet
        .fail_to_start(&pod, "ImagePullBackOff", "back-off")
        .await;
    says("ImagePullBackOff", "back-off").await;
    kubelet.crash_loop(&pod, 1).await;
    says("CrashLoopBackOff", "ended with exit code 1").await;
    kubelet.kill_for_memory(&pod).await;
    says("OOMKilled", "ended with exit code 137").await;
    kubelet.run(&pod).await;
    says("AsExpected", "").await;
    kubelet.complete(&pod).await;
    world.wait_for_active("sample", &[]).await;

    for reason in [
        "Unschedulable",
        "ImagePullBackOff",
        "CrashLoopBackOff",
        "OOMKilled",
    ] {
        world.wait_for_event(reason, |_| true).await;
        let events = world.events(reason).await;
        assert_eq!(events.len(), 1, "{reason} of {job}: {events:?}");
        assert_eq!(events[0].series, None, "{reason}");
    }
}

#[tokio::test]
async fn the_jobs_of_a_deleted_cronjob_are_deleted() {
    let (world, first, _) = started("Allow").await;
    let cronjob = world.cronjobs.get("sample").await.unwrap();
    let job = world.jobs.get(&first).await.unwrap();

    let background = DeleteParams::background();
    world.cronjobs.delete("sample", &background).await.unwrap();

    let uid = cronjob.uid().unwrap();
    kubernetes()
        .wait_for(&world.cronjobs, "sample", is_deleted(&uid))
        .await;
    let uid = job.uid().unwrap();
    kubernetes()
        .wait_for(&world.jobs, &first, is_deleted(&uid))
        .await;
}
