// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! A bounded cache of answers that expire.

use std::collections::HashMap;
use std::time::Duration;

use ring::digest::{SHA256, digest};
use tokio::time::Instant;

/// The key of an answer. It reveals nothing about the question.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct Key([u8; 32]);

impl Key {
    pub(super) fn of(question: &[u8]) -> Self {
        let mut key = [0; 32];
        key.copy_from_slice(digest(&SHA256, question).as_ref());
        Self(key)
    }
}

pub(super) struct Cache<V> {
    most: usize,
    answers: HashMap<Key, (V, Instant)>,
}

impl<V: Clone> Cache<V> {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            answers: HashMap::new(),
        }
    }

    pub(super) fn get(&self, key: Key) -> Option<V> {
        let (answer, until) = self.answers.get(&key)?;
        (*until > Instant::now()).then(|| answer.clone())
    }

    /// If the cache is full, the answer that expires first is removed.
    pub(super) fn insert(&mut self, key: Key, answer: V, good_for: Duration) {
        if self.answers.len() >= self.most {
            let first = self.answers.iter().min_by_key(|(_, (_, until))| *until);
            if let Some(first) = first.map(|(key, _)| *key) {
                self.answers.remove(&first);
            }
        }
        let until = Instant::now() + good_for;
        self.answers.insert(key, (answer, until));
    }
}

#[cfg(test)]
mod tests;
