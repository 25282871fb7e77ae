// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
use futures::{FutureExt, StreamExt, stream};

fn request(name: &str, trigger: Trigger) -> ReconcileRequest {
    ReconcileRequest {
        object: Arc::new(Key::new(None, name.to_owned())),
        trigger,
    }
}

fn key(name: &str) -> Arc<Key> {
    Arc::new(Key::new(None, name.to_owned()))
}

/// A queue, and the sender of its requests.
struct World {
    sender: futures::channel::mpsc::UnboundedSender<ReconcileRequest>,
    turns: Turns,
    queue: Queue,
}

impl World {
    fn new(limit: Option<u16>) -> Self {
        let (sender, requests) = futures::channel::mpsc::unbounded();
        let queue = Queue::new(Counts::unread());
        queue.configure(limit, HOUR);
        // No reconcile is faster.
        queue.lock().usual = SLOW;
        Self {
            sender,
            turns: queue.turns(requests.boxed()),
            queue,
        }
    }

    fn ask(&self, name: &str, trigger: Trigger) {
        self.sender.unbounded_send(request(name, trigger)).unwrap();
    }

    /// The object that kube is given now, if any.
    fn given(&mut self) -> Option<Arc<Key>> {
        self.turns.next().now_or_never().flatten()
    }

    /// Ends the reconcile of an object that began this long ago.
    fn ends(&self, object: &Arc<Key>, after: Duration) {
        let began = Instant::now().checked_sub(after).unwrap();
        self.queue.lock().running.insert(object.clone(), began);
        self.queue.finished(object);
    }

    /// Runs the reconcile of one object, and returns its name.
    fn reconcile(&mut self) -> Option<String> {
        let object = self.given()?;
        self.queue.started(&object);
        self.ends(&object, SLOW);
        Some(object.to_string())
    }

    fn reconcile_all(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.reconcile()).collect()
    }
}

const HOUR: Duration = Duration::from_secs(3600);

const SLOW: Duration = Duration::from_secs(1);

#[test]
fn a_new_object_only_waits_for_the_objects_that_kube_already_has() {
    let mut world = World::new(Some(1));
    for number in 0..1000 {
        world.ask(&format!("old-{number}"), Trigger::List);
    }
    assert_eq!(world.reconcile().unwrap(), "old-0");
    let (running, ahead) = (world.given().unwrap(), world.given().unwrap());
    world.queue.started(&running);

    world.ask("new", Trigger::Change);
    assert_eq!(world.given(), None);
    world.ends(&running, SLOW);
    world.queue.started(&ahead);

    assert_eq!(world.given(), Some(key("new")));
    world.ends(&ahead, SLOW);
    world.ends(&key("new"), SLOW);
    world.queue.lock().given.clear();
    assert_eq!(world.reconcile_all().len(), 997);
}

#[test]
fn old_objects_get_every_fourth_turn_while_others_keep_changing() {
    let mut world = World::new(Some(1));
    for number in 0..1000 {
        world.ask(&format!("old-{number}"), Trigger::List);
    }
    let mut old = 0;
    for turn in 0..4000 {
        // Two changes for each turn.
        world.ask(&format!("change-{turn}a"), Trigger::Change);
        world.ask(&format!("change-{turn}b"), Trigger::Change);
        old += usize::from(world.reconcile().unwrap().starts_with("old"));
    }
    assert_eq!(old, 1000);
}

#[test]
fn an_object_waits_only_once_and_moves_up_when_it_changes() {
    let mut world = World::new(Some(1));
    for name in ["a", "b", "c", "a"] {
        world.ask(name, Trigger::List);
    }
    world.ask("c", Trigger::Change);
    world.ask("c", Trigger::List);
    world.ask("c", Trigger::Change);

    assert_eq!(world.reconcile_all(), ["c", "a", "b"]);
}

#[test]
fn a_change_during_the_reconcile_is_another_turn_and_delays_no_other_object() {
    let mut world = World::new(Some(2));
    world.ask("a", Trigger::Change);
    let a = world.given().unwrap();
    // Whether or not kube has begun.
    world.ask("a", Trigger::Change);
    world.ask("b", Trigger::Change);
    assert_eq!(world.reconcile_all(), ["b"]);
    world.queue.started(&a);
    assert_eq!(world.given(), None);

    world.ends(&a, SLOW);

    assert_eq!(world.reconcile_all(), ["a"]);
}

