// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! JSON patches of what a defaulter changed.
//!
//! The API server's object may have fields that the type lacks, or fields written otherwise than
//! the type writes them. So what the type wrote before and after is compared, and only what differs
//! is patched, wherever the API server's object has it. All three stay text: only objects and
//! arrays on the way to a difference are taken apart.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Result;
use serde_json::value::RawValue;

type Fields<'a> = BTreeMap<String, &'a RawValue>;
type Items<'a> = Vec<&'a RawValue>;

/// The JSON patch that changes `raw` as `before` was changed into `after`; none for no change.
///
/// # Errors
///
/// When one of them is no JSON.
pub(super) fn patch(
    raw: &RawValue,
    before: &RawValue,
    after: &RawValue,
) -> Result<Option<Vec<u8>>> {
    let mut patch = Patch::default();
    patch.change(Some(raw), Some(before), Some(after))?;
    if patch.operations.is_empty() {
        return Ok(None);
    }
    serde_json::to_vec(&patch.operations).map(Some)
}

#[derive(Serialize)]
struct Operation<'a> {
    op: &'static str,
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'a RawValue>,
}

#[derive(Default)]
struct Patch<'a> {
    operations: Vec<Operation<'a>>,
    /// Pointer to what is being compared.
    path: String,
}

impl<'a> Patch<'a> {
    fn change(
        &mut self,
        raw: Option<&'a RawValue>,
        before: Option<&'a RawValue>,
        after: Option<&'a RawValue>,
    ) -> Result<()> {
        let text = |value: Option<&'a RawValue>| value.map(RawValue::get);
        if text(before) == text(after) || text(raw) == text(after) {
            return Ok(());
        }
        if let (Some(raw), Some(before), Some(after)) = (raw, before, after) {
            let all_start_with = |start| {
                [raw, before, after]
                    .iter()
                    .all(|v| v.get().starts_with(start))
            };
            if all_start_with('{') {
                return self.change_fields(&read(raw)?, &read(before)?, &read(after)?);
            }
            if all_start_with('[') {
                let [raw, before, after]: [Items<'a>; 3] =
                    [read(raw)?, read(before)?, read(after)?];
                // Else it is unknown which item of one is which of the other.
                if raw.len() == before.len() {
                    return self.change_items(&raw, &before, &after);
                }
            }
        }
        match (raw, after) {
            (Some(_), Some(_)) => self.push("replace", after),
            (None, Some(_)) => self.push("add", after),
            (Some(_), None) => self.push("remove", None),
            (None, None) => {}
        }
        Ok(())
    }

    fn change_fields(
        &mut self,
        raw: &Fields<'a>,
        before: &Fields<'a>,
        after: &Fields<'a>,
    ) -> Result<()> {
        let new = after.keys().filter(|key| !before.contains_key(*key));
        for key in before.keys().chain(new) {
            let [raw, before, after] = [raw, before, after].map(|fields| fields.get(key).copied());
            let escaped = key.replace('~', "~0").replace('/', "~1");
            self.at(&escaped, |patch| patch.change(raw, before, after))?;
        }
        Ok(())
    }

    /// Takes items at both ends that are the same for unchanged, and those between them for changed
    /// in place as far as there are both, then for removed or added.
    fn change_items(
        &mut self,
        raw: &[&'a RawValue],
        before: &[&'a RawValue],
        after: &[&'a RawValue],
    ) -> Result<()> {
        let same = |(a, b): &(&&RawValue, &&RawValue)| a.get() == b.get();
        let head = before.iter().zip(after).take_while(same).count();
        let tails = before[head..].iter().rev().zip(after[head..].iter().rev());
        let tail = tails.take_while(same).count();
        let (before_end, after_end) = (before.len() - tail, after.len() - tail);
        for index in head..before_end.min(after_end) {
            let (raw, before, after) = (raw[index], before[index], after[index]);
            self.at(&index.to_string(), |patch| {
                patch.change(Some(raw), Some(before), Some(after))
            })?;
        }
        for index in (after_end..before_end).rev() {
            self.at(&index.to_string(), |patch| patch.push("remove", None));
        }
        for (index, value) in after.iter().enumerate().take(after_end).skip(before_end) {
            self.at(&index.to_string(), |patch| patch.push("add", Some(value)));
        }
        Ok(())
    }

    /// Does `action` with one more step at the end of the path.
    fn at<T>(&mut self, step: &str, action: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        self.path.push('/');
        self.path.push_str(step);
        let output = action(self);
        self.path.truncate(length);
        output
    }

    fn push(&mut self, op: &'static str, value: Option<&'a RawValue>) {
        let path = self.path.clone();
        self.operations.push(Operation { op, path, value });
    }
}

fn read<'a, T: serde::Deserialize<'a>>(value: &'a RawValue) -> Result<T> {
    serde_json::from_str(value.get())
}

#[cfg(test)]
mod tests;
