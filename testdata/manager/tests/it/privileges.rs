// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! The manager may do what its role allows, and nothing else.

use api::v1::Task;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Api;
use kube::api::{DeleteParams, ListParams};

use crate::env;
use crate::support::{MANAGER, create_and_wait};

fn message<T: std::fmt::Debug>(outcome: kube::Result<T>) -> String {
    match outcome {
        Err(kube::Error::Api(status)) if status.code == 403 => status.message,
        other => panic!("not 403: {other:?}"),
    }
}

#[tokio::test]
async fn the_manager_is_forbidden_what_its_role_does_not_allow() {
    let namespace = env().namespace().await;
    let admin = Api::<Task>::namespaced(env().admin(), &namespace);
    create_and_wait(env(), &admin, "sample").await;
    let secrets = Api::<Secret>::all(env().manager());
    let tasks = Api::<Task>::namespaced(env().manager(), &namespace);

    assert_eq!(
        message(secrets.list(&ListParams::default()).await),
        format!(
            "secrets is forbidden: User \"{MANAGER}\" cannot list resource \"secrets\" in API group \"\" at the cluster scope"
        )
    );
    assert_eq!(
        message(tasks.delete("sample", &DeleteParams::default()).await),
        format!(
            "tasks.probe.example.com \"sample\" is forbidden: User \"{MANAGER}\" cannot delete resource \"tasks\" in API group \"probe.example.com\" in the namespace \"{namespace}\""
        )
    );
    assert_eq!(
        tasks
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
            .len(),
        1
    );
}

#[tokio::test]
async fn a_rejected_watch_of_metadata_is_recorded() {
    let maps = Api::<ConfigMap>::all(env().manager());

    let refused = message(maps.list_metadata(&ListParams::default()).await);

    assert!(refused.contains("cannot list resource"), "{refused}");
    let requests = env().requests();
    let mut refusals = requests.iter().filter(|request| request.code == 403);
    let text = "cannot list resource \"configmaps\" in API group \"\"";
    assert!(refusals.any(|request| request.message.contains(text)));
}

#[tokio::test]
async fn the_admin_may_do_everything() {
    let secrets = Api::<Secret>::all(env().admin());

    secrets.list(&ListParams::default()).await.unwrap();
}
