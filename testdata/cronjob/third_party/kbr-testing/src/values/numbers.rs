// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Numbers within the limits of a schema.

use proptest::prelude::*;
use serde_json::Value;

/// How far most random integers are from the smallest one allowed.
const NEAR: i64 = 5;

pub(super) fn small_integer(least: i64, most: i64) -> BoxedStrategy<Value> {
    let near = least.saturating_add(NEAR).min(most).max(least);
    (least..=near).prop_map(Value::from).boxed()
}

pub(super) fn integer(schema: &Value) -> BoxedStrategy<Value> {
    let (least, most) = match schema["format"].as_str() {
        Some("int64") => (i64::MIN, i64::MAX),
        Some("uint64" | "uint") => (0, i64::MAX),
        Some("uint32") => (0, i64::from(u32::MAX)),
        Some("int16") => (i64::from(i16::MIN), i64::from(i16::MAX)),
        Some("uint16") => (0, i64::from(u16::MAX)),
        Some("int8") => (i64::from(i8::MIN), i64::from(i8::MAX)),
        Some("uint8") => (0, i64::from(u8::MAX)),
        _ => (i64::from(i32::MIN), i64::from(i32::MAX)),
    };
    let bound = |key: &str, round: fn(f64) -> f64| {
        let value = &schema[key];
        value
            .as_i64()
            .or_else(|| value.as_f64().map(|value| round(value) as i64))
    };
    let exclusive = |key: &str| i64::from(schema[key] == true);
    let minimum = bound("minimum", f64::ceil).unwrap_or(i64::MIN);
    let maximum = bound("maximum", f64::floor).unwrap_or(i64::MAX);
    let least = least.max(minimum.saturating_add(exclusive("exclusiveMinimum")));
    let most = most.min(maximum.saturating_sub(exclusive("exclusiveMaximum")));
    let step = schema["multipleOf"].as_i64().unwrap_or(1).max(1);
    let (least, most) = (
        least.div_euclid(step) + i64::from(least.rem_euclid(step) > 0),
        most.div_euclid(step),
    );
    let zero = 0.clamp(least, most.max(least));
    let all = least..=most.max(least);
    let near = zero..=zero.saturating_add(NEAR).min(most.max(least));
    prop_oneof![3 => near, 1 => all]
        .prop_map(move |value| Value::from(value * step))
        .boxed()
}

pub(super) fn number(schema: &Value) -> BoxedStrategy<Value> {
    let least = schema["minimum"].as_f64();
    let most = schema["maximum"].as_f64();
    let least = least.unwrap_or_else(|| most.map_or(-1e6, |most| most - 1e6));
    let most = most.unwrap_or(least + 2e6).max(least);
    let edges = [("exclusiveMinimum", least), ("exclusiveMaximum", most)];
    let excluded: Vec<f64> = edges
        .into_iter()
        .filter_map(|(key, edge)| (schema[key] == true).then_some(edge))
        .collect();
    let step = schema["multipleOf"].as_f64().filter(|step| *step > 0.0);
    let is_float = schema["format"] == "float";
    let value = (least..=most, any::<bool>()).prop_map(move |(value, is_whole)| match step {
        Some(step) => (value / step).floor().max((least / step).ceil()) * step,
        None if is_whole => value.round().clamp(least, most),
        None if is_float => f64::from(value as f32),
        None => value,
    });
    value
        .prop_filter("exclusive limits", move |value| !excluded.contains(value))
        .prop_map(Value::from)
        .boxed()
}
