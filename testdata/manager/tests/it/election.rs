// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! Several managers, one of which leads.

use std::time::Duration;

use api::v1::{Task, TaskSpec};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use k8s_openapi::jiff::Timestamp;
use kbr_testing::{FaultProxy, TestEnv};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::support::{MANAGER, METRICS, Operator, create, is_reconciled, sample, servers, until};

const NAME: &str = "leader";

/// A namespace with a Lease, and the manager's permissions there.
pub struct Place {
    env: &'static TestEnv,
    client: Client,
    namespace: String,
}

impl Place {
    /// Creates a namespace with a Lease on which the manager may use these verbs.
    pub async fn new(verbs: &[&str]) -> Self {
        let this = Self::without_lease(verbs, &[]).await;
        this.create_lease().await;
        this
    }

    /// Creates a namespace where the manager may use these verbs on the Lease, and others on all Leases.
    async fn without_lease(verbs: &[&str], on_all: &[&str]) -> Self {
        let env = servers();
        let namespace = env.namespace().await;
        let (client, place) = (env.admin(), namespace.clone());
        let this = Self {
            env,
            client,
            namespace,
        };
        let rule = |names: &[&str], verbs: &[&str]| {
            json!({
                "apiGroups": ["coordination.k8s.io"],
                "resources": ["leases"],
                "resourceNames": names,
                "verbs": verbs,
            })
        };
        let mut rules = vec![rule(&[NAME], verbs)];
        if !on_all.is_empty() {
            rules.push(rule(&[], on_all));
        }
        let role = json!({ "metadata": { "name": NAME }, "rules": rules });
        let binding = json!({
            "metadata": { "name": NAME },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": NAME },
            "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": MANAGER }],
        });
        let params = PostParams::default();
        let role = serde_json::from_value(role).unwrap();
        let roles = Api::<Role>::namespaced(this.client.clone(), &place);
        roles.create(&params, &role).await.unwrap();
        let binding = serde_json::from_value(binding).unwrap();
        let bindings = Api::<RoleBinding>::namespaced(this.client.clone(), &place);
        bindings.create(&params, &binding).await.unwrap();
        // A change to a role takes effect a little later.
        sleep(Duration::from_secs(1)).await;
        this
    }

    async fn create_lease(&self) {
        let mut lease = Lease::default();
        lease.metadata.name = Some(NAME.to_owned());
        let params = PostParams::default();
        self.leases().create(&params, &lease).await.unwrap();
    }

    fn leases(&self) -> Api<Lease> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    fn tasks(&self) -> Api<Task> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    async fn lease(&self) -> LeaseSpec {
        self.leases().get(NAME).await.unwrap().spec.unwrap()
    }

    pub fn start(&self) -> Operator {
        Operator::start(self.env, &self.namespace, &self.flags())
    }

    /// Starts an operator with these environment variables.
    pub fn start_in(&self, variables: &[(&str, &str)]) -> Operator {
        let kubeconfig = self.env.manager_kubeconfig();
        Operator::start_in(
            variables,
            kubeconfig,
            self.env,
            &self.namespace,
            &self.flags(),
        )
    }

    /// The holder of the Lease.
    pub async fn holder(&self) -> Option<String> {
        self.lease().await.holder_identity
    }

    fn flags(&self) -> [&str; 4] {
        [
            "--leader-elect",
            "--leader-election-id=leader",
            "--leader-election-namespace",
            &self.namespace,
        ]
    }

    /// How often a status has been written.
    fn statuses(&self) -> usize {
        let mut requests = self.env.requests();
        requests.retain(|request| {
            request.namespace.as_deref() == Some(&self.namespace)
                && request.resource == "tasks/status"
                && request.code == 200
        });
        requests.len()
    }
}

pub const ALL: [&str; 3] = ["get", "update", "watch"];

fn time(line: &Value) -> Timestamp {
    line["timestamp"].as_str().unwrap().parse().unwrap()
}

/// The seconds from one log line to another.
fn seconds(from: &Value, to: &Value) -> f64 {
    time(to).duration_since(time(from)).as_secs_f64()
}

