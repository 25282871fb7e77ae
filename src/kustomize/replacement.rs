//! kustomize's `replacements` and `images`: values that are copied from one object into others. Pure.

use serde_json::Value;

use super::build::Object;
use super::entries::unknown;
use super::error::KustomizeError;
use crate::manifests::json::{list_of, text_of, texts_of};

/// The lists of containers in a pod: some run to their end before the others start.
const CONTAINERS: [&str; 2] = ["containers", "initContainers"];

/// The containers of a Deployment.
pub fn containers(object: &mut Value) -> impl Iterator<Item = &mut Value> {
    let pod = object.pointer_mut("/spec/template/spec");
    let fields = pod.and_then(Value::as_object_mut).into_iter().flatten();
    let lists = fields.filter(|(key, _)| CONTAINERS.contains(&key.as_str()));
    lists.filter_map(|(_, list)| list.as_array_mut()).flatten()
}

/// The items of a list, if it exists.
pub fn items<'a>(of: &'a mut Value, key: &str) -> impl Iterator<Item = &'a mut Value> {
    let list = of.get_mut(key).and_then(Value::as_array_mut);
    list.into_iter().flatten()
}

/// Which objects a patch or a replacement is for.
#[derive(Debug, Default)]
pub struct Selector {
    fields: Vec<(String, String)>,
}

impl Selector {
    /// Reads a selector in the file at `path`.
    pub fn read(value: &Value, path: &str) -> Result<Self, KustomizeError> {
        const KEYS: [&str; 7] = [
            "annotationSelector",
            "group",
            "kind",
            "labelSelector",
            "name",
            "namespace",
            "version",
        ];
        let mut selector = Self::default();
        for (key, value) in value.as_object().into_iter().flatten() {
            // kustomize reads these texts as regular expressions.
            let is_plain =
                |text: &str| !text.contains(['*', '|', '^', '$', '(', '[', '+', '?', '!']);
            match value {
                Value::String(text) if KEYS.contains(&key.as_str()) && is_plain(text) => {
                    selector.fields.push((key.clone(), text.clone()));
                }
                _ => return Err(unknown(path, &format!("{key}: {value}"))),
            }
        }
        Ok(selector)
    }

    pub fn fits(&self, object: &Object) -> bool {
        let version = text_of(&object.value, "apiVersion");
        let version = version.rsplit('/').next().unwrap_or_default();
        let metadata = &object.value["metadata"];
        self.fields.iter().all(|(key, wanted)| match key.as_str() {
            "annotationSelector" => has(&metadata["annotations"], wanted),
            "labelSelector" => has(&metadata["labels"], wanted),
            "group" => object.group() == wanted,
            "kind" => object.kind() == wanted,
            "name" => object.name == *wanted,
            "namespace" => object.namespace == *wanted,
            _ => version == wanted,
        })
    }
}

/// Whether the pairs have a key, or a key with its value.
fn has(pairs: &Value, wanted: &str) -> bool {
    wanted
        .split(',')
        .all(|wanted| match wanted.split_once('=') {
            Some((key, value)) => pairs[key.trim()] == value.trim_start_matches('=').trim(),
            None => pairs.get(wanted.trim()).is_some(),
        })
}

/// Carries out one entry of `replacements`, which is in the file at `path`.
pub fn apply(entry: &Value, path: &str, objects: &mut [Object]) -> Result<(), KustomizeError> {
    let (mut source, mut field) = (entry["source"].clone(), "metadata.name".to_owned());
    let options = source.as_object_mut();
    let options = options.map(|source| {
        if let Some(path) = source.shift_remove("fieldPath") {
            path.as_str().unwrap_or_default().clone_into(&mut field);
        }
        source.shift_remove("options").unwrap_or_default()
    });
    let selector = Selector::read(&source, path)?;
    let found = objects.iter_mut().find(|object| selector.fits(object));
    let mut copied = None;
    if let Some(object) = found {
        at(&mut object.value, &steps(&field), &mut |value| {
            copied = Some(value.clone())
        });
    }
    let copied = copied.ok_or_else(|| KustomizeError::Unreadable {
        path: path.to_owned(),
        reason: format!("no object has the `{field}` of the source {source}"),
    })?;
    let copied = part(&copied, &options.unwrap_or_default());
    for target in list_of(entry, "targets") {
        let selector = Selector::read(&target["select"], path)?;
        known(target, &["select", "fieldPaths", "options"], path)?;
        known(&target["options"], &["delimiter", "index"], path)?;
        for object in objects.iter_mut().filter(|object| selector.fits(object)) {
            for field in texts_of(target, "fieldPaths") {
                at(&mut object.value, &steps(field), &mut |value| {
                    *value = with_part(value, &copied, &target["options"]);
                });
            }
        }
    }
    Ok(())
}

/// Refuses keys of a map that are not `keys`.
fn known(map: &Value, keys: &[&str], path: &str) -> Result<(), KustomizeError> {
    let mut names = map.as_object().into_iter().flatten().map(|(key, _)| key);
    match names.find(|name| !keys.contains(&name.as_str())) {
        Some(name) => Err(unknown(path, name)),
        None => Ok(()),
    }
}

/// The delimiter and the index of options for a part of a text.
fn delimited(options: &Value) -> Option<(&str, usize)> {
    let delimiter = options["delimiter"].as_str()?;
    let index = options["index"].as_u64().unwrap_or_default();
    Some((delimiter, usize::try_from(index).ok()?))
}

