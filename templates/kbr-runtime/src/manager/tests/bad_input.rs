// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! What the operator's code, the API server and the objects may do wrong, each with the manager running: nothing else
//! stops, the log has a line about it, and a metric shows it. What is refused before anything starts is in `refused`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Instant;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use http::{Method, Request, Response, Uri};
use http_body_util::StreamBody;
use hyper::body::{Bytes, Frame};
use k8s_openapi::api::core::v1::{Namespace, Pod, Secret};
use kube::client::Body;
use kube::runtime::Predicate;
use kube::runtime::events::EventType;
use kube::runtime::reflector::ObjectRef;
use kube::{Resource, ResourceExt};
use serde_json::{Value, json};

use super::*;
use crate::cache::tests::Odd;
use crate::lock::lock;
use crate::logging::tests::logged;
use crate::metrics::SLOW;

/// How long a test may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the API server answers.
enum Answer {
    Object(u16, Value),
    /// The events of a watch, which is closed after them or stays open.
    Watch(Vec<String>, bool),
    /// None ever.
    Nothing,
}

/// What it answers to a method, a path and a query.
type Answers = dyn Fn(&Method, &str, &str) -> Answer + Send + Sync;

/// The body of an answer.
type Lines = StreamBody<BoxStream<'static, Result<Frame<Bytes>, BoxError>>>;

/// An API server in this process, which answers each request with what a test says of its method, path and query.
#[derive(Clone)]
struct Server {
    answer: Arc<Answers>,
    /// The methods and paths of all requests.
    requests: Arc<Mutex<Vec<(Method, String)>>>,
}

impl Server {
    fn new(answer: impl Fn(&Method, &str, &str) -> Answer + Send + Sync + 'static) -> Self {
        Self {
            answer: Arc::new(answer),
            requests: Arc::default(),
        }
    }

    /// Answers with these objects of each plural to lists, and with no event to watches.
    fn of(objects: impl Fn(&str) -> Vec<Value> + Send + Sync + 'static) -> Self {
        Self::new(move |method, path, query| usual(method, path, query, &objects))
    }

    /// A manager whose client asks this server.
    fn manager(&self) -> Manager {
        let (mut manager, this) = (manager(), self.clone());
        manager.server.has_answered_for(PATIENCE);
        let service = tower::service_fn(move |request: Request<Body>| {
            let (this, method, uri) = (
                this.clone(),
                request.method().clone(),
                request.uri().clone(),
            );
            async move { this.respond(method, uri).await }
        });
        manager.client = Client::new(service, "default");
        manager
    }

    async fn respond(self, method: Method, uri: Uri) -> Result<Response<Lines>, BoxError> {
        lock(&self.requests).push((method.clone(), uri.path().to_owned()));
        let answer = (self.answer)(&method, uri.path(), uri.query().unwrap_or_default());
        let (code, lines, ends) = match answer {
            Answer::Object(code, object) => (code, vec![object.to_string()], true),
            Answer::Watch(events, ends) => (200, events, ends),
            Answer::Nothing => pending().await,
        };
        let line = |line: String| Ok(Frame::data(Bytes::from(format!("{line}\n"))));
        let lines = stream::iter(lines.into_iter().map(line));
        let body = match ends {
            true => lines.boxed(),
            false => lines.chain(stream::pending()).boxed(),
        };
        let response = Response::builder().status(code);
        Ok(response.body(StreamBody::new(body))?)
    }

    fn requests_of(&self, method: &Method) -> usize {
        let requests = lock(&self.requests);
        requests.iter().filter(|(of, _)| of == method).count()
    }
}

/// What an API server with these objects answers.
fn usual(method: &Method, path: &str, query: &str, objects: impl Fn(&str) -> Vec<Value>) -> Answer {
    if *method != Method::GET {
        return Answer::Object(201, json!({ "metadata": { "name": "stored" } }));
    }
    if query.contains("watch=true") {
        return Answer::Watch(Vec::new(), false);
    }
    let items = objects(path.rsplit('/').next().unwrap_or_default());
    Answer::Object(
        200,
        json!({ "metadata": { "resourceVersion": "100" }, "items": items }),
    )
}