#[tokio::test]
async fn a_released_lease_is_acquired_immediately() {
    let place = Place::new(&ALL).await;
    let mut first = place.start();
    first.logged("leading");
    let spec = place.lease().await;
    assert_eq!(spec.lease_duration_seconds, Some(15));
    assert_eq!(spec.lease_transitions, Some(1));
    let holder = spec.holder_identity.unwrap();

    let mut second = place.start();
    let waiting = second.logged("waiting to lead");
    assert_eq!(waiting["why"], format!("`{holder}` has the Lease"));
    // It is ready nevertheless, and does nothing.
    assert_eq!(second.probe("/readyz").0, 200);
    assert_eq!(second.probe("/healthz").0, 200);
    create(&place.tasks(), "one", TaskSpec::default()).await;
    first.logged("status written");
    assert_eq!(second.find("starting"), None);
    let mut third = place.start();
    third.logged("waiting to lead");
    third.signal("TERM");
    assert_eq!(third.ended().code(), Some(0));
    assert_eq!(place.lease().await.holder_identity, Some(holder.clone()));

    first.signal("TERM");
    assert_eq!(first.ended().code(), Some(0));

    let released = first.find("the Lease is released").unwrap();
    let leading = second.logged("leading");
    assert!(seconds(&released, &leading) < 10.0, "{released} {leading}");
    let spec = place.lease().await;
    assert_eq!(spec.lease_transitions, Some(2));
    assert_ne!(spec.holder_identity.unwrap(), holder);
    create(&place.tasks(), "two", TaskSpec::default()).await;
    second.logged("status written");
}

#[tokio::test]
async fn a_scrape_shows_who_leads() {
    let place = Place::new(&ALL).await;
    let flags: Vec<&str> = place.flags().into_iter().chain(METRICS).collect();
    let mut first = Operator::start(place.env, &place.namespace, &flags);
    first.logged("leading");
    let mut second = Operator::start(place.env, &place.namespace, &flags);
    second.logged("waiting to lead");
    let status = r#"leader_election_master_status{name="leader"}"#;
    assert_eq!(sample(&first.scrape(), status), Some(1.0));
    assert_eq!(sample(&second.scrape(), status), Some(0.0));

    first.signal("KILL");

    until("the other one to lead", || {
        (sample(&second.scrape(), status) == Some(1.0)).then_some(())
    });
    // The metrics of an operator without leader election have no such line.
    let namespace = place.env.namespace().await;
    let mut alone = Operator::start(place.env, &namespace, &METRICS);
    assert!(!alone.scrape().contains("leader_election"));
}

#[tokio::test]
async fn a_leader_that_was_killed_is_replaced_when_its_lease_has_expired() {
    let place = Place::new(&ALL).await;
    let first = place.start();
    let second = place.start();
    // Either may lead first.
    let (mut first, mut second) = loop {
        if first.find("leading").is_some() {
            break (first, second);
        }
        if second.find("leading").is_some() {
            break (second, first);
        }
        sleep(Duration::from_millis(100)).await;
    };
    second.logged("waiting to lead");
    let killed = Timestamp::now();

    first.signal("KILL");
    first.ended();

    let leading = second.logged("leading");
    let seconds = time(&leading).duration_since(killed).as_secs_f64();
    // It renewed the Lease every two seconds.
    assert!((12.0..170.0).contains(&seconds), "{seconds}");
}

/// Such as a container that the kubelet has given up on, and the one that it starts instead.
#[tokio::test]
async fn two_processes_of_one_pod_never_both_lead() {
    let place = Place::new(&ALL).await;
    let pod = [("POD_NAME", "manager-0"), ("POD_UID", "6b2e")];
    let mut first = place.start_in(&pod);
    first.logged("leading");

    let mut second = place.start_in(&pod);

    let holder = place.holder().await.unwrap();
    assert!(holder.starts_with("manager-0_"), "{holder}");
    let waiting = second.logged("waiting to lead");
    assert_eq!(waiting["why"], format!("`{holder}` has the Lease"));
    // Longer than the time between two renewals.
    sleep(Duration::from_secs(5)).await;
    assert_eq!(second.find("leading"), None);
    assert!(first.is_running());
}

