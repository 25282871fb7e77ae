// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! JSON patches of the changes that a defaulter made.
//!
//! The API server's object may have fields that the type lacks, or fields written differently than the
//! type writes them. So the object as the type writes it before and after the change is compared, and
//! only the differences are patched, at their places in the API server's object. All three stay text:
//! only objects and arrays that contain a difference are parsed.
//!
//! A type may read its input in any way: a set sorts its items, an alias gives a field a second name.
//! If it is uncertain whether each part of the API server's object became the part at the same place in
//! what the type wrote, the patch is tested. If the type does not read the desired object from the
//! result, fields of the object such as `spec` are replaced as a whole, and lose what the type lacks.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Result, Value};

use super::field::escape;
use crate::reading;

type Fields<'a> = BTreeMap<String, &'a RawValue>;
type Items<'a> = Vec<&'a RawValue>;

/// The JSON patch that changes `raw` the way `before` was changed into `after`; `None` for no change.
/// `T` is the type that wrote `before` and `after`.
///
/// # Errors
///
/// When one of them is not JSON.
pub(super) fn patch<T: DeserializeOwned + Serialize>(
    raw: &RawValue,
    before: &RawValue,
    after: &RawValue,
) -> Result<Option<Vec<u8>>> {
    let mut patch = Patch::default();
    patch.change(Some(raw), Some(before), Some(after))?;
    let mut operations = serde_json::to_vec(&patch.operations)?;
    if patch.is_doubtful && !gives::<T>(&operations, raw, after) {
        patch = Patch {
            is_coarse: true,
            ..Patch::default()
        };
        patch.change(Some(raw), Some(before), Some(after))?;
        operations = serde_json::to_vec(&patch.operations)?;
    }
    Ok((!patch.operations.is_empty()).then_some(operations))
}

/// Whether the patch turns `raw` into an object that `T` reads as `after`.
fn gives<T: DeserializeOwned + Serialize>(
    operations: &[u8],
    raw: &RawValue,
    after: &RawValue,
) -> bool {
    let attempt = || -> Option<bool> {
        let operations: json_patch::Patch = serde_json::from_slice(operations).ok()?;
        let mut patched: Value = read(raw).ok()?;
        json_patch::patch(&mut patched, &operations).ok()?;
        let patched = reading::write_value(&reading::read_value::<T>(&patched).ok()?).ok()?;
        Some(patched == read::<Value>(after).ok()?)
    };
    attempt().unwrap_or_default()
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
    /// Pointer to the values being compared.
    path: String,
    /// Whether only fields of the object itself are changed.
    is_coarse: bool,
    /// Whether the patch may be wrong.
    is_doubtful: bool,
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
        if let (Some(raw), Some(before), Some(after)) = (raw, before, after)
            && (!self.is_coarse || self.path.is_empty())
        {
            match [raw, before, after].map(|value| value.get().as_bytes().first()) {
                [Some(b'{'), Some(b'{'), Some(b'{')] => {
                    return self.change_fields(&read(raw)?, &read(before)?, &read(after)?);
                }
                [Some(b'['), Some(b'['), Some(b'[')] => {
                    self.is_doubtful = true;
                    // Otherwise it is unknown which items correspond.
                    if let (Ok(items), Ok(written)) = (read(raw), read(before))
                        && correspond(&items, &written)
                    {
                        return self.change_items(&read(raw)?, &read(before)?, &read(after)?);
                    }
                }
                _ => {}
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
        let has_unknown = !raw.keys().all(|key| before.contains_key(key));
        for key in before.keys().chain(new) {
            let [raw, before, after] = [raw, before, after].map(|fields| fields.get(key).copied());
            // One of the unknown fields may be this field under another name.
            let is_changed = before.map(RawValue::get) != after.map(RawValue::get);
            self.is_doubtful |= has_unknown && raw.is_none() && is_changed;
            self.at(&escape(key), |patch| patch.change(raw, before, after))?;
        }
        Ok(())
    }

    /// Treats equal items at both ends as unchanged. The items between them are changed in place as far
    /// as both lists have them; the rest are removed or added.
    fn change_items(
        &mut self,
        raw: &Items<'a>,
        before: &Items<'a>,
        after: &Items<'a>,
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

    /// Runs `action` with one more step at the end of the path.
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

/// Whether `written` is what the type made of `raw`, in everything that both contain.
fn correspond(raw: &Value, written: &Value) -> bool {
    match (raw, written) {
        (Value::Object(raw), Value::Object(written)) => raw.iter().all(|(key, raw)| {
            let written = written.get(key);
            written.is_none_or(|written| correspond(raw, written))
        }),
        (Value::Array(raw), Value::Array(written)) => {
            let mut items = raw.iter().zip(written);
            raw.len() == written.len() && items.all(|(raw, written)| correspond(raw, written))
        }
        (Value::Number(raw), Value::Number(written)) if raw.is_f64() || written.is_f64() => {
            raw.as_f64() == written.as_f64()
        }
        (raw, written) => raw == written,
    }
}

fn read<'a, T: serde::Deserialize<'a>>(value: &'a RawValue) -> Result<T> {
    serde_json::from_str(value.get())
}