/// An object with that name and version.
fn object(name: &str, version: u32) -> Value {
    let metadata = json!({
        "name": name, "namespace": "default", "uid": name, "resourceVersion": version.to_string()
    });
    json!({ "metadata": metadata })
}

/// An event of a watch, as an API server writes it.
fn event(type_: &str, object: Value) -> String {
    format!(r#"{{"type":"{type_}","object":{object}}}"#)
}

fn status(code: u16) -> Value {
    json!({ "kind": "Status", "status": "Failure", "code": code, "reason": "x", "message": "on purpose" })
}

/// The names of the objects that were reconciled, in order.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    fn note(&self, name: String) {
        lock(&self.0).push(name);
    }

    /// Adds a controller that notes what it reconciles.
    fn add<K: Cached>(&self, manager: &mut Manager, name: &'static str, controller: Controller<K>) {
        let this = self.clone();
        manager.add(name, controller, move |object: Handle<K>| {
            this.note(object.name_any());
            async { Ok::<_, Infallible>(Action::await_change()) }
        });
    }

    fn count(&self, name: &str) -> usize {
        lock(&self.0).iter().filter(|seen| *seen == name).count()
    }
}

/// The value of a sample, written with its labels; 0 if there is none.
fn sample(metrics: &Metrics, name: &str) -> u64 {
    let text = metrics.text().unwrap();
    let mut lines = text.lines();
    let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
    value.unwrap_or_default()
}

/// Waits in the manager's time.
async fn until(what: &str, mut is: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is() {
        assert!(start.elapsed() < PATIENCE, "in vain: {what}");
        sleep(Duration::from_millis(10)).await;
    }
}

/// Runs a manager until `test` has ended, in a time that passes whenever the manager waits. Returns how it ended and what
/// it logged.
fn run_during<F: Future<Output = ()>>(
    start: impl FnOnce() -> (Manager, F),
) -> (Result<(), String>, Vec<Value>) {
    let mut outcome = Ok(());
    let lines = logged("off,kbr_runtime=info".into(), || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build();
        outcome = runtime.unwrap().block_on(async {
            let (mut manager, test) = start();
            tokio::select! {
                ended = manager.run_until_stopped() => ended.map_err(|error| error.to_string()),
                () = test => Ok(()),
            }
        });
    });
    (outcome, lines)
}

/// The lines with that message.
fn with_message<'a>(lines: &'a [Value], message: &str) -> Vec<&'a Value> {
    let all = lines.iter();
    all.filter(|line| line["message"] == message).collect()
}

/// The only line with that message.
#[track_caller]
fn line<'a>(lines: &'a [Value], message: &str) -> &'a Value {
    let found = with_message(lines, message);
    assert_eq!(found.len(), 1, "{message}: {lines:?}");
    found[0]
}

