//! The parts of pods. Pure.

use serde_json::Value;

/// The lists of containers in a pod: some run to their end before the others start.
const CONTAINERS: [&str; 2] = ["containers", "initContainers"];

/// The containers of a Deployment.
pub(crate) fn containers(object: &mut Value) -> impl Iterator<Item = &mut Value> {
    let pod = object.pointer_mut("/spec/template/spec");
    let fields = pod.and_then(Value::as_object_mut).into_iter().flatten();
    let lists = fields.filter(|(key, _)| CONTAINERS.contains(&key.as_str()));
    lists.filter_map(|(_, list)| list.as_array_mut()).flatten()
}

/// The items of a list, if it exists.
pub(crate) fn items<'a>(of: &'a mut Value, key: &str) -> impl Iterator<Item = &'a mut Value> {
    let list = of.get_mut(key).and_then(Value::as_array_mut);
    list.into_iter().flatten()
}
