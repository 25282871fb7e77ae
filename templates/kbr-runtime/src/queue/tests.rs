// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
use futures::FutureExt;

impl Queue {
    /// Asks for a reconcile, whatever the cause.
    pub(crate) fn add(&self, object: &Arc<Key>, trigger: Trigger) {
        self.add_for(object, trigger, &Arc::new(Cause::Stream));
    }

    /// As if there had been work for that time, and none had finished.
    pub(crate) fn has_waited(&self, time: Duration) {
        let then = Instant::now().checked_sub(time);
        let then = then.unwrap_or_else(Instant::now);
        let mut state = self.lock();
        let object = Arc::new(Key::of_meta(&kube::api::ObjectMeta::default()));
        state.add(&object, Trigger::Change, then);
        state.timeout = Duration::ZERO;
        drop(state);
        self.has_finished_before(time);
    }

    /// As if the last reconcile had ended this long ago.
    pub(crate) fn has_finished_before(&self, time: Duration) {
        let then = Instant::now().checked_sub(time);
        self.lock().last_finished = Some(then.unwrap_or_else(Instant::now));
    }
}

fn key(name: &str) -> Arc<Key> {
    Arc::new(Key::new(None, name.to_owned()))
}

fn queue() -> Queue {
    let queue = Queue::new(Counts::unread());
    queue.configure(HOUR, Duration::ZERO);
    queue.open();
    queue
}

/// The object whose turn it is now, if any.
fn next(queue: &Queue) -> Option<Running> {
    queue.next().now_or_never()
}

/// Runs the reconcile of one object, and returns its name.
fn reconcile(queue: &Queue) -> Option<String> {
    next(queue).map(|running| running.object().to_string())
}

fn reconcile_all(queue: &Queue) -> Vec<String> {
    std::iter::from_fn(|| reconcile(queue)).collect()
}

const HOUR: Duration = Duration::from_secs(3600);

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn a_new_object_waits_for_no_listed_one() {
    let queue = queue();
    for number in 0..1000 {
        queue.add(&key(&format!("old-{number}")), Trigger::List);
    }
    assert_eq!(reconcile(&queue).unwrap(), "old-0");

    queue.add(&key("new"), Trigger::Change);

    assert_eq!(reconcile(&queue).unwrap(), "new");
    assert_eq!(reconcile_all(&queue).len(), 999);
}

#[tokio::test(start_paused = true)]
async fn old_objects_get_every_fourth_turn_while_others_keep_changing() {
    let queue = queue();
    for number in 0..1000 {
        queue.add(&key(&format!("old-{number}")), Trigger::List);
    }
    let mut old = 0;
    for turn in 0..4000 {
        // Two changes for each turn.
        queue.add(&key(&format!("change-{turn}a")), Trigger::Change);
        queue.add(&key(&format!("change-{turn}b")), Trigger::Change);
        old += usize::from(reconcile(&queue).unwrap().starts_with("old"));
    }
    assert_eq!(old, 1000);
}