/// The part of a source.
fn part(value: &Value, options: &Value) -> Value {
    match (value.as_str(), delimited(options)) {
        (Some(text), Some((delimiter, index))) => {
            text.split(delimiter).nth(index).unwrap_or_default().into()
        }
        _ => value.clone(),
    }
}

/// A target with a part of it, or all of it, replaced.
fn with_part(value: &Value, new: &Value, options: &Value) -> Value {
    let (Some((delimiter, index)), Some(text), Some(new)) =
        (delimited(options), value.as_str(), new.as_str())
    else {
        return new.clone();
    };
    let mut parts: Vec<&str> = text.split(delimiter).collect();
    match parts.get_mut(index) {
        Some(part) => *part = new,
        None => parts.push(new),
    }
    parts.join(delimiter).into()
}

/// The steps of a field path: split at dots that are not in brackets.
fn steps(path: &str) -> Vec<String> {
    let (mut steps, mut depth) = (vec![String::new()], 0);
    for c in path.chars() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            '.' if depth == 0 => {
                steps.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = steps.last_mut() {
            last.push(c);
        }
    }
    steps
}

/// Calls `with` for each value at a field path.
fn at(value: &mut Value, steps: &[String], with: &mut dyn FnMut(&mut Value)) {
    let Some((step, rest)) = steps.split_first() else {
        return with(value);
    };
    let key = step.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    let pair = key.and_then(|key| key.split_once('='));
    match value {
        Value::Array(list) if step == "*" => {
            list.iter_mut().for_each(|item| at(item, rest, with));
        }
        Value::Array(list) => {
            let index = step.parse::<usize>().ok();
            for (number, item) in list.iter_mut().enumerate() {
                let is_it = pair.is_some_and(|(key, value)| item[key] == value);
                if is_it || index == Some(number) {
                    at(item, rest, with);
                }
            }
        }
        Value::Object(map) => {
            if let Some(inner) = map.get_mut(key.unwrap_or(step)) {
                at(inner, rest, with);
            }
        }
        _ => {}
    }
}

/// Changes the image of containers as an entry of `images` says, in pods of all kinds of objects.
pub fn image(value: &mut Value, entry: &Value) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(|item| image(item, entry)),
        Value::Object(map) => {
            for (key, value) in map {
                if CONTAINERS.contains(&key.as_str()) {
                    let containers = value.as_array_mut().into_iter().flatten();
                    containers.for_each(|container| image_of(container, entry));
                }
                image(value, entry);
            }
        }
        _ => {}
    }
}

fn image_of(container: &mut Value, entry: &Value) {
    let Some(Value::String(image)) = container.get_mut("image") else {
        return;
    };
    let (name, tag) = split_image(image);
    if name != text_of(entry, "name") {
        return;
    }
    let name = entry["newName"].as_str().unwrap_or(name);
    *image = match (entry["digest"].as_str(), entry["newTag"].as_str()) {
        (Some(digest), _) => format!("{name}@{digest}"),
        (None, Some(tag)) => format!("{name}:{tag}"),
        (None, None) if tag.is_empty() => name.to_owned(),
        (None, None) => format!("{name}:{tag}"),
    };
}

/// The name and the tag of an image. With a digest, the name ends in `@sha256`, and the digest is the tag.
pub fn split_image(image: &str) -> (&str, &str) {
    match image.rsplit_once(':') {
        // The colon of a port.
        Some((_, tag)) if tag.contains('/') => (image, ""),
        Some(parts) => parts,
        None => (image, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn field_paths_reach_list_items_and_keys_with_dots() {
        let mut object = json!({
            "env": [{ "name": "A", "value": "1" }, { "name": "B", "value": "2" }],
            "annotations": { "a.b/c": "x/y" },
            "names": ["a.b.svc", "c.d.svc"],
        });
        let mut read = |path: &str| {
            let mut found = Vec::new();
            at(&mut object, &steps(path), &mut |value| {
                found.push(value.clone())
            });
            found
        };
        assert_eq!(read("env.[name=B].value"), [json!("2")]);
        assert_eq!(read("annotations.[a.b/c]"), [json!("x/y")]);
        assert_eq!(read("names.*"), [json!("a.b.svc"), json!("c.d.svc")]);
        assert_eq!(read("names.1"), [json!("c.d.svc")]);
        assert_eq!(read("names.7"), Vec::<Value>::new());
    }

    #[test]
    fn a_part_of_a_text_is_replaced() {
        let options = json!({ "delimiter": "/", "index": 1 });
        let new = with_part(&json!("a/b"), &json!("c"), &options);
        assert_eq!(new, json!("a/c"));
        assert_eq!(part(&new, &options), json!("c"));
        assert_eq!(
            with_part(&json!("a/b"), &json!("c"), &Value::Null),
            json!("c")
        );
    }

    #[test]
    fn a_port_is_no_tag() {
        assert_eq!(split_image("a"), ("a", ""));
        assert_eq!(split_image("r:5000/a"), ("r:5000/a", ""));
        assert_eq!(split_image("r:5000/a:v1"), ("r:5000/a", "v1"));
        assert_eq!(split_image("a@sha256:0f"), ("a@sha256", "0f"));
        let mut object =
            json!({ "spec": { "template": { "spec": { "containers": [{ "image": "a:1" }] } } } });
        image(
            &mut object,
            &json!({ "name": "a", "newName": "r/b", "newTag": "2" }),
        );
        assert_eq!(
            object.pointer("/spec/template/spec/containers/0/image"),
            Some(&json!("r/b:2"))
        );
    }
}