#[test]
fn an_object_whose_type_panics_is_skipped() {
    type Object = kube::core::Object<Odd, Option<()>>;
    let (outcome, lines) = run_during(|| {
        let server = Server::of(|_| {
            let spec = |name: &str| {
                let mut object = object(name, 1);
                object["spec"] = json!(name);
                object
            };
            vec![spec("bad"), spec("good")]
        });
        let (mut manager, seen) = (server.manager(), Seen::default());
        let kind = kube::api::ApiResource::erase::<ConfigMap>(&());
        let cache = manager.cache_of::<Object>(None, watcher::Config::default(), kind);
        seen.add(&mut manager, "a", Controller::new(cache));
        let metrics = manager.metrics().clone();
        let test = async move {
            until("a reconcile", || seen.count("good") > 0).await;
            until("an event", || server.requests_of(&Method::POST) > 0).await;
            let skipped = sample(&metrics, r#"kbr_unreadable_objects{resource="configmaps"}"#);
            assert_eq!((seen.count("bad"), skipped), (0, 1));
        };
        (manager, test)
    });

    assert_eq!(outcome, Ok(()));
    let skipped = line(&lines, "an object cannot be read and is skipped");
    assert_eq!(skipped["object"], "default/bad");
    assert_eq!(skipped["error"], "the code that reads it panicked");
}

/// What the functions of the operator do with the object `bad`, before they return.
type Deed = Arc<dyn Fn(&Cache<ConfigMap>) + Send + Sync>;

/// Does it for the object `bad`.
#[derive(Clone)]
struct Bad(Deed, Cache<ConfigMap>);

impl Bad {
    fn meet(&self, object: &impl Resource) {
        if object.name_any() == "bad" {
            (self.0)(&self.1);
        }
    }
}

impl Predicate<ConfigMap> for Bad {
    fn hash_property(&self, object: &ConfigMap) -> Option<u64> {
        self.meet(object);
        object.resource_version()?.parse().ok()
    }
}

/// The functions of the operator that are called for each object, as the log names them, and the metric of their panics.
const FUNCTIONS: [(&str, &str); 5] = [
    ("a mapper of the controller `a`", OF_CONTROLLER),
    ("a predicate of the controller `a`", OF_CONTROLLER),
    (
        "the function that finds references of the controller `a`",
        OF_CONTROLLER,
    ),
    ("an index of configmaps", OF_CACHE),
    ("the function that slims configmaps", OF_CACHE),
];

const OF_CONTROLLER: &str = r#"controller_runtime_reconcile_panics_total{controller="a"}"#;
const OF_CACHE: &str = r#"kbr_cache_panics_total{resource="configmaps"}"#;

/// Adds the controller `a` of ConfigMaps with the function of that name, which does this for the object `bad`.
fn add_function(manager: &mut Manager, function: &str, deed: Deed, seen: &Seen) {
    let maps = manager.all::<ConfigMap>();
    let bad = Bad(deed, maps.clone());
    let controller = Controller::new(maps.clone());
    let controller = match function.split(' ').nth(1).unwrap() {
        "mapper" => controller.watches(maps, move |map| {
            bad.meet(map);
            [ObjectRef::from_obj(map)]
        }),
        "predicate" => controller.predicates(bad),
        "function" if function.contains("references") => {
            controller.references(manager.metadata::<Secret>(), move |map| {
                bad.meet(map);
                [ObjectRef::<Secret>::new("a")]
            })
        }
        "function" => {
            maps.slim(move |map| bad.meet(map));
            controller
        }
        _ => {
            maps.index("a", move |map| {
                bad.meet(map);
                vec!["a".to_owned()]
            });
            controller
        }
    };
    seen.add(manager, "a", controller);
}

/// Answers with two ConfigMaps, and shows another one afterwards.
fn maps_and_a_later_one() -> Server {
    Server::new(|method, path, query| {
        let is_of_maps = path.ends_with("configmaps");
        if is_of_maps && query.contains("watch=true") {
            let events = vec![event("ADDED", object("later", 101))];
            return Answer::Watch(events, false);
        }
        usual(method, path, query, |_| {
            let maps = [object("bad", 1), object("good", 2)];
            maps.into_iter().filter(|_| is_of_maps).collect()
        })
    })
}

#[test]
fn a_function_that_panics_is_named_and_concerns_one_object() {
    for (function, metric) in FUNCTIONS {
        let (outcome, lines) = run_during(|| {
            let (mut manager, seen) = (maps_and_a_later_one().manager(), Seen::default());
            add_function(
                &mut manager,
                function,
                Arc::new(|_| panic!("on purpose")),
                &seen,
            );
            let metrics = manager.metrics().clone();
            let test = async move {
                for name in ["bad", "good", "later"] {
                    until(name, || seen.count(name) > 0).await;
                }
                assert_eq!(sample(&metrics, metric), 1, "{function}");
            };
            (manager, test)
        });

        assert_eq!(outcome, Ok(()));
        let panicked = line(&lines, &format!("{function} panicked"));
        assert_eq!(panicked["object"], "default/bad");
        assert_eq!(panicked["panic"], "on purpose");
    }
}

/// What is kept of an object cannot depend on writes; everything else may write.
#[test]
fn a_function_that_writes_to_the_cache_that_calls_it_ends_nothing() {
    for (function, metric) in FUNCTIONS {
        let may_write = metric == OF_CONTROLLER;
        let (outcome, lines) = run_during(|| {
            let (mut manager, seen) = (maps_and_a_later_one().manager(), Seen::default());
            let written: ConfigMap = serde_json::from_value(object("bad", 200)).unwrap();
            let write: Deed = Arc::new(move |cache| cache.insert(&written));
            add_function(&mut manager, function, write, &seen);
            let (cache, metrics) = (manager.all::<ConfigMap>(), manager.metrics().clone());
            let test = async move {
                for name in ["bad", "good", "later"] {
                    until(name, || seen.count(name) > 0).await;
                }
                let bad = cache.get(&ObjectRef::new("bad").within("default")).unwrap();
                let version = bad.resource_version();
                let expected = if may_write { ("200", 0) } else { ("1", 1) };
                let found = (version.as_deref().unwrap(), sample(&metrics, metric));
                assert_eq!(found, expected, "{function}");
            };
            (manager, test)
        });

        assert_eq!(outcome, Ok(()));
        if !may_write {
            let panicked = line(&lines, &format!("{function} panicked"));
            let expected = "what indexes or slims objects must not write to a cache";
            assert_eq!(panicked["panic"], expected);
        }
    }
}

/// A manager with one controller of three kinds.
fn of_three_kinds(server: &Server, seen: &Seen) -> Manager {
    let mut manager = server.manager();
    let controller = Controller::new(manager.all::<ConfigMap>())
        .owns(manager.all::<Pod>())
        .watches(manager.all::<Secret>(), |secret| {
            [ObjectRef::new(&secret.name_any()).within("default")]
        });
    seen.add(&mut manager, "a", controller);
    manager
}

#[test]
fn a_cache_of_three_that_can_never_be_listed_ends_the_manager_and_is_named() {
    let (outcome, lines) = run_during(|| {
        let server = Server::new(|method, path, query| match path.ends_with("secrets") {
            true => Answer::Object(403, status(403)),
            false => usual(method, path, query, |_| vec![object("a", 1)]),
        });
        let seen = Seen::default();
        let manager = of_three_kinds(&server, &seen);
        let metrics = manager.metrics().clone();
        let test = async move {
            let failing = r#"kbr_failing_watches{resource="secrets"}"#;
            until("a refusal", || sample(&metrics, failing) == 1).await;
            sleep(SYNC_LIMIT * 2).await;
        };
        (manager, test)
    });

    let error = outcome.unwrap_err();
    let expected = "controller `a` ended: could not list secrets within 120s: ";
    assert!(
        error.starts_with(expected) && error.contains("on purpose"),
        "{error}"
    );
    let failed = with_message(&lines, "a watch failed and will be retried");
    assert!(
        failed.iter().all(|line| line["watch"] == "secrets"),
        "{lines:?}"
    );
    // Once a minute.
    assert!((1..=3).contains(&failed.len()), "{lines:?}");
    assert_eq!(
        line(&lines, "a part of the manager has failed: it ends")["error"],
        error
    );
}

#[test]
fn a_watch_of_three_that_is_refused_for_ever_stops_no_other() {
    let (outcome, lines) = run_during(|| {
        let (server, seen) = (
            Server::new(|method, path, query| {
                match (query.contains("watch=true"), path.ends_with("configmaps")) {
                    (true, _) if path.ends_with("secrets") => Answer::Object(403, status(403)),
                    (true, true) => {
                        let event = event("ADDED", object("later", 101));
                        Answer::Watch(vec![event], false)
                    }
                    _ => usual(method, path, query, |_| vec![object("a", 1)]),
                }
            }),
            Seen::default(),
        );
        let manager = of_three_kinds(&server, &seen);
        let metrics = manager.metrics().clone();
        let test = async move {
            sleep(Duration::from_secs(3600)).await;
            until("a reconcile", || seen.count("later") > 0).await;
            let failing = |resource: &str| {
                sample(
                    &metrics,
                    &format!(r#"kbr_failing_watches{{resource="{resource}"}}"#),
                )
            };
            assert_eq!(["configmaps", "pods", "secrets"].map(failing), [0, 0, 1]);
        };
        (manager, test)
    });

    assert_eq!(outcome, Ok(()));
    let failed = with_message(&lines, "a watch failed and will be retried");
    assert!(
        failed.iter().all(|line| line["watch"] == "secrets"),
        "{lines:?}"
    );
    assert!((1..=62).contains(&failed.len()), "{}", failed.len());
}

/// Each list shows what there is, so nothing is lost; but each costs the API server something.
#[test]
fn a_watch_that_is_answered_410_or_closed_a_thousand_times_is_named_and_ends_nothing() {
    let expired = || event("ERROR", status(410));
    type Bad = Arc<dyn Fn() -> Answer + Send + Sync>;
    let ways: [(&str, Bad); 3] = [
        ("refused", Arc::new(|| Answer::Object(410, status(410)))),
        (
            "expired",
            Arc::new(move || Answer::Watch(vec![expired()], true)),
        ),
        ("closed", Arc::new(|| Answer::Watch(Vec::new(), true))),
    ];
    for (way, bad) in ways {
        let mut seconds = 0;
        let (outcome, lines) = run_during(|| {
            let (count, is_bad) = (
                Arc::<AtomicUsize>::default(),
                Arc::new(AtomicBool::new(true)),
            );
            let (counted, switch) = (count.clone(), is_bad.clone());
            let server = Server::new(move |method, path, query| {
                match (query.contains("watch=true"), is_bad.load(Ordering::SeqCst)) {
                    (true, true) => {
                        counted.fetch_add(1, Ordering::SeqCst);
                        bad()
                    }
                    (true, false) => {
                        let event = event("ADDED", object("later", 102));
                        Answer::Watch(vec![event], false)
                    }
                    _ => usual(method, path, query, |_| vec![object("a", 1)]),
                }
            });
            let (mut manager, seen) = (server.manager(), Seen::default());
            let controller = Controller::new(manager.all::<ConfigMap>());
            seen.add(&mut manager, "a", controller);
            let (metrics, seconds) = (manager.metrics().clone(), &mut seconds);
            let test = async move {
                let start = tokio::time::Instant::now();
                while count.load(Ordering::SeqCst) < 1000 {
                    sleep(Duration::from_secs(60)).await;
                }
                *seconds = start.elapsed().as_secs();
                let failing = r#"kbr_failing_watches{resource="configmaps"}"#;
                assert_eq!(sample(&metrics, failing), 1, "{way}");
                switch.store(false, Ordering::SeqCst);
                until("a reconcile", || seen.count("later") > 0).await;
                assert_eq!(sample(&metrics, failing), 0, "{way}");
            };
            (manager, test)
        });

        assert_eq!(outcome, Ok(()), "{way}");
        // Between two thirds of the longest pause and the whole of it.
        assert!((5_000..9_000).contains(&seconds), "{way}: {seconds} s");
        let failed = with_message(&lines, "a watch failed and will be retried").len();
        assert!((50..=150).contains(&failed), "{way}: {failed} lines");
        assert!(
            !with_message(&lines, "the watch works again").is_empty(),
            "{way}"
        );
    }
}

#[test]
fn events_that_nobody_answers_are_dropped_and_delay_no_reconcile() {
    let (outcome, lines) = run_during(|| {
        let server = Server::new(|method, path, query| match path.ends_with("/events") {
            true => Answer::Nothing,
            false => usual(method, path, query, |_| {
                vec![object("a", 1), object("b", 2)]
            }),
        });
        let (mut manager, seen) = (server.manager(), Seen::default());
        let (noted, controller) = (seen.clone(), Controller::new(manager.all::<ConfigMap>()));
        manager.add("a", controller, move |map: Handle<ConfigMap>| {
            noted.note(map.name_any());
            map.event(EventType::Normal, "Seen", "it was seen");
            async { Ok::<_, Infallible>(Action::requeue(Duration::from_millis(1))) }
        });
        let metrics = manager.metrics().clone();
        let test = async move {
            let start = Instant::now();
            until("reconciles", || {
                ["a", "b"].iter().all(|name| seen.count(name) >= 100)
            })
            .await;
            assert!(start.elapsed() < PATIENCE / 2);
            until("an event", || {
                sample(&metrics, "kbr_dropped_events_total") > 1
            })
            .await;
        };
        (manager, test)
    });

    assert_eq!(outcome, Ok(()));
    let dropped = "event not published; the next ones are logged at the level debug";
    assert_eq!(line(&lines, dropped)["error"], "no answer within 5s");
}

/// What a reconcile applies, and the beginning of its error.
#[derive(Clone, Copy, Debug)]
enum Child {
    Elsewhere,
    InNoNamespace,
    Undeclared,
}

#[test]
fn a_child_that_cannot_be_owned_is_an_error_of_its_reconcile_and_is_not_sent() {
    for (child, expected) in [
        (
            Child::Elsewhere,
            "configmaps `there/child` is not in the namespace of this Secret",
        ),
        (
            Child::InNoNamespace,
            "namespaces `child` is not in the namespace of this Secret",
        ),
        (
            Child::Undeclared,
            "the controller does not own `k8s_openapi::",
        ),
    ] {
        let (outcome, lines) = run_during(|| {
            let server = Server::of(|plural| match plural {
                "secrets" => vec![object("a", 1), object("other", 2)],
                _ => Vec::new(),
            });
            let (mut manager, seen) = (server.manager(), Seen::default());
            let controller = Controller::new(manager.all::<Secret>())
                .owns(manager.all::<ConfigMap>())
                .owns(manager.all::<Namespace>());
            let noted = seen.clone();
            let reconcile = move |secret: Handle<Secret>| {
                let noted = noted.clone();
                async move {
                    noted.note(secret.name_any());
                    if secret.name_any() != "a" {
                        return Ok(Action::await_change());
                    }
                    let mut metadata = kube::api::ObjectMeta {
                        name: Some("child".to_owned()),
                        ..kube::api::ObjectMeta::default()
                    };
                    match child {
                        Child::Elsewhere => {
                            metadata.namespace = Some("there".to_owned());
                            let map = ConfigMap {
                                metadata,
                                ..ConfigMap::default()
                            };
                            secret.apply(&map).await.map(|_| ())?;
                        }
                        Child::InNoNamespace => {
                            let namespace = Namespace {
                                metadata,
                                ..Namespace::default()
                            };
                            secret.apply(&namespace).await.map(|_| ())?;
                        }
                        Child::Undeclared => {
                            let pod = Pod {
                                metadata,
                                ..Pod::default()
                            };
                            secret.apply(&pod).await.map(|_| ())?;
                        }
                    }
                    Ok::<_, crate::OwnedError>(Action::await_change())
                }
            };
            let once = |_: &Secret, _: &crate::OwnedError| Some(Action::await_change());
            manager.add_with_error_policy("a", controller, reconcile, once);
            let metrics = manager.metrics().clone();
            let errors = r#"controller_runtime_reconcile_errors_total{controller="a"}"#;
            let test = async move {
                until("an error", || sample(&metrics, errors) > 0).await;
                until("another reconcile", || seen.count("other") > 0).await;
                assert_eq!(sample(&metrics, errors), 1);
                assert_eq!(server.requests_of(&Method::PATCH), 0, "{child:?}");
            };
            (manager, test)
        });

        assert_eq!(outcome, Ok(()));
        let failed = line(
            &lines,
            "reconcile failed: not retried until the object changes",
        );
        let error = failed["error"].as_str().unwrap();
        assert!(error.starts_with(expected), "{error}");
    }
}

/// An address at which nobody listens.
fn free() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

/// Serves over connections, with a Lease. Also returns how often that was written.
fn serve(server: Server) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, lease) = (
        listener.local_addr().unwrap(),
        Arc::<Mutex<Option<Value>>>::default(),
    );
    let renewals = Arc::<AtomicUsize>::default();
    let counted = renewals.clone();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (server, lease, counted) = (server.clone(), lease.clone(), counted.clone());
            thread::spawn(move || {
                let _ = talk(stream?, &server, |method, query, body| {
                    let missing = json!({ "kind": "Status", "code": 404, "reason": "NotFound" });
                    match (method, &mut *lock(&lease)) {
                        _ if query.contains("watch=true") => Answer::Watch(Vec::new(), false),
                        (&Method::GET, Some(lease)) => Answer::Object(200, lease.clone()),
                        (&Method::GET, None) => Answer::Object(404, missing),
                        _ if query.contains("dryRun") => Answer::Object(200, body),
                        (_, lease) => {
                            let version = counted.fetch_add(1, Ordering::SeqCst) + 1;
                            let stored = lease.insert(body);
                            stored["metadata"]["resourceVersion"] = json!(version.to_string());
                            Answer::Object(200, stored.clone())
                        }
                    }
                });
                std::io::Result::Ok(())
            });
        }
    });
    (address, renewals)
}

