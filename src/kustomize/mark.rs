//! Marks in texts: where the name of an object belongs, or the operator's namespace. Pure.

use serde_json::Value;

/// The operator's namespace.
pub const NAMESPACE: &str = "\u{e000}";

/// Begins and ends the name of an object, and stands for a dot in it, so that kustomize's delimiters do not cut it.
pub const NAME: [char; 3] = ['\u{e001}', '\u{e002}', '\u{e003}'];

/// The name of an object, without the project's prefix.
pub fn name(name: &str) -> String {
    let [begin, end, dot] = NAME;
    format!("{begin}{}{end}", name.replace('.', &dot.to_string()))
}

/// Replaces the marks in a value with names that begin with the project's, and with the namespace.
pub fn spell_out(value: &mut Value, project: &str, namespace: &str) {
    match value {
        Value::String(text) if text.contains(NAMESPACE) || text.contains(NAME[0]) => {
            let [begin, end, dot] = NAME;
            let mut spelled = text.replace(NAMESPACE, namespace);
            spelled = spelled.replace(begin, &format!("{project}-"));
            spelled = spelled.replace(end, "").replace(dot, ".");
            *text = spelled;
        }
        Value::Array(list) => list
            .iter_mut()
            .for_each(|item| spell_out(item, project, namespace)),
        Value::Object(map) => map
            .values_mut()
            .for_each(|value| spell_out(value, project, namespace)),
        _ => {}
    }
}
