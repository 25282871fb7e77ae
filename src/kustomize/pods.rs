//! The parts of pods. Pure.

use serde_json::Value;

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

    #[test]
    fn a_port_is_no_tag() {
        assert_eq!(split_image("a"), ("a", ""));
        assert_eq!(split_image("r:5000/a"), ("r:5000/a", ""));
        assert_eq!(split_image("r:5000/a:v1"), ("r:5000/a", "v1"));
        assert_eq!(split_image("a@sha256:0f"), ("a@sha256", "0f"));
    }
}