fn talk(
    mut stream: TcpStream,
    server: &Server,
    lease: impl Fn(&Method, &str, Value) -> Answer,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let (mut request, mut header, mut length) = (String::new(), String::new(), 0);
        if reader.read_line(&mut request)? == 0 {
            return Ok(());
        }
        while header != "\r\n" {
            header.clear();
            reader.read_line(&mut header)?;
            let value = header.to_lowercase();
            let value = value.strip_prefix("content-length:");
            length = value.map_or(length, |value| value.trim().parse().unwrap());
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let body = serde_json::from_slice(&body).unwrap_or_default();
        let mut words = request.split(' ');
        let method: Method = words.next().unwrap().parse().unwrap();
        let (path, query) = words
            .next()
            .map(|uri| uri.split_once('?').unwrap_or((uri, "")))
            .unwrap();
        let answer = match path.contains("/leases") {
            true => lease(&method, query, body),
            false => (server.answer)(&method, path, query),
        };
        let head = "content-type: application/json\r\n";
        match answer {
            Answer::Object(code, object) => {
                let object = object.to_string();
                let length = object.len();
                write!(
                    stream,
                    "HTTP/1.1 {code} X\r\n{head}content-length: {length}\r\n\r\n{object}"
                )?;
            }
            // It stays open.
            Answer::Watch(..) => {
                write!(
                    stream,
                    "HTTP/1.1 200 OK\r\n{head}transfer-encoding: chunked\r\n\r\n"
                )?;
            }
            Answer::Nothing => {}
        }
    }
}

