//! Marks in texts: where the name of an object belongs, or the operator's namespace. Pure.

use serde_json::Value;

use crate::manifests::json::visit;

/// The operator's namespace.
pub(crate) const NAMESPACE: &str = "\u{e000}";

/// Begins and ends the name of an object.
pub(crate) const NAME: [char; 2] = ['\u{e001}', '\u{e002}'];

/// The name of an object, without the project's prefix.
pub(crate) fn name(name: &str) -> String {
    let [begin, end] = NAME;
    format!("{begin}{name}{end}")
}

/// The name that is marked in a text: what is before or after it, such as a suffix, is no part of it.
pub(crate) fn bare(text: &str) -> String {
    let [begin, end] = NAME;
    let marked = text.split_once(begin).map_or(text, |(_, rest)| rest);
    let name = marked.split_once(end).map_or(marked, |(name, _)| name);
    name.to_owned()
}

/// Replaces the marks in a value with names that begin with the project's, and with the namespace.
pub(crate) fn spell_out(value: &mut Value, project: &str, namespace: &str) {
    let [begin, end] = NAME;
    visit(value, &mut |value| {
        if let Value::String(text) = value {
            let spelled = text.replace(NAMESPACE, namespace);
            let spelled = spelled.replace(begin, &format!("{project}-"));
            *text = spelled.replace(end, "");
        }
    });
}
