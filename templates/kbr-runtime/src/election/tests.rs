// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests. Candidates with a real API server are tested in a project.

use super::*;
use crate::clock::BootTime;
use prometheus_client::metrics::gauge::Gauge;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use tokio::time::timeout;

/// The other side of an [`Election`] that this process has won.
pub(crate) struct Won {
    state: watch::Sender<State>,
    stop: CancellationToken,
}

impl Won {
    pub(crate) fn lose(&self) {
        self.state
            .send_replace(State::Lost("on purpose".to_owned()));
    }

    /// Whether the election was left, which releases the Lease.
    pub(crate) fn is_released(&self) -> bool {
        self.stop.is_cancelled()
    }
}

/// An election that this process has won, without a Lease.
pub(crate) fn won() -> (Election, Won) {
    let (state, receiver) = watch::channel(State::Leading);
    let stop = CancellationToken::new();
    let stopped = stop.clone();
    let end = async move {
        stopped.cancelled().await;
        "it was stopped".to_owned()
    };
    let election = Election {
        thread: Thread::spawn("leader election", end).unwrap(),
        state: receiver,
        stop: stop.clone(),
        lease: "default/test".to_owned(),
    };
    (election, Won { state, stop })
}

fn flags(id: &str, namespace: &str) -> Flags {
    Flags {
        leader_elect: true,
        leader_election_id: Some(id.to_owned()),
        leader_election_namespace: Some(namespace.to_owned()),
        ..Flags::default()
    }
}

#[test]
fn names_that_the_api_server_would_refuse_are_refused() {
    for id in ["a", "1a2b3c4d.example.com", "a-1.b"] {
        assert!(Settings::of(&flags(id, "default")).is_ok(), "{id}");
    }
    let long = "a".repeat(254);
    for id in ["", "A", "a_b", "-a", "a-", ".a", "a..b", "a/b", &long] {
        let error = Settings::of(&flags(id, "default")).unwrap_err();
        assert!(
            error.to_string().starts_with("`--leader-election-id` "),
            "{id}: {error}"
        );
    }
    for namespace in ["", "a.b", "A"] {
        let error = Settings::of(&flags("a", namespace)).unwrap_err();
        assert!(
            error.to_string().contains("namespace"),
            "{namespace}: {error}"
        );
    }
}

#[test]
fn without_the_flag_there_is_no_election() {
    let flags = Flags {
        leader_elect: false,
        ..flags("A", "A")
    };
    assert!(Settings::of(&flags).unwrap().is_none());
}

#[test]
fn times_that_client_go_would_refuse_are_refused() {
    let seconds = |lease, renew, retry| Flags {
        leader_elect_lease_duration: Duration::from_secs(lease),
        leader_elect_renew_deadline: Duration::from_secs(renew),
        leader_elect_retry_period: Duration::from_secs(retry),
        ..flags("a", "default")
    };
    assert!(Settings::of(&seconds(60, 40, 5)).is_ok());
    for (flags, flag) in [
        (seconds(15, 10, 0), "`--leader-elect-retry-period` must be"),
        (
            seconds(15, 12, 10),
            "`--leader-elect-renew-deadline` is 12s, and must be longer than 1.2 times `--leader-elect-retry-period`, which is 10s",
        ),
        (
            seconds(10, 10, 2),
            "`--leader-elect-lease-duration` is 10s, and must be longer than `--leader-elect-renew-deadline`, which is 10s",
        ),
    ] {
        let error = Settings::of(&flags).unwrap_err().to_string();
        assert!(error.starts_with(flag), "{error}");
    }
}

#[test]
fn two_processes_of_a_pod_have_two_identities() {
    let pod = |name| match name {
        "POD_NAME" => Some("manager-0".to_owned()),
        "POD_UID" => Some("0f4d".to_owned()),
        _ => None,
    };

    let (one, two) = (identity(pod), identity(pod));

    assert!(one.starts_with("manager-0_"), "{one}");
    assert_ne!(one, two);
}

#[tokio::test]
async fn a_process_that_outlives_its_lease_is_ended() {
    static ENDED: AtomicUsize = AtomicUsize::new(0);
    let end: fn() = || {
        ENDED.fetch_add(1, Ordering::SeqCst);
    };
    let (moment, left) = (Duration::from_millis(100), CancellationToken::new());

    fence(&left, moment, None).await;
    assert_eq!(ENDED.load(Ordering::SeqCst), 0);
    fence(&left, moment, Some(end)).await;
    assert_eq!(ENDED.load(Ordering::SeqCst), 1);

    // Nothing runs any more.
    left.cancel();
    fence(&left, moment, Some(end)).await;
    assert_eq!(ENDED.load(Ordering::SeqCst), 1);
}

/// A process that leads as far as it knows.
fn leader(address: std::net::SocketAddr, stop: &CancellationToken) -> Candidate {
    let config = Config::new(format!("http://{address}").parse().unwrap());
    let settings = Settings {
        namespace: "default".to_owned(),
        name: "test".to_owned(),
        lease_duration: Duration::from_secs(15),
        renew_deadline: Duration::from_secs(10),
        retry_period: Duration::from_millis(10),
    };
    Candidate {
        client: Client::try_from(config.clone()).unwrap(),
        config,
        settings,
        identity: "me".to_owned(),
        is_developed: false,
        not_before: BootTime::default(),
        gate: Gate::default(),
        leads: Gauge::default(),
        state: watch::channel(State::Leading).0,
        stop: stop.clone(),
        record: Record::default(),
        is_stale: true,
    }
}