#[test]
fn kube_has_one_object_more_than_it_runs() {
    let mut world = World::new(Some(2));
    for name in ["a", "b", "c", "d"] {
        world.ask(name, Trigger::Change);
    }
    // One that kube had delayed.
    world.queue.started(&key("e"));
    let a = world.given().unwrap();
    assert!(world.given().is_some());
    assert_eq!(world.given(), None);
    world.queue.started(&a);
    assert_eq!(world.given(), None);
    world.ends(&a, SLOW);
    assert!(world.given().is_some());
    // It had been deleted.
    world.queue.finished(&key("b"));
    assert!(world.given().is_some());

    let mut world = World::new(None);
    for name in ["a", "b", "a"] {
        world.ask(name, Trigger::List);
        assert!(world.given().is_some());
    }
}

#[test]
fn kube_gets_more_objects_in_advance_the_faster_they_are() {
    let ahead = |limit: u16, micros: u64| {
        let world = World::new(Some(limit));
        let mut state = world.queue.lock();
        state.usual = Duration::from_micros(micros);
        state.wanted(limit) - usize::from(limit)
    };
    assert_eq!(ahead(1, 1_000_000), 1);
    assert_eq!(ahead(1, 1000), 2);
    assert_eq!(ahead(4, 1000), 8);
    assert_eq!(ahead(1, 10), 16);
    assert_eq!(ahead(1, 0), 16);

    let world = World::new(Some(1));
    for number in 0..100 {
        world.ends(&key(&number.to_string()), Duration::from_micros(100));
    }
    let usual = world.queue.lock().usual;
    assert!((100..5000).contains(&usual.as_micros()), "{usual:?}");
}

#[tokio::test]
async fn the_end_of_a_reconcile_wakes_the_queue() {
    let World {
        sender,
        turns,
        queue,
    } = World::new(Some(1));
    for name in ["a", "b", "c"] {
        sender
            .unbounded_send(request(name, Trigger::Change))
            .unwrap();
    }
    drop(sender);
    let all = tokio::spawn(turns.map(|object| object.to_string()).collect::<Vec<_>>());
    tokio::task::yield_now().await;

    for name in ["a", "b", "c"] {
        queue.started(&key(name));
        queue.finished(&key(name));
    }

    let all = tokio::time::timeout(Duration::from_secs(10), all);
    assert_eq!(all.await.unwrap().unwrap(), ["a", "b", "c"]);
}

#[tokio::test]
async fn it_ends_when_no_request_can_follow_and_all_had_their_turn() {
    let queue = Queue::new(Counts::unread());
    let requests = stream::iter([request("a", Trigger::List)]).boxed();
    assert_eq!(queue.turns(requests).count().await, 1);
}

#[test]
fn the_backlog_is_what_waits_and_what_runs() {
    let mut world = World::new(Some(1));
    assert_eq!(world.queue.backlog(), Backlog::default());

    for name in ["a", "b", "b", "c"] {
        world.ask(name, Trigger::Change);
    }
    let (a, b) = (world.given().unwrap(), world.given().unwrap());
    assert_eq!(world.given(), None);
    assert_eq!(world.queue.backlog().waiting, 3);
    world.queue.started(&a);
    let long_ago = Instant::now().checked_sub(HOUR).unwrap();
    world.queue.lock().running.insert(a.clone(), long_ago);

    let backlog = world.queue.backlog();
    assert_eq!((backlog.waiting, backlog.running), (2, 1));
    assert!(backlog.longest >= HOUR && backlog.unfinished >= backlog.longest);

    world.queue.finished(&a);
    // It had been deleted.
    world.queue.finished(&b);
    assert_eq!(world.reconcile_all(), ["c"]);
    assert_eq!(world.queue.backlog(), Backlog::default());
    assert_eq!(world.queue.stuck_for(), None);
}