#[tokio::test]
async fn an_annotation_does_not_prolong_the_lease_of_a_leader_that_was_killed() {
    let place = Place::new(&ALL).await;
    let mut first = place.start();
    first.logged("leading");
    let mut second = place.start();
    second.logged("waiting to lead");
    first.signal("KILL");
    first.ended();

    for number in 0..60 {
        let note = json!({ "metadata": { "annotations": { "number": number.to_string() } } });
        let (params, note) = (PatchParams::default(), Patch::Merge(&note));
        place.leases().patch(NAME, &params, &note).await.unwrap();
        if second.find("leading").is_some() {
            return;
        }
        sleep(Duration::from_secs(1)).await;
    }
    panic!("it does not lead after a minute");
}

#[tokio::test]
async fn the_times_of_the_election_can_be_chosen() {
    let place = Place::new(&ALL).await;
    let times = [
        "--leader-elect-lease-duration=5s",
        "--leader-elect-renew-deadline=3s",
        "--leader-elect-retry-period=500ms",
    ];
    let flags: Vec<&str> = place.flags().into_iter().chain(times).collect();
    let proxy = FaultProxy::start(place.env).unwrap();
    let kubeconfig = proxy.kubeconfig(place.env.manager_kubeconfig()).unwrap();
    let mut first = Operator::start_with(&kubeconfig, place.env, &place.namespace, &flags);
    first.logged("leading");
    assert_eq!(place.lease().await.lease_duration_seconds, Some(5));

    proxy.black_hole();

    assert_eq!(first.ended().code(), Some(1));
    let failed = first.find("the manager failed").unwrap();
    let error = failed["error"].as_str().unwrap();
    assert!(error.contains("it was not renewed for 3s: "), "{error}");
}

/// For more rounds: `ELECTION_ROUNDS=50 cargo test a_leader_that_was_stopped`.
#[tokio::test]
async fn a_leader_that_was_stopped_writes_nothing_when_it_continues() {
    let rounds = std::env::var("ELECTION_ROUNDS").map_or(1, |rounds| rounds.parse().unwrap());
    for _ in 0..rounds {
        stop_a_leader().await;
    }
}

/// A leader is stopped during a reconcile, for so long that another leads and has done its work.
async fn stop_a_leader() {
    let place = Place::new(&ALL).await;
    let mut first = place.start();
    first.logged("leading");
    let mut second = place.start();
    second.logged("waiting to lead");
    let spec = TaskSpec {
        work_millis: Some(5000),
        ..TaskSpec::default()
    };
    create(&place.tasks(), "task", spec).await;
    first.logged("work begins");
    first.signal("STOP");
    second.logged("status written");
    let written = place.statuses();

    first.signal("CONT");

    assert_eq!(first.ended().code(), Some(1));
    let failed = first.find("the manager failed").unwrap();
    let error = failed["error"].as_str().unwrap();
    assert!(error.starts_with("lost the Lease `"), "{error}");
    assert_eq!(first.find("status written"), None);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(place.statuses(), written);
}

#[tokio::test]
async fn a_leader_that_cannot_reach_the_api_server_ends_before_its_lease_expires() {
    let place = Place::new(&ALL).await;
    let proxy = FaultProxy::start(place.env).unwrap();
    let kubeconfig = proxy.kubeconfig(place.env.manager_kubeconfig()).unwrap();
    let flags = place.flags();
    let mut first = Operator::start_with(&kubeconfig, place.env, &place.namespace, &flags);
    first.logged("leading");
    let mut second = place.start();
    second.logged("waiting to lead");

    proxy.black_hole();

    assert_eq!(first.ended().code(), Some(1));
    let failed = first.find("the manager failed").unwrap();
    let leading = second.logged("leading");
    assert!(seconds(&failed, &leading) > 0.0, "{failed} {leading}");
}

