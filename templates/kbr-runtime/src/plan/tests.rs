// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests. A plan with a real API server is tested in a project.

use http::header::UPGRADE;
use serde_json::json;

use super::*;
use report::Present;

fn target(path: &str) -> Target {
    Target::of(path).unwrap()
}

fn is_read(method: Method, path: &str) -> bool {
    let request = Request::builder().method(method).uri(path);
    let request = request.body(()).unwrap();
    requests::is_read(&request, Target::of(request.uri().path()).as_ref())
}

#[test]
fn a_path_names_its_object() {
    for (path, shown, subresource) in [
        ("/api/v1/namespaces/a/pods/b", "pods a/b", None),
        ("/api/v1/namespaces/a", "namespaces a", None),
        (
            "/api/v1/namespaces/a/status",
            "namespaces a",
            Some("status"),
        ),
        ("/apis/apps/v1/deployments", "deployments.apps *", None),
        (
            "/apis/apps/v1/namespaces/a/deployments/b/scale",
            "deployments.apps a/b",
            Some("scale"),
        ),
    ] {
        let target = target(path);
        assert_eq!(target.to_string(), shown);
        assert_eq!(target.subresource.as_deref(), subresource, "{path}");
    }
    assert_eq!(Target::of("/readyz"), None);
}

#[test]
fn what_changes_the_cluster_is_a_write() {
    let pod = "/api/v1/namespaces/a/pods/b";
    for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
        assert!(!is_read(method.clone(), pod), "{method}");
        assert!(!is_read(method.clone(), "/something"), "{method}");
        assert!(
            !is_read(method.clone(), &format!("{pod}/proxy")),
            "{method}"
        );
    }
    assert!(is_read(Method::GET, pod));
    assert!(is_read(Method::GET, "/readyz"));
    assert!(is_read(Method::GET, &format!("{pod}/log")));
    assert!(is_read(Method::PATCH, &format!("{pod}?dryRun=All")));
    // The API server ignores the parameters of a deletion with a body.
    assert!(!is_read(Method::DELETE, &format!("{pod}?dryRun=All")));
    assert!(is_read(
        Method::POST,
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    ));
    assert!(is_read(
        Method::POST,
        "/api/v1/namespaces/a/serviceaccounts/b/token"
    ));
    // kube opens these with GET.
    assert!(!is_read(Method::GET, &format!("{pod}/exec")));
    let request = Request::get(format!("{pod}/portforward")).header(UPGRADE, "websocket");
    let request = request.body(()).unwrap();
    assert!(!requests::is_read(
        &request,
        Some(&target(request.uri().path()))
    ));
}

/// Reconciles an object, so to speak.
fn state() -> State {
    State {
        current: ("example", "foos.example.com a/b".to_owned()),
        ..State::default()
    }
}

#[test]
fn writes_of_one_object_are_one_step() {
    let mut state = state();
    let object = target("/api/v1/namespaces/a/configmaps/b");
    let old = json!({ "data": { "x": "1" } });
    for new in [
        json!({ "data": { "x": "2" } }),
        json!({ "data": { "x": "3" }, "metadata": { "finalizers": ["f"] } }),
        old.clone(),
    ] {
        state.write(&object, &Method::PATCH, Present::Object(old.clone()), &new);
    }
    assert_eq!(state.steps.len(), 1);
    let text = state.steps[0].to_string();
    let expected = "~ configmaps a/b (changed by example)\n    \
                    ~ data.x: \"1\" -> \"3\"\n    + metadata.finalizers: [\"f\"]";
    assert_eq!(text, expected);
}

#[test]
fn what_depends_on_a_created_object_is_not_known() {
    let (ok, missing) = (StatusCode::OK, StatusCode::NOT_FOUND);
    let created = [
        (
            "/api/v1/namespaces/a/configmaps",
            json!({ "metadata": { "name": "c", "namespace": "a" } }),
        ),
        ("/api/v1/namespaces", json!({ "metadata": { "name": "n" } })),
        (
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            json!({ "metadata": { "name": "foos.example.com" } }),
        ),
    ];
    for (path, status, is_known) in [
        ("/api/v1/namespaces/a/configmaps/c", missing, false),
        ("/api/v1/namespaces/a/configmaps/c/status", missing, false),
        ("/api/v1/namespaces/a/configmaps/d", missing, true),
        ("/api/v1/namespaces/a/configmaps", ok, false),
        ("/api/v1/configmaps", ok, false),
        ("/api/v1/namespaces/b/configmaps", ok, true),
        ("/apis/apps/v1/namespaces/n/deployments/d", missing, false),
        ("/apis/example.com/v1/namespaces/x/foos/f", missing, false),
        ("/apis/example.com/v1/namespaces/x/bars/f", missing, true),
    ] {
        let mut state = state();
        for (path, object) in &created {
            state.write(&target(path), &Method::POST, Present::Absent, object);
        }
        state.answered(&target(path), &Method::GET, status);
        assert_eq!(state.is_unknown(), !is_known, "{path}");
    }
}

#[test]
fn a_deletion_is_told_once_and_only_if_it_changes_something() {
    let (object, answer) = (target("/api/v1/namespaces/a/pods/b"), json!({}));
    let deleting = json!({ "metadata": { "deletionTimestamp": "now" } });
    let mut state = state();
    state.write(&object, &Method::DELETE, Present::Object(deleting), &answer);
    assert!(state.steps.is_empty());
    for _ in 0..2 {
        state.write(
            &object,
            &Method::DELETE,
            Present::Object(json!({})),
            &answer,
        );
    }
    assert_eq!(state.steps.len(), 1);
    assert_eq!(
        state.steps[0].to_string(),
        "- pods a/b (deleted by example)"
    );
}

#[test]
fn without_its_last_finalizer_an_object_that_is_being_deleted_is_gone() {
    let kept = |finalizers: &[&str], grace: i64| {
        json!({ "metadata": {
            "deletionTimestamp": "now",
            "deletionGracePeriodSeconds": grace,
            "finalizers": finalizers,
        } })
    };
    for (new, what) in [
        (kept(&["b"], 0), What::Change),
        (kept(&[], 30), What::Change),
        (kept(&[], 0), What::Delete),
        (json!({ "metadata": {} }), What::Change),
    ] {
        let mut state = state();
        let old = Present::Object(kept(&["a"], 0));
        let object = target("/api/v1/namespaces/a/pods/b");
        state.write(&object, &Method::PATCH, old, &new);
        assert_eq!(state.steps[0].what, what, "{new}");
    }
}

#[test]
fn a_failure_that_follows_from_what_was_not_written_is_not_known() {
    let plan = Plan(Arc::new(Mutex::new(state())));
    plan.lock().note(What::Unknown, "it depends");
    plan.failed("not found", false);
    assert_eq!(plan.failures(), 0);
    assert_eq!(
        plan.to_string().lines().last(),
        Some("The plan: 1 not known. Nothing was written.")
    );
}

/// The panics of a reconcile itself are caught before that.
#[tokio::test]
async fn a_panic_around_a_reconcile_is_a_failure() {
    let plan = Plan::default();
    let pass = Pass {
        controller: "example",
        resource: "pods".to_owned(),
        objects: vec![Arc::new(Key::new(None, "a".to_owned()))],
        forget: &|| {},
        threads: Threads::current(),
        limit: Duration::from_secs(10),
        work: Arc::new(|_| Box::pin(async { panic!("on purpose") })),
    };

    plan.pass(pass).await;

    assert_eq!(plan.failures(), 1);
    assert!(plan.to_string().contains("on purpose"), "{plan}");
}