fn is_healthy(probes: SocketAddr) -> bool {
    let answer = || -> std::io::Result<String> {
        let (mut stream, mut answer) = (TcpStream::connect(probes)?, String::new());
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        write!(
            stream,
            "GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"
        )?;
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    answer().is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
}

/// A pod with one CPU has one thread for everything but reconciles, probes and the election.
fn with_one_thread() -> tokio::runtime::Runtime {
    let logger = tracing::dispatcher::get_default(Clone::clone);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        // What it logs belongs to this test.
        .on_thread_start(move || std::mem::forget(tracing::dispatcher::set_default(&logger)))
        .build();
    runtime.unwrap()
}

/// Lets the function block in a manager on one thread until everything else has gone on.
fn block(function: &'static str) {
    let server = Server::of(|plural| match plural {
        "configmaps" => vec![object("bad", 1)],
        "pods" => vec![object("pod", 2)],
        _ => Vec::new(),
    });
    let ((address, renewals), probes, seen) = (serve(server), free(), Seen::default());
    let flags = Flags {
        health_probe_bind_address: probes.to_string().parse().unwrap(),
        leader_elect: true,
        leader_election_id: Some("test".to_owned()),
        leader_election_namespace: Some("default".to_owned()),
        leader_elect_retry_period: Duration::from_millis(100),
        ..Flags::default()
    };
    let (begun, (end, ended)) = (AtomicBool::new(false), channel::<()>());
    let (begun, ended) = (Arc::new(begun), Mutex::new(ended));
    let begins = begun.clone();
    let deed: Deed = Arc::new(move |_| {
        begins.store(true, Ordering::SeqCst);
        let _ = lock(&ended).recv_timeout(PATIENCE);
    });
    let (mut outcome, went_on, before) = (Ok(()), AtomicBool::new(false), SLOW.get());
    let lines = logged("off,kbr_runtime=info".into(), || {
        let runtime = with_one_thread();
        let _entered = runtime.enter();
        let config = Config::new(format!("http://{address}").parse().unwrap());
        let mut manager = Manager::with_config(flags, config).unwrap();
        add_function(&mut manager, function, deed, &seen);
        let (noted, controller) = (seen.clone(), Controller::new(manager.all::<Pod>()));
        manager.add("b", controller, move |pod: Handle<Pod>| {
            let noted = noted.clone();
            async move {
                pod.api::<Pod>().get("pod").await?;
                noted.note(pod.name_any());
                Ok::<_, kube::Error>(Action::requeue(Duration::from_millis(10)))
            }
        });
        let stop = manager.stop_token();
        thread::scope(|scope| {
            scope.spawn(|| {
                let wait = |is: &dyn Fn() -> bool| {
                    let start = Instant::now();
                    while !is() && start.elapsed() < PATIENCE / 3 {
                        thread::sleep(Duration::from_millis(20));
                    }
                    is()
                };
                let is_blocked = wait(&|| begun.load(Ordering::SeqCst));
                let counts = || (renewals.load(Ordering::SeqCst), seen.count("pod"));
                let (renewed, reconciled) = counts();
                thread::sleep(Duration::from_secs(1));
                let goes_on = wait(&|| {
                    let (now_renewed, now_reconciled) = counts();
                    now_renewed > renewed + 3
                        && now_reconciled > reconciled + 10
                        && is_healthy(probes)
                });
                went_on.store(
                    is_blocked && goes_on && seen.count("bad") == 0,
                    Ordering::SeqCst,
                );
                drop(end);
                wait(&|| seen.count("bad") > 0);
                stop.cancel();
            });
            outcome = runtime.block_on(manager.run_until_stopped());
        });
    });

    assert!(outcome.is_ok(), "{function}: {outcome:?}");
    assert!(
        went_on.into_inner(),
        "{function} holds everything: {lines:?}"
    );
    assert!(
        seen.count("bad") > 0,
        "{function}: it is reconciled afterwards"
    );
    let slow = line(
        &lines,
        &format!("{function} is slow, and the changes after it wait"),
    );
    assert_eq!(slow["object"], "default/bad");
    assert!(SLOW.get() > before);
}

#[test]
fn a_function_that_blocks_is_named_and_holds_neither_the_lease_nor_probes_nor_another_controller() {
    thread::scope(|all| {
        for (function, _) in FUNCTIONS {
            all.spawn(move || block(function));
        }
    });
}