/// Such as after a network failure that nothing has reported.
#[tokio::test]
async fn the_lease_is_released_over_another_connection_if_the_first_is_dead() {
    const LEASE: &str = concat!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 145\r\n\r\n",
        r#"{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","#,
        r#""metadata":{"name":"test","resourceVersion":"5"},"spec":{"holderIdentity":"me"}}"#,
        "           ",
    );
    let answer = |connection, _| (connection > 0).then_some(LEASE);
    let (address, requests) = crate::api_server::tests::serve(answer);
    let stop = CancellationToken::new();
    let mut leader = leader(address, &stop);
    let start = Instant::now();

    leader
        .release(BootTime::now() + Duration::from_secs(60))
        .await;

    // One without an answer, and then a GET and a PUT.
    assert_eq!(requests.load(Ordering::SeqCst), 3);
    assert!(start.elapsed() < leader.settings.attempt());
}

pub(crate) const MISSING: &str = concat!(
    "HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\ncontent-length: 85\r\n\r\n",
    r#"{"kind":"Status","status":"Failure","message":"none","reason":"NotFound","code":404} "#,
);
const CREATED: &str = concat!(
    "HTTP/1.1 201 Created\r\ncontent-type: application/json\r\ncontent-length: 78\r\n\r\n",
    r#"{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"a"}}"#,
);

#[tokio::test]
async fn a_lease_that_is_always_deleted_is_not_created_all_the_time() {
    // A GET and a POST, again and again.
    let answer = |_, request| Some(if request % 2 == 0 { MISSING } else { CREATED });
    let (address, requests) = crate::api_server::tests::serve(answer);
    let mut candidate = leader(address, &CancellationToken::new());
    candidate.settings.retry_period = Duration::from_millis(200);

    let acquired = timeout(Duration::from_secs(1), candidate.acquire()).await;

    assert!(acquired.is_err());
    let requests = requests.load(Ordering::SeqCst);
    assert!((4..=14).contains(&requests), "{requests}");
}

const NOT_PERMITTED: &str = concat!(
    "HTTP/1.1 403 Forbidden\r\ncontent-type: application/json\r\ncontent-length: 263\r\n\r\n",
    r#"{"kind":"Status","status":"Failure","reason":"Forbidden","code":403,"message":"#,
    r#""leases.coordination.k8s.io \"test\" is forbidden: User \"system:serviceaccount:a:b\" cannot get "#,
    r#"resource \"leases\" in API group \"coordination.k8s.io\" in the namespace \"default\"" }"#,
);
const OF_A_POLICY: &str = concat!(
    "HTTP/1.1 403 Forbidden\r\ncontent-type: application/json\r\ncontent-length: 152\r\n\r\n",
    r#"{"kind":"Status","status":"Failure","reason":"Forbidden","code":403,"message":"#,
    r#""admission webhook \"validate.kyverno.svc\" denied the request: a label" }"#,
);
const OF_A_NAMESPACE: &str = concat!(
    "HTTP/1.1 403 Forbidden\r\ncontent-type: application/json\r\ncontent-length: 212\r\n\r\n",
    r#"{"kind":"Status","status":"Failure","reason":"Forbidden","code":403,"message":"#,
    r#""leases.coordination.k8s.io \"test\" is forbidden: unable to create new content in namespace "#,
    r#"default because it is being terminated" }"#,
);

#[tokio::test]
async fn only_a_role_that_lacks_a_permission_prevents_an_election() {
    async fn obstacle(answer: fn(usize, usize) -> Option<&'static str>) -> Option<String> {
        let (address, _) = crate::api_server::tests::serve(answer);
        let leader = leader(address, &CancellationToken::new());
        leader.obstacle().await
    }

    let role = obstacle(|_, _| Some(NOT_PERMITTED)).await.unwrap();
    assert!(role.ends_with(": get, update, watch"), "{role}");
    // These may pass, and are logged by who waits to lead.
    assert_eq!(obstacle(|_, _| Some(OF_A_POLICY)).await, None);
    assert_eq!(obstacle(|_, _| Some(OF_A_NAMESPACE)).await, None);
}

/// An API server that accepts connections and answers nothing.
#[tokio::test]
async fn a_renewal_without_an_answer_does_not_delay_the_release() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let stop = CancellationToken::new();
    let mut candidate = leader(silent.local_addr().unwrap(), &stop);
    let attempt = candidate.settings.attempt();
    let start = Instant::now();

    let (kept, ()) = tokio::join!(candidate.keep(BootTime::now()), async {
        sleep(Duration::from_millis(200)).await;
        stop.cancel();
    });

    assert!(kept.is_ok());
    // Without the stop, the attempt would take three seconds.
    assert!(start.elapsed() < attempt / 2);
}
