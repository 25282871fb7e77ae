// Copyright The memcached authors
// SPDX-License-Identifier: Apache-2.0

//! Two replicas of the program, one of which leads.

use std::process::{Child, Command, Stdio};

use api::v1::Memcached;
use k8s_openapi::api::coordination::v1::Lease;
use kbr_testing::TestEnv;
use kube::Api;
use kube::api::PostParams;

use crate::builder;

/// The Lease that `config/rbac` allows, and its namespace.
const LEASE: [&str; 2] = ["memcached-controller-manager", "memcached-system"];

/// The program in a separate process, with the flags of the Deployment that matter here.
struct Replica(Child);

impl Replica {
    fn start(env: &TestEnv) -> Self {
        let [lease, namespace] = LEASE;
        let mut command = Command::new(env!("CARGO_BIN_EXE_memcached"));
        command
            .arg("--kubeconfig")
            .arg(env.manager_kubeconfig())
            .args(["--leader-elect", "--health-probe-bind-address=0"])
            .arg(format!("--leader-election-id={lease}"))
            .arg(format!("--leader-election-namespace={namespace}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Self(command.spawn().unwrap())
    }

    fn is_running(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

async fn create_and_wait(env: &TestEnv, api: &Api<Memcached>, name: &str) {
    let mut memcached: Memcached = env.read("config/samples/memcached_v1_memcached.yaml");
    memcached.metadata.name = Some(name.to_owned());
    let params = PostParams::default();
    api.create(&params, &memcached).await.unwrap();
    let is_reconciled = |it: Option<&Memcached>| it.is_some_and(|it| it.status.is_some());
    env.wait_for(api, name, is_reconciled).await;
}

async fn holder(env: &TestEnv) -> Option<String> {
    let [lease, namespace] = LEASE;
    let leases = Api::<Lease>::namespaced(env.admin(), namespace);
    leases.get(lease).await.unwrap().spec?.holder_identity
}

#[tokio::test]
async fn when_the_leader_is_killed_the_other_takes_over() {
    let env = builder().start().unwrap();
    let api = Api::<Memcached>::namespaced(env.admin(), &env.namespace().await);
    let first = Replica::start(&env);
    create_and_wait(&env, &api, "before").await;
    let leader = holder(&env).await;
    let mut second = Replica::start(&env);
    create_and_wait(&env, &api, "between").await;
    assert_eq!(holder(&env).await, leader);
    assert!(second.is_running());

    // As when a node dies: the Lease is not released, and has to expire.
    drop(first);

    create_and_wait(&env, &api, "after").await;
    assert_ne!(holder(&env).await, leader);
}
