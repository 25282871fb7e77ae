// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! What a scrape of a manager reads after some reconciles, and who may scrape it.

use std::time::{Duration, Instant};

use api::v1::{Failure, Task, TaskSpec};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kbr_testing::FaultProxy;
use kube::api::{GetParams, PostParams};
use kube::{Api, Client, Config};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::support::{METRICS, Operator, create, is_reconciled, sample, servers, until};

/// The samples of a scrape without their values, and without the buckets of histograms.
fn names(scrape: &str) -> Vec<&str> {
    let lines = scrape.lines().filter(|line| !line.starts_with('#'));
    let names = lines.map(|line| line.rsplit_once(' ').unwrap().0);
    let mut names: Vec<_> = names.filter(|name| !name.contains("_bucket{")).collect();
    names.sort_unstable();
    names
}

/// The series of controller-runtime 0.24 for an operator with one controller and without webhooks, except
/// Go's own metrics, and those of the watch. The controller is named `task`.
const NAMES: [&str; 39] = [
    r#"certwatcher_read_certificate_errors_total"#,
    r#"certwatcher_read_certificate_total"#,
    r#"controller_runtime_active_workers{controller="task"}"#,
    r#"controller_runtime_conversion_webhook_panics_total"#,
    r#"controller_runtime_max_concurrent_reconciles{controller="task"}"#,
    r#"controller_runtime_reconcile_errors_total{controller="task"}"#,
    r#"controller_runtime_reconcile_panics_total{controller="task"}"#,
    r#"controller_runtime_reconcile_time_seconds_count{controller="task"}"#,
    r#"controller_runtime_reconcile_time_seconds_sum{controller="task"}"#,
    r#"controller_runtime_reconcile_timeouts_total{controller="task"}"#,
    r#"controller_runtime_reconcile_total{controller="task",result="error"}"#,
    r#"controller_runtime_reconcile_total{controller="task",result="requeue"}"#,
    r#"controller_runtime_reconcile_total{controller="task",result="requeue_after"}"#,
    r#"controller_runtime_reconcile_total{controller="task",result="success"}"#,
    r#"controller_runtime_terminal_reconcile_errors_total{controller="task"}"#,
    r#"controller_runtime_webhook_panics_total"#,
    "kbr_api_server_warnings_total",
    r#"kbr_cache_panics_total{resource="tasks.probe.example.com"}"#,
    r#"kbr_decoded_objects_total"#,
    r#"kbr_dropped_events_total"#,
    r#"kbr_failing_watches{resource="tasks.probe.example.com"}"#,
    r#"kbr_restless_objects_total{controller="task"}"#,
    r#"kbr_slow_functions_total"#,
    r#"kbr_unreadable_objects{resource="tasks.probe.example.com"}"#,
    r#"process_cpu_seconds_total"#,
    r#"process_max_fds"#,
    r#"process_open_fds"#,
    r#"process_resident_memory_bytes"#,
    r#"process_start_time_seconds"#,
    r#"process_virtual_memory_bytes"#,
    r#"workqueue_adds_total{name="task",controller="task"}"#,
    r#"workqueue_depth{name="task",controller="task",priority="0"}"#,
    r#"workqueue_longest_running_processor_seconds{name="task",controller="task"}"#,
    r#"workqueue_queue_duration_seconds_count{name="task",controller="task"}"#,
    r#"workqueue_queue_duration_seconds_sum{name="task",controller="task"}"#,
    r#"workqueue_retries_total{name="task",controller="task"}"#,
    r#"workqueue_unfinished_work_seconds{name="task",controller="task"}"#,
    r#"workqueue_work_duration_seconds_count{name="task",controller="task"}"#,
    r#"workqueue_work_duration_seconds_sum{name="task",controller="task"}"#,
];

