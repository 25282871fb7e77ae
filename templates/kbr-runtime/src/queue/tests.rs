// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
use futures::{FutureExt, StreamExt, stream};

fn asked(name: &str, why: Why) -> Asked {
    Asked {
        object: Arc::new(Key::new(None, name.to_owned())),
        why,
    }
}

/// A queue, and what asks for objects to be in it.
struct World {
    sender: futures::channel::mpsc::UnboundedSender<Asked>,
    queue: Queue,
    turns: Turns,
}

impl World {
    fn new(limit: Option<usize>) -> Self {
        let (sender, asked) = futures::channel::mpsc::unbounded();
        let turns = Turns::new(limit);
        let queue = turns.of(asked.boxed());
        Self {
            sender,
            queue,
            turns,
        }
    }

    fn ask(&self, name: &str, why: Why) {
        self.sender.unbounded_send(asked(name, why)).unwrap();
    }

    /// What kube is given now, if anything.
    fn given(&mut self) -> Option<Arc<Key>> {
        self.queue.next().now_or_never().flatten()
    }

    /// Goes through the reconcile of one object, and says of which.
    fn reconcile(&mut self) -> Option<String> {
        let object = self.given()?;
        self.turns.started(&object);
        self.turns.finished(&object);
        Some(object.to_string())
    }

    fn reconcile_all(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.reconcile()).collect()
    }
}

#[test]
fn a_new_object_waits_for_one_of_a_thousand_old_ones() {
    let mut world = World::new(Some(1));
    for number in 0..1000 {
        world.ask(&format!("old-{number}"), Why::List);
    }
    assert_eq!(world.reconcile().unwrap(), "old-0");
    let running = world.given().unwrap();
    world.turns.started(&running);

    world.ask("new", Why::Change);
    assert_eq!(world.given(), None);
    world.turns.finished(&running);

    assert_eq!(world.reconcile().unwrap(), "new");
    assert_eq!(world.reconcile_all().len(), 998);
}

#[test]
fn old_objects_get_every_fourth_turn_while_others_change_without_end() {
    let mut world = World::new(Some(1));
    for number in 0..1000 {
        world.ask(&format!("old-{number}"), Why::List);
    }
    let mut old = 0;
    for turn in 0..4000 {
        // Two changes for each turn.
        world.ask(&format!("change-{turn}a"), Why::Change);
        world.ask(&format!("change-{turn}b"), Why::Change);
        old += usize::from(world.reconcile().unwrap().starts_with("old"));
    }
    assert_eq!(old, 1000);
}

#[test]
fn what_waits_is_there_once_and_comes_earlier_when_it_changes() {
    let mut world = World::new(Some(1));
    for name in ["a", "b", "c", "a"] {
        world.ask(name, Why::List);
    }
    world.ask("c", Why::Change);
    world.ask("c", Why::List);
    world.ask("c", Why::Change);

    assert_eq!(world.reconcile_all(), ["c", "a", "b"]);
}

#[test]
fn a_change_during_the_reconcile_is_another_turn_and_keeps_no_other_waiting() {
    let mut world = World::new(Some(2));
    world.ask("a", Why::Change);
    let a = world.given().unwrap();
    // Whether or not kube has begun.
    world.ask("a", Why::Change);
    world.ask("b", Why::Change);
    assert_eq!(world.reconcile_all(), ["b"]);
    world.turns.started(&a);
    assert_eq!(world.given(), None);

    world.turns.finished(&a);

    assert_eq!(world.reconcile_all(), ["a"]);
}

#[test]
fn no_more_are_given_than_are_reconciled_at_the_same_time() {
    let mut world = World::new(Some(2));
    for name in ["a", "b", "c"] {
        world.ask(name, Why::Change);
    }
    // One that kube had delayed.
    world.turns.started(&Key::new(None, "d".to_owned()));
    let a = world.given().unwrap();
    assert_eq!(world.given(), None);
    world.turns.started(&a);
    assert_eq!(world.given(), None);
    // It was gone.
    world.turns.finished(&a);
    assert!(world.given().is_some());

    let mut world = World::new(None);
    for name in ["a", "b", "a"] {
        world.ask(name, Why::List);
        assert!(world.given().is_some());
    }
}

#[tokio::test]
async fn the_end_of_a_reconcile_wakes_the_queue() {
    let World {
        sender,
        queue,
        turns,
    } = World::new(Some(1));
    sender.unbounded_send(asked("a", Why::Change)).unwrap();
    sender.unbounded_send(asked("b", Why::Change)).unwrap();
    drop(sender);
    let all = tokio::spawn(queue.map(|object| object.to_string()).collect::<Vec<_>>());
    tokio::task::yield_now().await;

    for name in ["a", "b"] {
        let key = Key::new(None, name.to_owned());
        turns.started(&key);
        turns.finished(&key);
    }

    let all = tokio::time::timeout(std::time::Duration::from_secs(10), all);
    assert_eq!(all.await.unwrap().unwrap(), ["a", "b"]);
}

#[tokio::test]
async fn it_ends_with_what_asks_when_all_had_their_turn() {
    let turns = Turns::new(None);
    let asked = stream::iter([asked("a", Why::List)]).boxed();
    assert_eq!(turns.of(asked).count().await, 1);
}