#[tokio::test(start_paused = true)]
async fn an_object_waits_only_once_and_moves_up_when_it_changes() {
    let queue = queue();
    for name in ["a", "b", "c", "a"] {
        queue.add(&key(name), Trigger::List);
    }
    queue.add(&key("c"), Trigger::Change);
    queue.add(&key("c"), Trigger::List);
    queue.add(&key("c"), Trigger::Change);

    assert_eq!(reconcile_all(&queue), ["c", "a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_change_during_the_reconcile_is_another_turn_and_delays_no_other_object() {
    let queue = queue();
    queue.add(&key("a"), Trigger::Change);
    let a = next(&queue).unwrap();
    queue.add(&key("a"), Trigger::Change);
    queue.add(&key("b"), Trigger::Change);
    assert_eq!(reconcile_all(&queue), ["b"]);

    drop(a);

    assert_eq!(reconcile_all(&queue), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn an_object_is_due_after_its_delay_unless_something_asks_for_it_before() {
    let queue = queue();
    let again = |name: &str, delay| {
        queue.add(&key(name), Trigger::Change);
        let mut running = next(&queue).unwrap();
        running.due_in(Some(delay));
    };
    again("a", SECOND);
    again("b", SECOND * 2);
    again("c", Duration::MAX);
    assert_eq!(reconcile_all(&queue), Vec::<String>::new());
    queue.add(&key("b"), Trigger::Change);
    assert_eq!(reconcile_all(&queue), ["b"]);

    let start = Instant::now();
    assert_eq!(queue.next().await.object().to_string(), "a");
    assert!(start.elapsed() >= SECOND && start.elapsed() < SECOND * 2);

    // The reconcile of `b` asked for no other.
    let all = tokio::time::timeout(HOUR, queue.next());
    assert!(all.await.is_err());
}

/// More is due than can be reconciled, as in a cluster that has grown: 400 objects that take 50 ms each and are
/// due each second.
#[tokio::test(start_paused = true)]
async fn what_is_due_and_what_changes_do_not_starve_each_other() {
    let queue = queue();
    for number in 0..400 {
        queue.add(&key(&number.to_string()), Trigger::Change);
    }
    let (mut changed, mut waited) = (Instant::now(), Vec::new());
    let mut turns: HashMap<String, u32> = HashMap::new();
    for turn in 0..4000 {
        if turn % 500 == 0 {
            changed = Instant::now();
            queue.add(&key("changed"), Trigger::Change);
        }
        let mut running = queue.next().await;
        let name = running.object().to_string();
        if name == "changed" {
            waited.push(changed.elapsed());
        } else {
            *turns.entry(name).or_default() += 1;
            running.due_in(Some(SECOND));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }

    // One round of all others.
    let longest = waited.iter().max().unwrap();
    assert!(*longest <= Duration::from_millis(401 * 50), "{longest:?}");
    assert_eq!(waited.len(), 8);
    let (fewest, most) = (turns.values().min(), turns.values().max());
    assert!(*fewest.unwrap() >= 9 && *most.unwrap() <= 11, "{turns:?}");
    // They are due, and the depth says so.
    assert!(queue.backlog().waiting > 300, "{:?}", queue.backlog());
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_knows_what_asked_for_it() {
    let queue = queue();
    let (object, ask) = (key("a"), |name: &str, trigger| {
        let cause = Cause::Object("pods".to_owned(), key(name), trigger);
        queue.add_for(&key("a"), trigger, &Arc::new(cause));
    });

    // A change counts more than a list, and then the first one counts.
    ask("listed", Trigger::List);
    ask("changed", Trigger::Change);
    ask("later", Trigger::Change);
    ask("listed", Trigger::List);
    let mut running = next(&queue).unwrap();
    assert_eq!(queue.trigger(&object), "pods changed has changed");

    // What asks meanwhile is why the next one runs.
    ask("listed", Trigger::List);
    assert_eq!(queue.trigger(&object), "pods changed has changed");
    running.due_in(Some(SECOND));
    drop(running);
    let mut running = next(&queue).unwrap();
    assert_eq!(queue.trigger(&object), "pods listed was listed");

    running.due_in(Some(SECOND));
    drop(running);
    let _running = queue.next().await;
    assert_eq!(queue.trigger(&object), "it was due");

    // What a deleted object waited for is forgotten.
    ask("changed", Trigger::Change);
    queue.forget(&object);
    queue.add(&object, Trigger::List);
    drop(_running);
    let _running = next(&queue).unwrap();
    assert_eq!(queue.trigger(&object), "a stream asked for it");
}

#[tokio::test(start_paused = true)]
async fn a_quiet_time_begins_again_with_each_change() {
    let queue = queue();
    queue.configure(HOUR, SECOND * 10);
    for _ in 0..5 {
        queue.add(&key("a"), Trigger::Change);
        tokio::time::sleep(SECOND * 9).await;
        assert_eq!(reconcile_all(&queue), Vec::<String>::new());
    }
    tokio::time::sleep(SECOND * 2).await;
    assert_eq!(reconcile_all(&queue), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn a_deleted_object_waits_for_nothing() {
    let queue = queue();
    for name in ["a", "b"] {
        queue.add(&key(name), Trigger::Change);
    }
    let mut a = next(&queue).unwrap();
    queue.add(&key("a"), Trigger::Change);
    queue.forget(&key("a"));
    queue.forget(&key("b"));
    queue.forget(&key("c"));
    assert_eq!(queue.backlog().waiting, 0);
    a.due_in(None);
    drop(a);
    assert_eq!(reconcile_all(&queue), Vec::<String>::new());
    assert!(queue.lock().objects.is_empty());

    queue.add(&key("b"), Trigger::List);
    assert_eq!(reconcile_all(&queue), ["b"]);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_reconcile_and_a_new_object_wake_who_waits() {
    let queue = queue();
    queue.add(&key("a"), Trigger::Change);
    let a = next(&queue).unwrap();
    queue.add(&key("a"), Trigger::Change);
    let waiting = queue.clone();
    let all = tokio::spawn(async move {
        let first = waiting.next().await.object().to_string();
        [first, waiting.next().await.object().to_string()]
    });
    tokio::task::yield_now().await;

    drop(a);
    tokio::task::yield_now().await;
    queue.add(&key("b"), Trigger::List);

    let all = tokio::time::timeout(SECOND, all);
    assert_eq!(all.await.unwrap().unwrap(), ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn the_backlog_is_what_waits_and_what_runs() {
    let queue = queue();
    assert_eq!(queue.backlog(), Backlog::default());
    for name in ["a", "b", "b", "c"] {
        queue.add(&key(name), Trigger::Change);
    }
    let a = next(&queue).unwrap();
    assert_eq!(queue.backlog().waiting, 2);
    tokio::time::sleep(HOUR).await;

    let backlog = queue.backlog();
    assert_eq!((backlog.waiting, backlog.running), (2, 1));
    assert!(backlog.longest >= HOUR && backlog.unfinished >= backlog.longest);
    assert!(queue.stuck_for().unwrap() >= HOUR);

    drop(a);
    assert_eq!(reconcile_all(&queue), ["b", "c"]);
    assert_eq!(queue.backlog(), Backlog::default());
    assert_eq!(queue.stuck_for(), None);
}

/// A standby whose caches are filled has work that it does not do yet.
#[tokio::test(start_paused = true)]
async fn nothing_is_stuck_before_the_controller_begins() {
    let queue = Queue::new(Counts::unread());
    queue.add(&key("a"), Trigger::List);
    tokio::time::sleep(HOUR).await;
    assert_eq!(queue.stuck_for(), None);

    queue.open();
    tokio::time::sleep(SECOND).await;
    assert_eq!(queue.stuck_for(), Some(SECOND));
}