#[tokio::test]
async fn a_scrape_after_real_reconciles_has_the_series_of_controller_runtime() {
    let namespace = servers().namespace().await;
    let api = Api::<Task>::namespaced(servers().admin(), &namespace);
    let mut operator = Operator::start(servers(), &namespace, &METRICS);
    operator.logged("starting");
    let result = |result: &str| {
        format!(r#"controller_runtime_reconcile_total{{controller="task",result="{result}"}}"#)
    };
    let start = operator.scrape();
    for at_first in ["success", "error", "requeue", "requeue_after"] {
        assert_eq!(sample(&start, &result(at_first)), Some(0.0), "{start}");
    }

    create(&api, "good", TaskSpec::default()).await;
    for (name, spec) in [
        (
            "again",
            TaskSpec {
                again_millis: Some(100),
                ..TaskSpec::default()
            },
        ),
        (
            "failing",
            TaskSpec {
                failure: Some(Failure::Plain),
                ..TaskSpec::default()
            },
        ),
        (
            "terminal",
            TaskSpec {
                failure: Some(Failure::Terminal),
                ..TaskSpec::default()
            },
        ),
        (
            "panicking",
            TaskSpec {
                panic: true,
                ..TaskSpec::default()
            },
        ),
    ] {
        create(&api, name, spec).await;
    }
    servers().wait_for(&api, "good", is_reconciled).await;
    let panics = r#"controller_runtime_reconcile_panics_total{controller="task"}"#;
    let terminal = r#"controller_runtime_terminal_reconcile_errors_total{controller="task"}"#;
    let scrape = until("all results", || {
        let scrape = operator.scrape();
        let value = |name: &str| sample(&scrape, name).unwrap();
        let all = value(&result("success")) >= 1.0
            && value(&result("requeue_after")) >= 2.0
            && value(panics) >= 2.0
            && value(terminal) >= 1.0
            && value(&result("error")) - value(panics) >= 2.0;
        all.then_some(scrape)
    });

    let (requests, others): (Vec<_>, Vec<_>) = names(&scrape)
        .into_iter()
        .partition(|name| name.starts_with("rest_client_requests_total{"));
    assert_eq!(others, NAMES);
    let host = servers().manager_config().cluster_url;
    let host = host.authority().unwrap();
    for request in [
        format!(r#"rest_client_requests_total{{host="{host}",code="200",method="GET"}}"#),
        format!(r#"rest_client_requests_total{{host="{host}",code="200",method="PATCH"}}"#),
    ] {
        assert!(requests.contains(&&*request), "{request}: {requests:?}");
    }
    let value = |name: &str| sample(&scrape, name).unwrap();
    let errors = r#"controller_runtime_reconcile_errors_total{controller="task"}"#;
    assert_eq!(value(errors), value(&result("error")));
    assert_eq!(value(&result("requeue")), 0.0);
    let all: f64 = ["success", "error", "requeue", "requeue_after"]
        .iter()
        .map(|name| value(&result(name)))
        .sum();
    let timed = r#"controller_runtime_reconcile_time_seconds_count{controller="task"}"#;
    assert_eq!(value(timed), all);
    let adds = r#"workqueue_adds_total{name="task",controller="task"}"#;
    assert!(value(adds) >= all, "{scrape}");
    let retries = r#"workqueue_retries_total{name="task",controller="task"}"#;
    let repeated = value(errors) - value(terminal) + 2.0;
    assert!(value(retries) >= repeated, "{scrape}");
    assert!(scrape.ends_with("# EOF\n"));

    // A long reconcile is visible while it runs.
    let spec = TaskSpec {
        work_millis: Some(60_000),
        ..TaskSpec::default()
    };
    create(&api, "slow", spec).await;
    let working = until("a reconcile that runs", || {
        let scrape = operator.scrape();
        let name = r#"workqueue_longest_running_processor_seconds{name="task",controller="task"}"#;
        (sample(&scrape, name)? > 1.0).then_some(scrape)
    });
    let active = r#"controller_runtime_active_workers{controller="task"}"#;
    assert_eq!(sample(&working, active), Some(1.0));
    create(&api, "waiting", TaskSpec::default()).await;
    let depth = r#"workqueue_depth{name="task",controller="task",priority="0"}"#;
    until("an object that waits", || {
        (sample(&operator.scrape(), depth)? >= 1.0).then_some(())
    });
}

/// The response of an operator to a client with `token`.
async fn get(address: &str, token: Option<&str>, path: &str) -> (u16, String) {
    send(address, token, ("GET", path, "")).await
}

async fn send(
    address: &str,
    token: Option<&str>,
    (method, path, body): (&str, &str, &str),
) -> (u16, String) {
    let mut config = Config::new(format!("https://{address}").parse().unwrap());
    // Its certificate is self-signed.
    config.accept_invalid_certs = true;
    config.default_retry = false;
    config.auth_info.token = token.map(|token| token.to_owned().into());
    let client = Client::try_from(config).unwrap();
    let mut request = kube::core::Request::new("")
        .get("a", &GetParams::default())
        .unwrap();
    *request.method_mut() = method.parse().unwrap();
    *request.uri_mut() = path.parse().unwrap();
    *request.body_mut() = body.as_bytes().to_vec();
    match client.request_text(request).await {
        Ok(text) => (200, text),
        Err(kube::Error::Api(status)) => (status.code, status.message),
        Err(error) => panic!("{error}"),
    }
}

/// A namespace with ServiceAccounts, and ClusterRoles that are named after it.
struct Place {
    namespace: String,
    client: Client,
}

impl Place {
    async fn new() -> Self {
        let namespace = servers().namespace().await;
        let client = servers().admin();
        Self { namespace, client }
    }

    /// The token of a new account.
    async fn account(&self, name: &str) -> String {
        let accounts = Api::<ServiceAccount>::namespaced(self.client.clone(), &self.namespace);
        let mut account = ServiceAccount::default();
        account.metadata.name = Some(name.to_owned());
        let params = PostParams::default();
        accounts.create(&params, &account).await.unwrap();
        let request = TokenRequest {
            spec: Some(TokenRequestSpec::default()),
            ..TokenRequest::default()
        };
        let response = accounts.create_token_request(name, &params, &request).await;
        response.unwrap().status.unwrap().token.unwrap()
    }

    /// Grants `rule` to an account in the namespace `of`.
    async fn allow(&self, rule: Value, of: &str, account: &str) {
        let name = format!("{}-{account}", self.namespace);
        let role = json!({ "metadata": { "name": name }, "rules": [rule] });
        let role: ClusterRole = serde_json::from_value(role).unwrap();
        let binding = json!({
            "metadata": { "name": name },
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name,
            },
            "subjects": [{ "kind": "ServiceAccount", "namespace": of, "name": account }],
        });
        let binding: ClusterRoleBinding = serde_json::from_value(binding).unwrap();
        let params = PostParams::default();
        let roles = Api::<ClusterRole>::all(self.client.clone());
        roles.create(&params, &role).await.unwrap();
        let bindings = Api::<ClusterRoleBinding>::all(self.client.clone());
        bindings.create(&params, &binding).await.unwrap();
    }
}

/// How many TokenReviews the manager has created.
fn token_reviews() -> usize {
    let mut requests = servers().requests();
    requests.retain(|request| request.resource == "tokenreviews" && request.code == 201);
    requests.len()
}

#[tokio::test]
async fn a_manager_that_may_not_review_tokens_says_what_its_role_lacks() {
    let place = Place::new().await;
    let token = place.account("scraper").await;
    let kubeconfig = servers().kubeconfig_of(&place.namespace, "scraper").await;
    let flags = ["--metrics-bind-address=127.0.0.1:0"];
    let kubeconfig = kubeconfig.unwrap();
    let mut operator = Operator::start_with(&kubeconfig, servers(), &place.namespace, &flags);
    let address = operator.metrics_address();

    let (status, reason) = get(&address, Some(&token), "/metrics").await;

    assert_eq!(status, 500, "{reason}");
    let line = operator.logged("cannot check who may read metrics");
    let error = line["error"].as_str().unwrap();
    let expected = "the manager's role must allow creating tokenreviews: ";
    assert!(error.starts_with(expected), "{error}");
}

#[tokio::test]
async fn metrics_are_served_only_to_clients_that_a_role_allows() {
    let place = Place::new().await;
    let scraper = place.account("scraper").await;
    let stranger = place.account("stranger").await;
    let flags = ["--metrics-bind-address=127.0.0.1:0"];
    let mut operator = Operator::start(servers(), &place.namespace, &flags);
    let address = operator.metrics_address();

    let response = get(&address, Some(&stranger), "/metrics").await;
    let user = format!("system:serviceaccount:{}:stranger", place.namespace);
    let expected = format!("no role allows `{user}` to use the verb `get` on `/metrics`");
    assert_eq!(response.0, 403);
    assert!(response.1.contains(&expected), "{}", response.1);
    assert_eq!(get(&address, None, "/metrics").await.0, 401);
    assert_eq!(get(&address, Some("nonsense"), "/metrics").await.0, 401);
    let metrics = json!({ "nonResourceURLs": ["/metrics"], "verbs": ["get"] });
    place.allow(metrics, &place.namespace, "scraper").await;
    // A change to a role takes effect a little later, and a rejection is cached for half a minute.
    sleep(Duration::from_secs(1)).await;
    let (status, text) = get(&address, Some(&scraper), "/metrics").await;
    assert_eq!(status, 200, "{text}");
    assert!(
        names(&text).contains(&"process_cpu_seconds_total"),
        "{text}"
    );
    assert_eq!(get(&address, Some(&scraper), "/").await.0, 404);

    // Known tokens, good or bad, are not reviewed again.
    let before = token_reviews();
    for _ in 0..10 {
        assert_eq!(get(&address, Some(&scraper), "/metrics").await.0, 200);
        assert_eq!(get(&address, Some("nonsense"), "/metrics").await.0, 401);
    }
    assert_eq!(token_reviews(), before);
    assert_eq!(
        get(&address, Some("other nonsense"), "/metrics").await.0,
        401
    );
    until("the review of another token", || {
        (token_reviews() == before + 1).then_some(())
    });
    assert!(!operator.log().contains(&scraper));

    // The log level may be changed by clients that a role allows to.
    let put = |level: &'static str| ("PUT", "/log-level", level);
    let rule = json!({ "nonResourceURLs": ["/log-level"], "verbs": ["get", "put"] });
    assert_eq!(send(&address, Some(&scraper), put("debug")).await.0, 403);
    let chief = place.account("chief").await;
    place.allow(rule, &place.namespace, "chief").await;
    sleep(Duration::from_secs(1)).await;
    let (status, before) = get(&address, Some(&chief), "/log-level").await;
    assert_eq!(status, 200, "{before}");
    assert!(before.contains("info"), "{before}");
    assert_eq!(operator.levels(&["DEBUG"]).len(), 0);
    assert_eq!(send(&address, Some(&chief), put("loud")).await.0, 400);
    let (status, level) = send(&address, Some(&chief), put("debug")).await;
    assert_eq!((status, &*level), (200, "debug\n"));
    let changed = operator.logged("the log level was changed");
    assert!(changed["user"].as_str().unwrap().ends_with(":chief"));
    until("a line of level debug", || {
        (!operator.levels(&["DEBUG"]).is_empty()).then_some(())
    });
    let (status, _) = send(&address, Some(&chief), put("info")).await;
    assert_eq!(status, 200);
    assert_eq!(get(&address, Some(&chief), "/log-level").await.1, before);
}

#[tokio::test]
async fn an_api_server_that_does_not_respond_is_an_error_in_time() {
    let namespace = servers().namespace().await;
    let proxy = FaultProxy::start(servers()).unwrap();
    let kubeconfig = proxy.kubeconfig(servers().manager_kubeconfig());
    let flags = ["--metrics-bind-address=127.0.0.1:0"];
    let mut operator = Operator::start_with(&kubeconfig.unwrap(), servers(), &namespace, &flags);
    let address = operator.metrics_address();

    proxy.black_hole();

    let start = Instant::now();
    let (status, reason) = get(&address, Some("nonsense"), "/metrics").await;
    assert_eq!(status, 500);
    assert!(
        reason.contains("the API server does not answer"),
        "{reason}"
    );
    // The documented limit is ten seconds.
    assert!(start.elapsed() < Duration::from_secs(100));
    // These need no review.
    assert_eq!(get(&address, None, "/metrics").await.0, 401);
    assert_eq!(get(&address, None, "/nowhere").await.0, 404);
}

#[tokio::test]
async fn unusable_metrics_flags_are_rejected() {
    let namespace = servers().namespace().await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = format!("--metrics-bind-address={}", listener.local_addr().unwrap());
    let free = "--metrics-bind-address=127.0.0.1:0";
    for (flags, error) in [
        (
            vec![&*taken],
            "for the metrics; give another `--metrics-bind-address`, or 0 for none: ",
        ),
        (
            vec![free, "--metrics-cert-path=/nowhere"],
            "`--metrics-cert-path` `/nowhere` is not a folder: give ",
        ),
    ] {
        let mut operator = Operator::start(servers(), &namespace, &flags);
        assert_eq!(operator.ended().code(), Some(1));
        let failed = operator.find("the manager failed").unwrap();
        let message = failed["error"].as_str().unwrap();
        assert!(message.contains(error), "{message}");
        assert_eq!(operator.find("serving health probes"), None);
        assert_eq!(operator.find("starting"), None);
    }
}
