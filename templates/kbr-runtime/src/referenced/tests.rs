// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};

/// A ConfigMap in the namespace `default` that refers to these.
fn object(name: &str, mentioned: &[&str]) -> ConfigMap {
    let mut object = ConfigMap::default();
    object.metadata.namespace = Some("default".to_owned());
    object.metadata.name = Some(name.to_owned());
    object.metadata.finalizers = Some(mentioned.iter().map(|&name| name.to_owned()).collect());
    object
}

fn secret(namespace: &str, name: &str) -> Secret {
    let mut secret = Secret::default();
    secret.metadata.namespace = Some(namespace.to_owned());
    secret.metadata.name = Some(name.to_owned());
    secret
}

fn mentions(object: &ConfigMap) -> Vec<ObjectRef<Secret>> {
    let names = object.metadata.finalizers.iter().flatten();
    names
        .map(|name| match name.split_once('/') {
            Some((namespace, name)) => ObjectRef::new(name).within(namespace),
            None => ObjectRef::new(name),
        })
        .collect()
}

#[derive(Default)]
struct World(References);

impl World {
    fn note(&self, event: Event<&ConfigMap>) {
        self.0.note(&event, mentions);
    }

    fn concerned(&self, event: &Event<Secret>) -> Vec<String> {
        let concerned = self.0.concerned(event).into_iter();
        let mut names: Vec<_> = concerned.map(|key| key.to_string()).collect();
        names.sort();
        names
    }

    /// The objects that a change of that Secret in `default` concerns.
    fn by(&self, name: &str) -> Vec<String> {
        let changed = self.concerned(&Event::Apply(secret("default", name)));
        let deleted = self.concerned(&Event::Delete(secret("default", name)));
        assert_eq!(changed, deleted);
        changed
    }

    fn is_empty(&self) -> bool {
        let index = self.0.lock();
        index.mentioned.is_empty() && index.by.is_empty() && index.listed.is_empty()
    }
}

#[test]
fn references_are_added_and_removed_with_the_object() {
    let world = World::default();
    world.note(Event::Apply(&object("a", &["x", "y", "x"])));
    world.note(Event::Apply(&object("b", &["y"])));
    assert_eq!(world.by("x"), ["default/a"]);
    assert_eq!(world.by("y"), ["default/a", "default/b"]);
    assert!(world.by("z").is_empty());

    world.note(Event::Apply(&object("a", &["z"])));
    assert!(world.by("x").is_empty());
    assert_eq!(world.by("y"), ["default/b"]);
    assert_eq!(world.by("z"), ["default/a"]);

    world.note(Event::Delete(&object("a", &["z"])));
    world.note(Event::Apply(&object("b", &[])));
    assert!(world.is_empty());
}

#[test]
fn the_same_name_in_another_namespace_is_another_object() {
    let world = World::default();
    world.note(Event::Apply(&object("here", &["x"])));
    world.note(Event::Apply(&object("there", &["other/x"])));

    assert_eq!(world.by("x"), ["default/here"]);
    let other = world.concerned(&Event::Apply(secret("other", "x")));
    assert_eq!(other, ["default/there"]);
}

#[test]
fn a_reference_to_a_cluster_scoped_object_has_no_namespace() {
    let references = References::default();
    let mention = |_: &ConfigMap| [ObjectRef::<Namespace>::new("x").within("ignored")];
    references.note(&Event::Apply(&object("a", &[])), mention);

    let mut namespace = Namespace::default();
    namespace.metadata.name = Some("x".to_owned());
    assert_eq!(references.concerned(&Event::Apply(namespace)).len(), 1);
}

#[test]
fn a_list_replaces_what_was_known_of_the_objects() {
    let world = World::default();
    world.note(Event::Apply(&object("gone", &["x"])));
    world.note(Event::Apply(&object("stays", &["x"])));
    world.note(Event::Init);
    world.note(Event::InitApply(&object("stays", &["y"])));
    world.note(Event::InitApply(&object("new", &["x"])));
    // Until the list has arrived, the old references count.
    assert_eq!(world.by("x"), ["default/gone", "default/new"]);

    world.note(Event::InitDone);

    assert_eq!(world.by("x"), ["default/new"]);
    assert_eq!(world.by("y"), ["default/stays"]);
}

#[test]
fn an_interrupted_list_is_ignored() {
    let world = World::default();
    world.note(Event::Init);
    world.note(Event::InitApply(&object("gone", &["x"])));
    world.note(Event::Init);
    world.note(Event::InitDone);

    assert!(world.is_empty());
}

#[test]
fn a_list_of_the_other_kind_concerns_all_objects_with_references() {
    let world = World::default();
    world.note(Event::Apply(&object("a", &["x"])));
    world.note(Event::Apply(&object("b", &["y"])));
    world.note(Event::Apply(&object("c", &[])));

    let listed = Event::InitApply(secret("default", "x"));
    assert!(world.concerned(&listed).is_empty());
    assert_eq!(
        world.concerned(&Event::InitDone),
        ["default/a", "default/b"]
    );
}
