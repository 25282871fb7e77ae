// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! Which pods can be created while no manager answers.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use k8s_openapi::api::core::v1::Pod;
use kbr_testing::TestEnv;
use kube::Api;
use kube::api::PostParams;
use serde_json::json;

#[tokio::test]
async fn what_the_cluster_needs_starts_without_the_operator() {
    let env = TestEnv::start(env!("CARGO_MANIFEST_DIR")).unwrap();
    let namespace = env.namespace().await;
    let create = async |namespace: &str, class: Option<&str>| {
        let pod = json!({
            "metadata": { "generateName": "test-" },
            "spec": {
                "containers": [{ "name": "main", "image": "example.com/main" }],
                "priorityClassName": class,
            },
        });
        let pod: Pod = serde_json::from_value(pod).unwrap();
        let pods = Api::<Pod>::namespaced(env.admin(), namespace);
        pods.create(&PostParams::default(), &pod).await
    };

    let refused = create(&namespace, None).await.unwrap_err().to_string();
    assert!(refused.contains("failed calling webhook"), "{refused}");
    for class in ["system-node-critical", "system-cluster-critical"] {
        create(&namespace, Some(class)).await.unwrap();
    }
    create("kube-system", None).await.unwrap();
}
