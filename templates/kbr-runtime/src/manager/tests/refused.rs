// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Parts that cannot work together are refused before anything starts.

use k8s_openapi::api::core::v1::Secret;

use super::*;

async fn reconcile<K: Cached>(_: Handle<K>) -> Result<Action, Infallible> {
    Ok(Action::await_change())
}

/// How a manager ends to which `add` adds something, after it was told to stop.
async fn ended(add: impl FnOnce(&mut Manager)) -> Result<(), String> {
    let mut manager = manager();
    add(&mut manager);
    manager.stop_token().cancel();
    run(&mut manager).await.map_err(|error| error.to_string())
}

async fn refused(add: impl FnOnce(&mut Manager)) -> String {
    let error = ended(add).await.unwrap_err();
    let reason = error.strip_prefix("what was added to the manager cannot work: ");
    reason.unwrap_or(&error).to_owned()
}

#[tokio::test]
async fn two_controllers_of_one_name() {
    let error = refused(|manager| {
        let cache = manager.all::<ConfigMap>();
        manager.add("a", Controller::new(cache.clone()), reconcile);
        manager.add("a", Controller::new(cache), reconcile);
    });
    assert_eq!(
        error.await,
        "two controllers have the name `a`, one of configmaps and one of configmaps, but metrics, logs and \
         `managedFields` know them by it: give one another name"
    );
    let error = refused(|manager| {
        let (maps, secrets) = (manager.all::<ConfigMap>(), manager.all::<Secret>());
        manager.add("a", Controller::new(maps), reconcile);
        manager.add("a", Controller::new(secrets), reconcile);
    });
    assert_eq!(
        error.await,
        "two controllers have the name `a`, one of configmaps and one of secrets, but metrics, logs and \
         `managedFields` know them by it: give one another name"
    );
    // Two selections of one kind, and all namespaces beside one.
    for selection in [None, Some("x")] {
        let error = refused(|manager| {
            let labels = watcher::Config::default().labels("a=b");
            let (some, all) = (manager.cache::<ConfigMap>(selection, labels), manager.all());
            manager.add("a", Controller::new(some), reconcile);
            manager.add("a", Controller::<ConfigMap>::new(all), reconcile);
        });
        assert!(error.await.starts_with("two controllers have the name `a`"));
    }

    // One name for each namespace is how an operator of some namespaces does it.
    let each = ended(|manager| {
        for namespace in ["a", "b"] {
            let controller = Controller::new(manager.namespaced::<ConfigMap>(namespace));
            manager.add("a", controller, reconcile);
        }
    });
    assert_eq!(each.await, Ok(()));
}

/// Each way in which a controller or a webhook gets a cache.
#[tokio::test]
async fn a_cache_of_another_manager() {
    let mut other = manager();
    let (theirs, secrets) = (other.all::<ConfigMap>(), other.all::<Secret>());
    let metadata = other.metadata::<Secret>();
    type Mine = Controller<ConfigMap>;
    let uses: [(&str, &dyn Fn(Mine) -> Mine); 5] = [
        ("configmaps", &|_| Controller::new(theirs.clone())),
        ("secrets", &|mine| mine.owns(secrets.clone())),
        ("secrets", &|mine| mine.reads(secrets.clone())),
        ("secrets", &|mine| {
            mine.watches(secrets.clone(), |_| Vec::new())
        }),
        ("secrets", &|mine| {
            mine.references(metadata.clone(), |_| Vec::new())
        }),
    ];
    for (resource, uses) in uses {
        let error = refused(|manager| {
            let mine = Controller::new(manager.all::<ConfigMap>());
            manager.add("a", uses(mine), reconcile);
        });
        assert_eq!(
            error.await,
            format!(
                "the controller `a` has a cache of {resource} from another manager, which does not fill it here: get the \
                 cache from the manager that runs it, such as with `Manager::all`"
            )
        );
    }
    let error = refused(|manager| {
        manager.webhooks().mutate("/mutate", Nothing);
        manager.webhooks().reads("/mutate", &theirs);
    });
    assert!(
        error
            .await
            .starts_with("the webhook at `/mutate` has a cache of configmaps from another manager")
    );
}

#[tokio::test]
async fn what_a_cache_cannot_do_twice() {
    let indexes = refused(|manager| {
        let cache = manager.all::<ConfigMap>();
        cache.index("a", |_| Vec::new());
        cache.index("a", |_| Vec::new());
    });
    assert_eq!(
        indexes.await,
        "a cache of configmaps has two indexes with the name `a`"
    );
    let slims = refused(|manager| {
        let cache = manager.all::<ConfigMap>();
        cache.slim(|_| {});
        cache.slim(|_| {});
    });
    assert_eq!(
        slims.await,
        "a cache of configmaps is slimmed by two functions"
    );
}

#[tokio::test]
async fn a_field_manager_that_is_too_long() {
    let name = |letter: &str| &*Box::leak(letter.repeat(61).into_boxed_str());
    let error = refused(|manager| {
        manager.set_operator(name("o"));
        let cache = manager.all::<ConfigMap>();
        // Without the suffix it fits.
        let controller = Controller::new(cache).pausable("example.com/paused");
        manager.add(name("c"), controller, reconcile);
    });
    let expected = "-pause` has 129 bytes, of which Kubernetes accepts 128: \
                    give the operator or the controller a shorter name";
    let error = error.await;
    assert!(error.ends_with(expected), "{error}");
}
