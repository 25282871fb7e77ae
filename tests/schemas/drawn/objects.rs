//! Random objects for the schema of a CRD, and what the API server stores of them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Map, Value, json};

use crate::support::random::Random;

/// Texts by the pattern or format that they fit.
type Known = &'static [(&'static str, &'static [&'static str])];

/// Texts by a part of the pattern that they match. They also fit the keywords that accompany the pattern.
const OF_PATTERN: Known = &[
    ("^(\\+|-)?(([0-9]+", &["100m", "1Gi", "0.5", "-1e3"]),
    (
        ")*/)?(([A-Za-z0-9]",
        &["Ready", "example.com/Ready", "A", "B.9"],
    ),
    ("[A-Za-z0-9_,:]*", &["Because", "R_1"]),
    ("25[0-5]", &["10.0.0.1", "255.255.255.255"]),
    (
        "(Z|[-+]",
        &["2024-02-29T12:00:00Z", "1999-12-31T23:59:59.5+02:00"],
    ),
    ("T([01]", &["2024-02-29T12:00:00", "1999-12-31T23:59:60.5"]),
    ("^([01]", &["12:34", "23:59:59.000000001"]),
    ("^[a-z]+$", &["abc", "z"]),
    ("\\p{L}", &["name", "für", "ab"]),
    ("a\\+", &["a+", "xa+x"]),
];

const OF_FORMAT: Known = &[
    (
        "date-time",
        &["2024-02-29T12:00:00Z", "1999-12-31T23:59:59.5+02:00"],
    ),
    ("date", &["2024-02-29"]),
    ("duration", &["1h30m", "10s"]),
    ("email", &["a@example.com"]),
    ("uri", &["https://example.com/a?b#c"]),
    ("hostname", &["example.com"]),
    ("uuid", &["00000000-0000-4000-8000-000000000000"]),
    ("cidr", &["10.0.0.0/8"]),
    ("byte", &["YWJj", ""]),
    ("ipv4", &["10.0.0.1"]),
    ("ipv6", &["::1", "fe80::a"]),
    ("password", &["x"]),
];

/// Up to here a float can represent every integer. The API server writes the integers of a set as floats in
/// `managedFields`.
const EXACT: i64 = 1 << 53;

const KEYS: [&str; 6] = ["a", "b-c", "On", "9", "d.e/f", "ü"];

/// A value that fits the schema.
pub fn valid(schema: &Value, random: &mut Random) -> Value {
    if schema["nullable"] == true && random.one_in(8) {
        return Value::Null;
    }
    if let Some(values) = schema["enum"].as_array() {
        return values[random.below(values.len())].clone();
    }
    if schema["x-kubernetes-int-or-string"] == true {
        return match random.one_in(2) {
            true => number(schema, random, true),
            false => string(schema, random),
        };
    }
    match schema["type"].as_str() {
        Some("object") => object(schema, random),
        Some("array") => array(schema, random),
        Some("string") => string(schema, random),
        Some("boolean") => json!(random.one_in(2)),
        Some("integer") => number(schema, random, true),
        Some("number") => number(schema, random, false),
        _ => anything(random),
    }
}

fn anything(random: &mut Random) -> Value {
    match random.below(6) {
        0 => json!(random.below(1000)),
        1 => json!([1, "a", { "b": [true] }]),
        2 => json!({ "a": { "b": 1.5 }, "metadata": "x" }),
        3 => json!(false),
        4 => json!({}),
        _ => json!("text"),
    }
}

/// Chooses among the alternatives of a node: `wanted` gets the fields that the chosen ones require, and
/// `named` the fields of all of them.
fn choose(schema: &Value, random: &mut Random, wanted: &mut Vec<String>, named: &mut Vec<String>) {
    let names = |member: &Value| -> Vec<String> {
        let names = member["required"].as_array().into_iter().flatten();
        names.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    for key in ["oneOf", "anyOf"] {
        if let Some(members) = schema[key].as_array() {
            for member in members {
                named.extend(names(member));
                if let Some(properties) = member["properties"].as_object() {
                    named.extend(properties.keys().cloned());
                }
                choose(member, &mut Random::new(0), &mut Vec::new(), named);
            }
            let chosen = &members[random.below(members.len())];
            wanted.extend(names(chosen));
            choose(chosen, random, wanted, &mut Vec::new());
        }
    }
    for member in schema["allOf"].as_array().into_iter().flatten() {
        wanted.extend(names(member));
        choose(member, random, wanted, named);
    }
}

fn object(schema: &Value, random: &mut Random) -> Value {
    let mut fields = Map::new();
    let (mut wanted, mut named) = (Vec::new(), Vec::new());
    choose(schema, random, &mut wanted, &mut named);
    let required = schema["required"].as_array().into_iter().flatten();
    wanted.extend(required.filter_map(Value::as_str).map(str::to_owned));
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let is_wanted = wanted.contains(name);
        // Kubernetes' own types have many fields.
        let is_drawn = !named.contains(name) && random.below(10) < 5;
        if is_wanted || is_drawn {
            fields.insert(name.clone(), valid(property, random));
        }
    }
    let least = bound(schema, "minProperties").unwrap_or_default();
    let most = bound(schema, "maxProperties").unwrap_or(least + 3);
    if schema["additionalProperties"].is_object() {
        let count = least + random.below(most.min(least + 2) - least + 1);
        for key in KEYS
            .iter()
            .cycle()
            .skip(random.below(KEYS.len()))
            .take(count)
        {
            fields.insert(
                (*key).to_owned(),
                valid(&schema["additionalProperties"], random),
            );
        }
    } else if schema["x-kubernetes-preserve-unknown-fields"] == true && random.one_in(2) {
        fields.insert("unknown".to_owned(), anything(random));
    }
    if schema["x-kubernetes-embedded-resource"] == true {
        fields.insert("apiVersion".to_owned(), json!("v1"));
        fields.insert("kind".to_owned(), json!("ConfigMap"));
        fields.insert("metadata".to_owned(), json!({ "name": "inside" }));
    }
    Value::Object(fields)
}

