// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use std::convert::Infallible;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::api::{ApiResource, DynamicObject};
use kube::runtime::predicates;
use kube::runtime::watcher::Event;
use kube::{Client, ResourceExt};
use prometheus_client::metrics::counter::Counter;
use serde_json::json;
use tokio::runtime::Handle as Threads;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::api_server::ApiServer;
use crate::cache::tests::{empty, list, nowhere, received};
use crate::events::Events;
use crate::handle::tests::context;
use crate::metrics::{self, Counts};
use crate::{Action, Clock};

/// Reconciles run on this thread.
fn run_with(client: Client, queue: &Queue) -> Run {
    Run {
        operator: None,
        server: ApiServer::new(kube::Config::new("http://127.0.0.1:1".parse().unwrap())),
        client,
        clock: Clock::system(),
        events: Events::new(Counter::default()).0,
        series: metrics::Watches::default(),
        queue: queue.clone(),
        threads: Threads::current(),
        stop: CancellationToken::new(),
    }
}

/// A running controller of Secrets whose API server nobody sees.
struct World {
    secrets: Cache<Secret>,
    queue: Queue,
    _prepared: Prepared,
}

impl World {
    fn new(configure: impl FnOnce(Controller<Secret>) -> Controller<Secret>) -> Self {
        let secrets = empty::<Secret>();
        let queue = Queue::new(Counts::unread());
        let run = run_with(nowhere(), &queue);
        let reconcile = |_| async { Ok::<_, Infallible>(Action::await_change()) };
        let controller = configure(Controller::new(secrets.clone()));
        let prepared = controller.prepare("test", reconcile, Arc::new(|_, _| None), run);
        Self {
            secrets,
            queue,
            _prepared: prepared,
        }
    }

    /// The objects that are to be reconciled now.
    fn asked(&self) -> Vec<String> {
        use futures::FutureExt;
        let next = || self.queue.next().now_or_never();
        let asked = std::iter::from_fn(next).map(|running| running.object().to_string());
        let mut asked: Vec<_> = asked.collect();
        asked.sort();
        asked
    }
}

fn secret(name: &str, version: u32) -> Secret {
    let mut object = Secret::default();
    object.metadata.namespace = Some("default".to_owned());
    object.metadata.name = Some(name.to_owned());
    object.metadata.uid = Some(format!("{name}-uid"));
    object.metadata.resource_version = Some(version.to_string());
    object
}

/// A ConfigMap that the Secret owns, if one is named.
fn map(name: &str, version: u32, owner: Option<&str>) -> ConfigMap {
    let mut object = ConfigMap::default();
    object.metadata.namespace = Some("default".to_owned());
    object.metadata.name = Some(name.to_owned());
    object.metadata.uid = Some(format!("{name}-uid"));
    object.metadata.resource_version = Some(version.to_string());
    let owner = owner.map(|owner| secret(owner, 0).owner_ref(&()).unwrap());
    object.metadata.owner_references = owner.map(|owner| vec![owner]);
    object
}