#[tokio::test]
async fn a_lease_that_nobody_may_create_is_waited_for() {
    let place = Place::new(&ALL).await;
    let mut first = place.start();
    first.logged("leading");
    let mut second = place.start();
    second.logged("waiting to lead");

    let now = DeleteParams::default();
    place.leases().delete(NAME, &now).await.unwrap();

    assert_eq!(first.ended().code(), Some(1));
    let failed = first.find("the manager failed").unwrap();
    let error = failed["error"].as_str().unwrap();
    assert!(error.ends_with(": it was deleted"), "{error}");
    let why = "it does not exist, and could not be created: ";
    second.logged_with("waiting to lead", |line| {
        line["why"]
            .as_str()
            .is_some_and(|it| it.starts_with(why) && it.contains("cannot create"))
    });
    assert_eq!(second.find("leading"), None);

    place.create_lease().await;
    second.logged("leading");
    create(&place.tasks(), "one", TaskSpec::default()).await;
    place
        .env
        .wait_for(&place.tasks(), "one", is_reconciled)
        .await
        .unwrap();
}

/// Argo CD and OLM install no Leases.
#[tokio::test]
async fn a_missing_lease_is_created() {
    let place = Place::without_lease(&ALL, &["create"]).await;
    let mut first = place.start();
    first.logged("the Lease is created");
    first.logged("leading");
    let mut second = place.start();
    second.logged("waiting to lead");

    let now = DeleteParams::default();
    place.leases().delete(NAME, &now).await.unwrap();

    assert_eq!(first.ended().code(), Some(1));
    second.logged("the Lease is created");
    second.logged("leading");
}

#[tokio::test]
async fn a_missing_permission_is_reported() {
    let place = Place::new(&["get"]).await;

    let mut operator = place.start();

    assert_eq!(operator.ended().code(), Some(1));
    let failed = operator.find("the manager failed").unwrap();
    let expected = format!(
        "could not take part in leader election with the Lease `{}/leader`: the role must allow leases \
         of the API group `coordination.k8s.io`: update, watch",
        place.namespace
    );
    assert_eq!(failed["error"], expected);
}

/// An update of an object that does not exist creates it: the API server's answer names the other permission.
#[tokio::test]
async fn a_missing_permission_to_create_the_lease_is_reported() {
    let place = Place::without_lease(&ALL, &[]).await;

    let mut operator = place.start();

    assert_eq!(operator.ended().code(), Some(1));
    let failed = operator.find("the manager failed").unwrap();
    let error = failed["error"].as_str().unwrap();
    assert!(error.ends_with("`coordination.k8s.io`: create"), "{error}");
}

#[tokio::test]
async fn a_missing_namespace_is_reported_at_the_start() {
    let env = servers();
    let namespace = env.namespace().await;
    let flags = [
        "--leader-elect",
        "--leader-election-id=leader",
        "--leader-election-namespace=nowhere",
    ];

    // An account that may do everything does not fail because of a missing rule.
    let mut operator = Operator::start_with(env.kubeconfig(), env, &namespace, &flags);

    assert_eq!(operator.ended().code(), Some(1));
    let failed = operator.find("the manager failed").unwrap();
    let expected = "could not take part in leader election with the Lease `nowhere/leader`: \
                    the namespace `nowhere` does not exist: give that of the Lease with \
                    `--leader-election-namespace`";
    assert_eq!(failed["error"], expected);
    assert_eq!(operator.find("starting"), None);
}

#[tokio::test]
async fn invalid_flags_for_leader_election_are_rejected() {
    let env = servers();
    let namespace = env.namespace().await;
    for (flags, error) in [
        (
            vec!["--leader-elect"],
            "`--leader-election-id` is needed with `--leader-elect`: give the name of a Lease",
        ),
        (
            vec!["--leader-elect", "--leader-election-id=a"],
            "`--leader-election-namespace` is needed outside a pod: give the namespace of the Lease",
        ),
        (
            vec!["--leader-elect", "--leader-election-id=A_"],
            "`--leader-election-id` `A_` cannot be the name of a Lease: give lower-case letters, \
             digits, `-` and `.`",
        ),
        (
            vec![
                "--leader-elect",
                "--leader-election-id=a",
                "--leader-election-namespace=a.b",
            ],
            "`--leader-election-namespace` `a.b` cannot be the name of a namespace",
        ),
    ] {
        let mut operator = Operator::start(env, &namespace, &flags);
        assert_eq!(operator.ended().code(), Some(1));
        let failed = operator.find("the manager failed").unwrap();
        assert_eq!(failed["error"], error);
        assert_eq!(operator.find("serving health probes"), None);
    }
}