fn array(schema: &Value, random: &mut Random) -> Value {
    let least = bound(schema, "minItems").unwrap_or_default();
    let most = bound(schema, "maxItems").unwrap_or(least + 3);
    let count = least + random.below(most.min(least + 2) - least + 1);
    let mut items: Vec<Value> = Vec::new();
    let keys = schema["x-kubernetes-list-map-keys"].as_array();
    let is_unique = keys.is_some() || schema["x-kubernetes-list-type"] == "set";
    for _ in 0..count * 20 {
        let item = valid(&schema["items"], random);
        let same = |other: &Value| match keys {
            Some(keys) => keys.iter().filter_map(Value::as_str).all(|key| {
                let default = &schema["items"]["properties"][key]["default"];
                let of = |item: &Value| item.get(key).unwrap_or(default).clone();
                of(&item) == of(other)
            }),
            None => item == *other,
        };
        if items.len() < count && (!is_unique || !items.iter().any(same)) {
            items.push(item);
        }
    }
    Value::Array(items)
}

fn bound(schema: &Value, key: &str) -> Option<usize> {
    usize::try_from(schema[key].as_u64()?).ok()
}

fn string(schema: &Value, random: &mut Random) -> Value {
    let known = |table: Known, wanted: &dyn Fn(&str) -> bool| {
        let found = table.iter().find(|(key, _)| wanted(key));
        found.map(|(_, texts)| *texts)
    };
    let text = |schema: &Value| {
        let of_pattern = schema["pattern"].as_str();
        let of_pattern = of_pattern.map(|pattern| {
            known(OF_PATTERN, &|part| pattern.contains(part))
                .unwrap_or_else(|| panic!("no known text matches {pattern}"))
        });
        let of_format = schema["format"].as_str();
        of_pattern.or(of_format.and_then(|format| known(OF_FORMAT, &|known| known == format)))
    };
    let texts = match schema["anyOf"].as_array() {
        Some(members) if schema["x-kubernetes-int-or-string"] != true => {
            text(&members[random.below(members.len())])
        }
        _ => text(schema),
    };
    if let Some(texts) = texts {
        return json!(texts[random.below(texts.len())]);
    }
    let least = bound(schema, "minLength").unwrap_or_default();
    let most = bound(schema, "maxLength").unwrap_or(least + 8);
    let length = least + random.below(most.min(least + 8) - least + 1);
    let letters = ['a', 'Z', '0', '-', ' ', 'ü', '日', '\'', '\u{1f980}', '\n'];
    let text: String = (0..length)
        .map(|_| letters[random.below(letters.len())])
        .collect();
    json!(text)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the bounds are small, or not used"
)]
fn number(schema: &Value, random: &mut Random, is_integer: bool) -> Value {
    if let Some(step) = schema["multipleOf"].as_i64() {
        return json!(step * (random.below(20) as i64 - 10));
    }
    let bits = match schema["format"].as_str() {
        Some("int32") => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (-EXACT, EXACT),
    };
    let of = |key: &str| schema[key].as_f64();
    let least = of("minimum").map(|least| {
        least.ceil() as i64 + i64::from(schema["exclusiveMinimum"] == true || least.fract() > 0.0)
    });
    let most = of("maximum")
        .map(|most| most.floor() as i64 - i64::from(schema["exclusiveMaximum"] == true));
    let near = random.below(100) as i64;
    let integer = match (least, most, random.below(6)) {
        (least, _, 0) => least.unwrap_or(bits.0),
        (_, most, 1) => most.unwrap_or(bits.1),
        (Some(least), most, _) => least.saturating_add(near).min(most.unwrap_or(bits.1)),
        (None, Some(most), _) => most.saturating_sub(near),
        (None, None, _) => near - 50,
    };
    if is_integer {
        return json!(integer);
    }
    // A number that every float type can represent.
    let short = integer.clamp(-1_000_000, 1_000_000);
    match random.one_in(2) && least.is_none() && most.is_none() {
        true => json!(short as f64 + 0.25),
        false => json!(short.clamp(least.unwrap_or(short), most.unwrap_or(short))),
    }
}

