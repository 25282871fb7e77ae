//! JSON 6902 patches, as kustomize applies them. Pure.

use serde_json::Value;

/// Applies one operation; the error says what is wrong with it.
pub fn apply(object: &mut Value, operation: &Value) -> Result<(), String> {
    let text = |key: &str| operation[key].as_str().unwrap_or_default();
    let (op, path) = (text("op"), text("path"));
    let wrong = |why: &str| format!("`{op}` at `{path}`: {why}");
    let (parent, last) = path.rsplit_once('/').ok_or_else(|| wrong("no path"))?;
    let last = last.replace("~1", "/").replace("~0", "~");
    let value = || operation["value"].clone();
    let parent = object
        .pointer_mut(parent)
        .ok_or_else(|| wrong("nothing is there"))?;
    match parent {
        Value::Object(map) => match op {
            "add" => drop(map.insert(last, value())),
            "replace" if map.contains_key(&last) => drop(map.insert(last, value())),
            "remove" if map.contains_key(&last) => drop(map.shift_remove(&last)),
            "replace" | "remove" => return Err(wrong("nothing is there")),
            _ => return Err(wrong("only `add`, `replace` and `remove` are understood")),
        },
        Value::Array(list) => {
            let at = match last.as_str() {
                "-" => list.len(),
                number => number.parse().map_err(|_| wrong("no index"))?,
            };
            match op {
                "add" if at <= list.len() => list.insert(at, value()),
                "replace" if at < list.len() => list[at] = value(),
                "remove" if at < list.len() => drop(list.remove(at)),
                "add" | "replace" | "remove" => return Err(wrong("nothing is there")),
                _ => return Err(wrong("only `add`, `replace` and `remove` are understood")),
            }
        }
        _ => return Err(wrong("neither a map nor a list is there")),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn operations_change_maps_and_lists() {
        let mut object = json!({ "a": { "b/c": 1 }, "list": [1, 2] });
        for operation in [
            json!({ "op": "replace", "path": "/a/b~1c", "value": 2 }),
            json!({ "op": "add", "path": "/a/d", "value": {} }),
            json!({ "op": "add", "path": "/list/-", "value": 3 }),
            json!({ "op": "add", "path": "/list/0", "value": 0 }),
            json!({ "op": "remove", "path": "/list/1" }),
        ] {
            apply(&mut object, &operation).expect("a valid operation");
        }
        assert_eq!(
            object,
            json!({ "a": { "b/c": 2, "d": {} }, "list": [0, 2, 3] })
        );
    }

    #[test]
    fn operations_on_nothing_are_refused() {
        for (op, path) in [
            ("remove", "/b"),
            ("replace", "/b"),
            ("add", "/b/c"),
            ("remove", "/list/7"),
            ("copy", "/a"),
            ("add", "a"),
        ] {
            let mut object = json!({ "a": 1, "list": [] });
            let operation = json!({ "op": op, "path": path, "value": 1 });
            let error = apply(&mut object, &operation).expect_err("an invalid operation");
            assert!(
                error.starts_with(&format!("`{op}` at `{path}`: ")),
                "{error}"
            );
        }
    }
}
