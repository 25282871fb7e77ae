// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The order in which objects are reconciled.
//!
//! kube's own queue takes any of those that wait: one that is created while thousands of older ones are
//! gone through would wait for half of them. So an object waits here until kube has room for it. What
//! has changed goes before what a list has shown, but never more than three in a row: the list gets
//! every fourth turn, and so comes to its end however much changes. Within both, first come is first
//! served.
//!
//! What is reconciled again after a delay does not wait here: kube keeps the delays.

use std::collections::{HashMap, HashSet, VecDeque};
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures::Stream;
use futures::stream::BoxStream;

use crate::backoff::Key;

/// After so many changes it is the turn of a list.
const CHANGES_IN_A_ROW: u32 = 3;

/// An object that is to be reconciled.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) object: Arc<Key>,
    pub(crate) why: Why,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Why {
    /// It or something else has changed.
    Change,
    /// A list has shown it, and it may be as it was.
    List,
}

/// What is known of the objects of one controller. Clones share it.
#[derive(Clone)]
pub(crate) struct Turns(Arc<Mutex<State>>);

struct State {
    /// How many are reconciled at the same time, if that is limited.
    limit: Option<usize>,
    changes: VecDeque<Arc<Key>>,
    list: VecDeque<Arc<Key>>,
    /// What waits. Where something in the two queues is not the same here, it counts no more.
    waiting: HashMap<Arc<Key>, Why>,
    /// What kube was given and has not begun.
    given: HashSet<Key>,
    running: HashSet<Key>,
    changes_in_a_row: u32,
    waker: Option<Waker>,
}

impl Turns {
    /// For a controller that reconciles so many objects at the same time. Without a `limit` nothing
    /// waits here.
    pub(crate) fn new(limit: Option<usize>) -> Self {
        let state = State {
            limit,
            changes: VecDeque::new(),
            list: VecDeque::new(),
            waiting: HashMap::new(),
            given: HashSet::new(),
            running: HashSet::new(),
            changes_in_a_row: 0,
            waker: None,
        };
        Self(Arc::new(Mutex::new(state)))
    }

    /// The objects of `asked`, each when it is its turn.
    pub(crate) fn of(&self, asked: BoxStream<'static, Asked>) -> Queue {
        Queue {
            asked: Some(asked),
            turns: self.clone(),
        }
    }

    /// Notes that a reconcile has begun.
    pub(crate) fn started(&self, object: &Key) {
        let mut state = self.lock();
        state.given.remove(object);
        state.running.insert(object.clone());
    }

    /// Notes that a reconcile has ended, or that there is nothing to reconcile.
    pub(crate) fn finished(&self, object: &Key) {
        let mut state = self.lock();
        state.given.remove(object);
        state.running.remove(object);
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn ask(&mut self, Asked { object, why }: Asked) {
        match self.waiting.get(&object) {
            Some(Why::Change) => return,
            Some(Why::List) if why == Why::List => return,
            _ => {}
        }
        self.queue(why).push_back(object.clone());
        self.waiting.insert(object, why);
    }

    /// Whose turn it is.
    fn next(&mut self) -> Option<Arc<Key>> {
        let busy = self.given.len() + self.running.len();
        if self.limit.is_some_and(|limit| busy >= limit) {
            return None;
        }
        let order = if self.changes_in_a_row < CHANGES_IN_A_ROW {
            [Why::Change, Why::List]
        } else {
            [Why::List, Why::Change]
        };
        let (why, object) = order
            .into_iter()
            .find_map(|why| Some((why, self.take(why)?)))?;
        self.changes_in_a_row = match why {
            Why::Change => self.changes_in_a_row.saturating_add(1),
            Why::List => 0,
        };
        self.waiting.remove(&object);
        if self.limit.is_some() {
            self.given.insert((*object).clone());
        }
        Some(object)
    }

    /// The first of that queue that is not being reconciled. kube may have read an object that it was
    /// given already, so a change of that waits as well.
    fn take(&mut self, why: Why) -> Option<Arc<Key>> {
        let mut queue = mem::take(self.queue(why));
        let mut busy = Vec::new();
        let mut first = None;
        while let Some(object) = queue.pop_front() {
            if self.waiting.get(&object) != Some(&why) {
                continue;
            }
            if self.limit.is_some()
                && (self.given.contains(&*object) || self.running.contains(&*object))
            {
                busy.push(object);
                continue;
            }
            first = Some(object);
            break;
        }
        for object in busy.into_iter().rev() {
            queue.push_front(object);
        }
        *self.queue(why) = queue;
        first
    }

    fn queue(&mut self, why: Why) -> &mut VecDeque<Arc<Key>> {
        match why {
            Why::Change => &mut self.changes,
            Why::List => &mut self.list,
        }
    }
}

/// The objects of a controller in the order of their reconciles.
pub(crate) struct Queue {
    /// Until it has ended.
    asked: Option<BoxStream<'static, Asked>>,
    turns: Turns,
}

impl Stream for Queue {
    type Item = Arc<Key>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        while let Some(asked) = &mut self.asked {
            match asked.as_mut().poll_next(cx) {
                Poll::Ready(Some(asked)) => self.turns.lock().ask(asked),
                Poll::Ready(None) => self.asked = None,
                Poll::Pending => break,
            }
        }
        let mut state = self.turns.lock();
        if let Some(object) = state.next() {
            return Poll::Ready(Some(object));
        }
        if self.asked.is_none() && state.waiting.is_empty() {
            return Poll::Ready(None);
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

#[cfg(test)]
mod tests;