#[tokio::test]
async fn changed_objects_and_the_owners_of_changed_objects_are_reconciled() {
    let maps = empty::<ConfigMap>();
    let world = World::new(|controller| controller.owns(maps.clone()));
    list(&world.secrets, &[secret("a", 1), secret("b", 2)]);
    assert_eq!(world.asked(), ["default/a", "default/b"]);

    list(&maps, &[map("m", 3, Some("a")), map("n", 4, None)]);
    assert_eq!(world.asked(), ["default/a"]);
    maps.take(Event::Apply(received(&map("m", 5, Some("b")))));
    assert_eq!(world.asked(), ["default/a", "default/b"]);
    // Deleted while the watch was cut.
    list(&maps, &[map("n", 4, None)]);
    assert_eq!(world.asked(), ["default/b"]);

    world.secrets.take(Event::Delete(received(&secret("a", 6))));
    assert_eq!(world.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn what_is_known_of_the_status_of_an_object_goes_with_it() {
    let mut replacing = secret("a", 5);
    replacing.metadata.uid = Some("another-uid".to_owned());
    for left in [vec![], vec![replacing]] {
        let secrets = empty::<Secret>();
        let (sender, mut handles) = tokio::sync::mpsc::unbounded_channel();
        let reconcile = move |handle| {
            let _ = sender.send(handle);
            async { Ok::<_, Infallible>(Action::await_change()) }
        };
        let (queue, policy) = (Queue::new(Counts::unread()), Arc::new(|_: &_, _: &_| None));
        let controller = Controller::new(secrets.clone());
        let prepared = controller.prepare("test", reconcile, policy, run_with(nowhere(), &queue));
        list(&secrets, &[secret("a", 1)]);
        let _running = tokio::spawn(prepared.work);
        let handle: crate::Handle<Secret> = handles.recv().await.unwrap();
        let known = || lock(&handle.context.statuses);
        known().noted.insert("a-uid".to_owned(), Default::default());

        list(&secrets, &left);

        assert!(known().noted.is_empty(), "{left:?}");
    }
}

/// Otherwise it would be in the queue twice, once with the namespace of a child.
#[test]
fn an_owner_without_a_namespace_has_one_name_in_the_queue() {
    let of_child = ObjectRef::<Namespace>::new("a").within("of the child");
    assert_eq!(named(&of_child).to_string(), "a");

    let object = ObjectRef::<ConfigMap>::new("a").within("b");
    assert_eq!(named(&object).to_string(), "b/a");
}

#[tokio::test]
async fn who_was_told_of_an_object_is_told_when_it_changes_and_when_it_goes() {
    let maps = empty::<ConfigMap>();
    let world = World::new(|controller| {
        controller.watches(maps.clone(), |map| {
            let name = map.labels().get("for").cloned();
            name.map(|name| ObjectRef::new(&name).within("default"))
        })
    });
    let labelled = |version, name: &str| {
        let mut map = map("m", version, None);
        map.labels_mut().insert("for".to_owned(), name.to_owned());
        map
    };
    list(&maps, &[labelled(1, "a")]);
    assert_eq!(world.asked(), ["default/a"]);
    maps.take(Event::Apply(received(&labelled(2, "b"))));
    assert_eq!(world.asked(), ["default/a", "default/b"]);
    list(&maps, &[]);
    assert_eq!(world.asked(), ["default/b"]);
    list(&maps, &[]);
    assert_eq!(world.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn the_object_that_a_pod_names_is_reconciled_and_finds_it() {
    let (pods, others) = (empty::<Pod>(), empty::<Pod>());
    let world = World::new(|controller| controller.pods(pods.clone(), "for"));
    let pod = |name: &str, namespace: &str, object: &str| {
        let mut pod = Pod::default();
        pod.metadata.name = Some(name.to_owned());
        pod.metadata.namespace = Some(namespace.to_owned());
        pod.labels_mut().insert("for".to_owned(), object.to_owned());
        pod
    };
    let one = pod("one", "default", "a");
    let mut unlabelled = pod("none", "default", "");
    unlabelled.metadata.labels = None;
    let two = pod("two", "default", "b");
    list(
        &pods,
        &[one.clone(), two, pod("three", "other", "a"), unlabelled],
    );
    assert_eq!(world.asked(), ["default/a", "default/b", "other/a"]);

    let mut context = context(world.secrets.clone(), nowhere());
    context.pods = vec![(pods.clone(), "secrets in for".to_owned())];
    let handle = crate::Handle::new(Arc::new(secret("a", 1)), Arc::new(context));
    assert_eq!(handle.pods().unwrap(), [Arc::new(one.clone())]);

    pods.take(Event::Delete(received(&one)));
    assert_eq!(world.asked(), ["default/a"]);
    assert!(handle.pods().unwrap().is_empty());

    // Another controller of the same cache has pods of its own.
    let _other = Controller::new(empty::<ConfigMap>()).pods(pods.clone(), "for-another");
    let mut both = pod("both", "default", "a");
    both.labels_mut()
        .insert("for-another".to_owned(), "b".to_owned());
    pods.take(Event::Apply(received(&both)));
    assert_eq!(handle.pods().unwrap().len(), 1);
    assert_eq!(pods.by("secrets in for", "default/a").unwrap().len(), 1);
    assert_eq!(
        pods.by("configmaps in for-another", "default/b")
            .unwrap()
            .len(),
        1
    );

    // An object without a namespace is found from any.
    let _controller = Controller::new(empty::<Namespace>()).pods(others.clone(), "for");
    list(&others, &[one]);
    assert_eq!(others.by("namespaces in for", "a").unwrap().len(), 1);
}

/// The answer to a write of the object that was deleted is late.
#[tokio::test]
async fn an_object_that_was_recreated_is_reconciled_whatever_answer_arrives() {
    let world = World::new(|controller| controller);
    list(&world.secrets, &[secret("a", 1)]);
    world.asked();
    world.secrets.take(Event::Delete(received(&secret("a", 3))));
    let mut again = secret("a", 4);
    again.metadata.uid = Some("another".to_owned());
    world.secrets.take(Event::Apply(received(&again)));

    world.secrets.insert(&secret("a", 2));

    assert_eq!(world.asked(), ["default/a"]);
}

/// Another change of the same object, without the object itself.
#[tokio::test]
async fn who_was_told_stays_known_whatever_answer_arrives() {
    let maps = empty::<ConfigMap>();
    let world = World::new(|controller| {
        controller.watches(maps.clone(), |_| [ObjectRef::new("a").within("default")])
    });
    list(&maps, &[]);
    let mut again = map("m", 4, None);
    again.metadata.uid = Some("another".to_owned());
    maps.take(Event::Apply(received(&again)));
    maps.insert(&map("m", 2, None));
    world.asked();

    list(&maps, &[]);

    assert_eq!(world.asked(), ["default/a"]);
}

#[tokio::test]
async fn a_change_of_what_is_referred_to_concerns_who_refers_to_it() {
    let maps = empty::<PartialObjectMeta<ConfigMap>>();
    let world = World::new(|controller| {
        controller.references(maps.clone(), |secret| {
            let name = secret.labels().get("uses").cloned();
            name.map(|name| ObjectRef::new(&name))
        })
    });
    let using = |name: &str, version, uses: &str| {
        let mut secret = secret(name, version);
        secret
            .labels_mut()
            .insert("uses".to_owned(), uses.to_owned());
        secret
    };
    let meta = |name: &str, version: u32| {
        let metadata = json!({"name": name, "namespace": "default", "uid": name, "resourceVersion": version.to_string()});
        crate::cache::Received::read(&json!({ "metadata": metadata }).to_string()).unwrap()
    };
    list(&world.secrets, &[using("a", 1, "m"), using("b", 2, "n")]);
    world.asked();
    maps.take(Event::Init);
    maps.take(Event::InitApply(meta("m", 3)));
    maps.take(Event::InitDone);
    assert_eq!(world.asked(), ["default/a"]);

    world
        .secrets
        .take(Event::Apply(received(&using("b", 4, "m"))));
    assert_eq!(world.asked(), ["default/b"]);
    maps.take(Event::Delete(meta("m", 5)));
    assert_eq!(world.asked(), ["default/a", "default/b"]);
    world
        .secrets
        .take(Event::Delete(received(&using("b", 6, "m"))));
    maps.take(Event::Apply(meta("m", 7)));
    assert_eq!(world.asked(), ["default/a"]);
}

#[tokio::test]
async fn an_object_whose_references_cannot_be_found_keeps_them() {
    let maps = empty::<PartialObjectMeta<ConfigMap>>();
    let world = World::new(|controller| {
        controller.references(maps.clone(), |secret| {
            assert!(secret.labels().is_empty(), "on purpose");
            [ObjectRef::new("m")]
        })
    });
    list(&world.secrets, &[secret("a", 1)]);
    let mut bad = secret("a", 2);
    bad.labels_mut().insert("a".to_owned(), "b".to_owned());
    world.secrets.take(Event::Apply(received(&bad)));
    world.asked();

    let metadata = json!({"name": "m", "namespace": "default", "uid": "m", "resourceVersion": "3"});
    let text = json!({ "metadata": metadata }).to_string();
    maps.take(Event::Apply(crate::cache::Received::read(&text).unwrap()));
    assert_eq!(world.asked(), ["default/a"]);
}

#[tokio::test]
async fn predicates_leave_out_changes_that_do_not_matter() {
    let world = World::new(|controller| controller.predicates(predicates::generation));
    let of = |name: &str, version, generation| {
        let mut secret = secret(name, version);
        secret.metadata.generation = Some(generation);
        secret
    };
    list(&world.secrets, &[of("a", 1, 1)]);
    assert_eq!(world.asked(), ["default/a"]);
    world.secrets.take(Event::Apply(received(&of("a", 2, 1))));
    assert_eq!(world.asked(), Vec::<String>::new());
    world.secrets.take(Event::Apply(received(&of("a", 3, 2))));
    assert_eq!(world.asked(), ["default/a"]);

    // Deleted and created again while the watch was cut.
    let mut again = of("a", 9, 2);
    again.metadata.uid = Some("another".to_owned());
    list(&world.secrets, &[again]);
    assert_eq!(world.asked(), ["default/a"]);
}

#[tokio::test]
async fn predicates_of_a_cache_leave_out_changes_of_what_is_owned() {
    let maps = empty::<ConfigMap>();
    let world = World::new(|controller| controller.owns(maps.predicates(predicates::labels)));
    list(&maps, &[map("m", 1, Some("a"))]);
    assert_eq!(world.asked(), ["default/a"]);
    maps.take(Event::Apply(received(&map("m", 2, Some("a")))));
    assert_eq!(world.asked(), Vec::<String>::new());
    let mut labelled = map("m", 3, Some("a"));
    labelled.labels_mut().insert("a".to_owned(), "b".to_owned());
    maps.take(Event::Apply(received(&labelled)));
    assert_eq!(world.asked(), ["default/a"]);
    // Who owns it decides who is concerned.
    let mut given = labelled.clone();
    given.metadata.resource_version = Some("4".to_owned());
    given.metadata.owner_references = map("m", 4, Some("b")).metadata.owner_references;
    maps.take(Event::Apply(received(&given)));
    assert_eq!(world.asked(), ["default/a", "default/b"]);
    list(&maps, &[]);
    assert_eq!(world.asked(), ["default/b"]);
}

#[tokio::test]
async fn the_hook_for_deletions_is_called_once_for_each_object_that_is_gone() {
    let gone = Arc::new(Mutex::new(Vec::new()));
    let told = gone.clone();
    let world = World::new(|controller| {
        controller
            .predicates(predicates::generation)
            .on_deleted(move |object| {
                assert_ne!(object.name, "bad", "a panic concerns nobody else");
                lock(&told).push(object.to_string());
            })
    });
    let all = ["a", "b", "bad", "c"].map(|name| secret(name, 1));
    list(&world.secrets, &all);
    world.secrets.take(Event::Delete(received(&secret("a", 2))));
    world.secrets.take(Event::Delete(received(&secret("a", 2))));
    // Deleted, or deleted and created again, while the watch was cut.
    let mut again = secret("b", 9);
    again.metadata.uid = Some("another".to_owned());
    list(&world.secrets, &[again, secret("c", 1)]);
    let names = lock(&gone).clone();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(names[0].starts_with("Secret.v1./a.default"), "{names:?}");
    assert!(names[1].starts_with("Secret.v1./b.default"), "{names:?}");
}

#[tokio::test]
async fn an_owner_of_a_kind_known_at_run_time_is_found_with_and_without_a_namespace() {
    let kind = ApiResource::erase::<Secret>(&());
    let (owners, maps) = (
        Cache::<DynamicObject>::new(None, kind.clone()),
        empty::<ConfigMap>(),
    );
    let queue = Queue::new(Counts::unread());
    let reconcile = |_| async { Ok::<_, Infallible>(Action::await_change()) };
    let controller = Controller::new(owners.clone()).owns(maps.clone());
    let run = run_with(nowhere(), &queue);
    let prepared = controller.prepare("test", reconcile, Arc::new(|_, _| None), run);
    let secrets = owners.clone();
    let world = World {
        secrets: empty(),
        queue,
        _prepared: prepared,
    };
    let owner = |name: &str, namespace: Option<&str>| {
        let mut object = DynamicObject::new(name, &kind);
        object.metadata.namespace = namespace.map(str::to_owned);
        object.metadata.uid = Some(format!("{name}-uid"));
        object
    };
    list(
        &secrets,
        &[owner("a", Some("default")), owner("wide", None)],
    );
    assert_eq!(world.asked(), ["default/a", "wide"]);

    let children = [map("m", 3, Some("a")), map("n", 4, Some("wide"))];
    list(&maps, &children);
    assert_eq!(world.asked(), ["default/a", "wide"]);
}

#[tokio::test]
async fn code_of_the_user_that_panics_concerns_one_object() {
    let (maps, others) = (
        empty::<ConfigMap>(),
        empty::<PartialObjectMeta<ConfigMap>>(),
    );
    let world = World::new(|controller| {
        controller
            .watches(maps.clone(), |map| {
                assert!(map.name_any() != "bad", "on purpose");
                [ObjectRef::new("a").within("default")]
            })
            .references(others, |secret| {
                assert!(secret.name_any() != "bad", "on purpose");
                [ObjectRef::new("m")]
            })
            .predicates(|secret: &Secret| {
                assert!(secret.name_any() != "bad", "on purpose");
                Some(1)
            })
    });

    list(&maps, &[map("bad", 1, None), map("good", 2, None)]);
    assert_eq!(world.asked(), ["default/a"]);
    list(&world.secrets, &[secret("bad", 3), secret("good", 4)]);
    assert_eq!(world.asked(), ["default/bad", "default/good"]);
    // As the guide says: of the mapper, the function that finds references, and the predicate.
    assert_eq!(world.queue.counts().panics.get(), 3);
}

mod model;