/// Texts that almost have some format.
const TEXTS: [&str; 22] = [
    "",
    " ",
    "10",
    "2024-02-29",
    "2024-02-30T00:00:00Z",
    "2024-01-01T00:00:00Z",
    "2024-01-01t00:00:00z",
    "2024-01-01 00:00:00Z",
    "2024-01-01T24:00:00Z",
    "2024-01-01T00:00:60Z",
    "2024-01-01T00:00:00x5Z",
    "2024-01-01T00:00:00+24:00",
    "2024-01-01T00:00:00-99:99",
    "0000-01-01T00:00:00.1234567890123Z",
    "9999-12-31T23:59:59-10:00",
    "12:00",
    "10.0.0.256",
    "::ffff:10.0.0.1",
    "::1%eth0",
    "Slow",
    "1e400",
    "ab",
];

/// Changes one value somewhere to one that may not fit.
pub fn spoil(value: &mut Value, random: &mut Random) {
    let length = match value {
        Value::Array(items) => items.len(),
        Value::Object(fields) => fields.len(),
        _ => 0,
    };
    if length > 0 && !random.one_in(5) {
        let at = random.below(length);
        match value {
            Value::Array(items) => return spoil(&mut items[at], random),
            Value::Object(fields) => {
                let name = fields.keys().nth(at).cloned().unwrap_or_default();
                match random.below(12) {
                    0 => drop(fields.shift_remove(&name)),
                    1 => drop(fields.insert("unknown".to_owned(), json!({ "a": [1] }))),
                    _ => spoil(&mut fields[&name], random),
                }
                return;
            }
            _ => {}
        }
    }
    if let Value::Array(items) = value
        && random.one_in(2)
        && let Some(first) = items.first().cloned()
    {
        return items.push(first);
    }
    if value.is_string() && random.one_in(2) {
        *value = json!(random.pick(&TEXTS));
        return;
    }
    let others = [
        Value::Null,
        json!(""),
        json!("some text that fits nothing, and is a little longer"),
        json!("10"),
        json!(0),
        json!(-1),
        json!(1.0),
        json!(1.5),
        json!(256),
        json!(u32::MAX),
        json!(EXACT),
        json!(-EXACT),
        json!(u64::MAX),
        json!(1e300),
        json!(1e19),
        json!(-1e300),
        json!(true),
        json!([]),
        json!([null]),
        json!({}),
        json!({ "unknown": null }),
        json!({ "a": null }),
    ];
    *value = others[random.below(others.len())].clone();
}

/// What the API server stores of an object that it accepts: without fields that the schema does not know
/// and without null where it is not allowed, and with defaults.
pub fn stored(schema: &Value, value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut kept = Map::new();
            for (name, value) in fields {
                let of_field = of_field(schema, name);
                if value.is_null()
                    && of_field.is_some_and(|schema| schema["nullable"] != true)
                    && is_structural(of_field)
                {
                    continue;
                }
                match of_field {
                    Some(schema) => drop(kept.insert(name.clone(), stored(schema, value))),
                    None if name == "metadata" && is_meta(schema, name) => {
                        kept.insert(name.clone(), metadata(value));
                    }
                    None if is_open(schema) || is_meta(schema, name) => {
                        kept.insert(name.clone(), value.clone());
                    }
                    None => {}
                }
            }
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                if let Some(default) = property.get("default")
                    && !kept.contains_key(name)
                {
                    kept.insert(name.clone(), stored(property, default));
                }
            }
            Value::Object(kept)
        }
        Value::Array(items) => {
            let of_item = schema.get("items");
            let of_item = |item| of_item.map_or_else(|| Value::clone(item), |of| stored(of, item));
            items.iter().map(of_item).collect()
        }
        _ => value.clone(),
    }
}

/// The metadata of an object inside of another one, which never has unknown fields.
fn metadata(value: &Value) -> Value {
    let known = serde_json::from_value::<ObjectMeta>(value.clone());
    known.map_or_else(|_| value.clone(), |known| json!(known))
}

fn of_field<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    let property = schema["properties"].get(name);
    property.or_else(|| schema.get("additionalProperties"))
}

/// Whether a field has a schema that decides about null.
fn is_structural(schema: Option<&Value>) -> bool {
    schema.is_some_and(Value::is_object)
}

fn is_open(schema: &Value) -> bool {
    schema["x-kubernetes-preserve-unknown-fields"] == true
}

fn is_meta(schema: &Value, name: &str) -> bool {
    schema["x-kubernetes-embedded-resource"] == true
        && ["apiVersion", "kind", "metadata"].contains(&name)
}

/// Whether two values are equal, however their numbers are written.
pub fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64() == other.as_f64()
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let same = |(name, value): (&String, &Value)| {
                other.get(name).is_some_and(|other| is_same(value, other))
            };
            one.len() == other.len() && one.iter().all(same)
        }
        _ => one == other,
    }
}
