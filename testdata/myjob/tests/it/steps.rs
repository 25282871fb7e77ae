// Copyright The myjob authors
// SPDX-License-Identifier: Apache-2.0

//! The whole lifecycle of a MyJob, step by step: the test to read first.

use api::v1beta1::{MyJob, Phase};
use k8s_openapi::api::core::v1::Pod;
use kube::api::PostParams;
use kube::runtime::wait::conditions;
use kube::{Api, ResourceExt};

use crate::env;

fn has_phase(phase: Phase) -> impl Fn(Option<&MyJob>) -> bool {
    move |myjob| {
        let status = myjob.and_then(|myjob| myjob.status.as_ref());
        status.and_then(|status| status.phase) == Some(phase)
    }
}

#[tokio::test]
async fn a_myjob_is_created_runs_and_completes() {
    let namespace = env().namespace().await;
    let myjobs = Api::<MyJob>::namespaced(env().admin(), &namespace);
    let pods = Api::<Pod>::namespaced(env().admin(), &namespace);

    // 1. Create the MyJob of the sample.
    let sample: MyJob = env().read("config/samples/myjob_v1beta1_myjob.yaml");
    let created = myjobs.create(&PostParams::default(), &sample).await;
    let name = created.unwrap().name_any();

    // 2. It is stored as it was sent.
    let stored = myjobs.get(&name).await.unwrap();
    assert_eq!(stored.spec, sample.spec);

    // 3. A Pod of the same name appears.
    let appears = |pod: Option<&Pod>| pod.is_some();
    let pod = env().wait_for(&pods, &name, appears).await.unwrap();
    assert_eq!(pod.spec.as_ref().unwrap().containers[0].name, "pi");

    // 4. The MyJob runs. Nothing runs the Pod here, so the test plays the kubelet.
    env()
        .wait_for(&myjobs, &name, has_phase(Phase::Running))
        .await;
    env().kubelet().run(&pod).await;
    env()
        .wait_for(&pods, &name, conditions::is_pod_running())
        .await;

    // 5. The Pod completes.
    env().kubelet().complete(&pod).await;

    // 6. So the MyJob is completed.
    env()
        .wait_for(&myjobs, &name, has_phase(Phase::Completed))
        .await;
}
