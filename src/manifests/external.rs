//! An object that matches the schema of a CRD that somebody else wrote. Pure.

use serde_json::{Map, Value, json};

use super::json::{fields_of, list_of, texts_of};

/// An object made from a schema.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) object: Value,
    /// The fields whose value had to be guessed: the schema has a pattern or a rule for them.
    pub(crate) guessed: Vec<String>,
}

/// The simplest object that a schema allows, as far as kbr can tell.
pub(crate) fn sample(schema: &Value, api_version: &str, kind: &str) -> Sample {
    let mut maker = Maker::default();
    let mut object = json!({
        "apiVersion": api_version, "kind": kind, "metadata": { "name": "sample" },
    });
    let required = required(schema);
    for (name, schema) in fields_of(schema) {
        // Nearly every Rust type has a `spec` that is not optional.
        let is_wanted = name == "spec" || required.contains(&name.as_str());
        if is_wanted && object.get(name).is_none() {
            object[name] = maker.value(schema, name);
        }
    }
    if has_rules(schema) {
        maker.guess("the object itself");
    }
    let guessed = maker.guessed;
    Sample { object, guessed }
}

fn has_rules(schema: &Value) -> bool {
    schema.get("x-kubernetes-validations").is_some()
}

/// The required fields of an object; of alternatives, those of the first.
fn required(schema: &Value) -> Vec<&str> {
    let first = ["anyOf", "oneOf"].map(|word| list_of(schema, word).first());
    let members = first.into_iter().flatten().chain(list_of(schema, "allOf"));
    let all = [schema].into_iter().chain(members);
    all.flat_map(|schema| texts_of(schema, "required"))
        .collect()
}

/// Maximum number of generated values; the user has to write any more that are required.
const MOST_VALUES: usize = 1000;

/// Maximum length of a generated text, in bytes.
const LONGEST: usize = 1000;

/// Generates values.
#[derive(Default)]
struct Maker {
    guessed: Vec<String>,
    made: usize,
}

impl Maker {
    /// The simplest value that a schema allows, as far as kbr can tell.
    fn value(&mut self, schema: &Value, path: &str) -> Value {
        self.made += 1;
        if let Some(default) = schema.get("default") {
            return default.clone();
        }
        if let Some(first) = schema["enum"].get(0) {
            return first.clone();
        }
        if has_rules(schema) {
            self.guess(path);
        }
        match schema["type"].as_str() {
            Some("object") => self.object(schema, path),
            Some("array") => self.array(schema, path),
            Some("string") => self.string(schema, path),
            Some("integer" | "number") => number(schema),
            Some("boolean") => Value::Bool(false),
            _ if schema["x-kubernetes-int-or-string"] == true => json!(1),
            _ => json!({}),
        }
    }

    fn guess(&mut self, path: &str) {
        if !self.guessed.iter().any(|it| it == path) {
            self.guessed.push(path.to_owned());
        }
    }

    fn object(&mut self, schema: &Value, path: &str) -> Value {
        let mut object = Map::new();
        for name in required(schema) {
            let below = format!("{path}.{name}");
            if self.made >= MOST_VALUES {
                self.guess(&below);
                continue;
            }
            let value = self.value(&schema["properties"][name], &below);
            object.insert(name.to_owned(), value);
        }
        let least = schema["minProperties"].as_u64().unwrap_or(0);
        if let Some(values) = schema.get("additionalProperties")
            && least > object.len() as u64
        {
            let value = self.value(values, &format!("{path}.key"));
            object.insert("key".to_owned(), value);
        }
        if least > object.len() as u64 {
            self.guess(path);
        }
        Value::Object(object)
    }

    fn array(&mut self, schema: &Value, path: &str) -> Value {
        let mut items = Vec::new();
        for _ in 0..schema["minItems"].as_u64().unwrap_or(0) {
            if self.made >= MOST_VALUES {
                self.guess(path);
                break;
            }
            items.push(self.value(&schema["items"], &format!("{path}[]")));
        }
        Value::Array(items)
    }

    fn string(&mut self, schema: &Value, path: &str) -> Value {
        let text = match schema["format"].as_str() {
            Some("date-time") => "2026-01-01T00:00:00Z",
            Some("date") => "2026-01-01",
            Some("duration") => "1h",
            Some("ip" | "ipv4") => "192.0.2.1",
            Some("ipv6") => "2001:db8::1",
            Some("cidr") => "192.0.2.0/24",
            Some("uri") => "https://example.com",
            Some("byte") => "ZXhhbXBsZQ==",
            Some("uuid") => "123e4567-e89b-12d3-a456-426614174000",
            _ => "example",
        };
        let length = |name: &str| usize::try_from(schema[name].as_u64()?).ok();
        let least = length("minLength").unwrap_or(0);
        if schema.get("pattern").is_some() || least > LONGEST {
            self.guess(path);
        }
        let width = least.min(LONGEST);
        let mut text = format!("{text:e<width$}");
        if let Some(most) = length("maxLength") {
            text.truncate(most);
        }
        Value::String(text)
    }
}

fn number(schema: &Value) -> Value {
    let is_exclusive = schema["exclusiveMinimum"] == true;
    match (schema["minimum"].as_i64(), schema["maximum"].as_i64()) {
        (Some(least), _) if is_exclusive => json!(least.saturating_add(1)),
        (Some(least), _) => json!(least),
        (None, Some(most)) if most < 1 => json!(most),
        _ => json!(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_what_is_required_and_says_what_it_guessed() {
        let schema = json!({ "type": "object", "properties": { "spec": {
            "type": "object",
            "required": ["host", "kind", "ports", "size"],
            "anyOf": [{ "required": ["either"] }, { "required": ["or"] }],
            "properties": {
                "host": { "type": "string", "pattern": "^h$" },
                "kind": { "enum": ["A", "B"], "type": "string" },
                "ports": { "type": "array", "minItems": 1, "items": { "type": "integer", "minimum": 80 } },
                "size": { "default": 3, "type": "integer" },
                "either": { "type": "string", "maxLength": 2 },
                "or": { "type": "string" },
            },
        } } });
        assert_eq!(
            sample(&schema, "example.com/v1", "Thing"),
            Sample {
                object: json!({
                    "apiVersion": "example.com/v1",
                    "kind": "Thing",
                    "metadata": { "name": "sample" },
                    "spec": { "host": "example", "kind": "A", "ports": [80], "size": 3, "either": "ex" },
                }),
                guessed: vec!["spec.host".to_owned()],
            }
        );
    }

    #[test]
    fn the_size_of_a_sample_is_limited() {
        let long = json!({ "type": "string", "minLength": u64::MAX });
        let mut schema = json!({ "type": "array", "minItems": u64::MAX, "items": long });
        for _ in 0..20 {
            schema = json!({ "type": "array", "minItems": 3, "items": schema });
        }
        let mut maker = Maker::default();
        maker.value(&schema, "spec");
        assert!(maker.made <= MOST_VALUES && !maker.guessed.is_empty());
    }
}
