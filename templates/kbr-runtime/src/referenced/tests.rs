// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
use k8s_openapi::api::core::v1::{Namespace, Secret};

fn key(name: &str) -> Arc<Key> {
    Arc::new(Key::new(Some("default".to_owned()), name.to_owned()))
}

#[derive(Default)]
struct World(References);

impl World {
    /// The object in `default` mentions these Secrets.
    fn set(&self, object: &str, mentioned: &[&str]) {
        let mentioned = mentioned.iter().map(|name| match name.split_once('/') {
            Some((namespace, name)) => ObjectRef::new(name).within(namespace),
            None => ObjectRef::new(name),
        });
        self.0.set::<Secret>(&key(object), mentioned);
    }

    /// The objects that a change of that Secret in `default` concerns.
    fn by(&self, name: &str) -> Vec<String> {
        let concerned = self.0.of(&key(name)).into_iter();
        concerned.map(|key| key.to_string()).collect()
    }

    fn is_empty(&self) -> bool {
        let index = lock(&self.0.0);
        index.mentioned.is_empty() && index.by.is_empty()
    }
}

#[test]
fn references_are_added_and_removed_with_the_object() {
    let world = World::default();
    world.set("a", &["x", "y", "x"]);
    world.set("b", &["y"]);
    assert_eq!(world.by("x"), ["default/a"]);
    assert_eq!(world.by("y"), ["default/a", "default/b"]);
    assert!(world.by("z").is_empty());

    world.set("a", &["z"]);
    assert!(world.by("x").is_empty());
    assert_eq!(world.by("y"), ["default/b"]);
    assert_eq!(world.by("z"), ["default/a"]);

    world.set("a", &[]);
    world.set("b", &[]);
    assert!(world.is_empty());
}

#[test]
fn the_same_name_in_another_namespace_is_another_object() {
    let world = World::default();
    world.set("here", &["x"]);
    world.set("there", &["other/x"]);

    assert_eq!(world.by("x"), ["default/here"]);
    let other = world
        .0
        .of(&Key::new(Some("other".to_owned()), "x".to_owned()));
    assert_eq!(other, BTreeSet::from([key("there")]));
}

#[test]
fn a_reference_to_a_cluster_scoped_object_has_no_namespace() {
    let references = References::default();
    let mention = ObjectRef::<Namespace>::new("x").within("ignored");
    references.set(&key("a"), [mention]);

    let of = references.of(&Key::new(None, "x".to_owned()));
    assert_eq!(of, BTreeSet::from([key("a")]));
}
