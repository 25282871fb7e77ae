//! The namespaces that the operator of a namespaced project watches, as listed in its Deployment.
//!
//! `WATCH_NAMESPACE` in `config/manager/manager.yaml` is the single source: the operator reads the
//! variable, and its roles are made from the same line. Values that kbr cannot make roles for, or that
//! Kubernetes would refuse, are refused here.

use std::collections::BTreeSet;

use serde_json::Value;

use super::code_marker::{Location, MarkerError};
use super::json::list_of;
use crate::layout::MANAGER;
use crate::names::dns::is_label;
use crate::names::objects::{self, MANAGER_CONTAINER as CONTAINER, NAMESPACE};
use crate::yaml;

const VARIABLE: &str = "WATCH_NAMESPACE";

/// The help for the variable, with its value in a new project.
const OF_POD: &str = "write `- name: WATCH_NAMESPACE` with `valueFrom: {fieldRef: {fieldPath: metadata.namespace}}` for \
                      the operator's own namespace, or with `value: \"team-a,team-b\"`";

/// The namespaces, named as in `config/`: sorted, without duplicates, at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Watched(BTreeSet<String>);

impl Watched {
    /// Only the operator's own namespace, as in a new project.
    pub(crate) fn own() -> Self {
        Self(BTreeSet::from([NAMESPACE.to_owned()]))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &String> {
        self.0.iter()
    }

    /// Reads the text of `config/manager/manager.yaml`; `own` is the namespace in which the operator is
    /// deployed.
    pub(crate) fn read(text: Option<&str>, own: &str) -> Result<Self, MarkerError> {
        let Some(text) = text else {
            let help = "restore it from version control: it names the namespaces to watch";
            return Err(location(None).error("there is no such file", help));
        };
        let (variables, line) = variables(text)?;
        let at = position(text, line);
        let [variable] = &variables[..] else {
            let message = match variables.len() {
                0 => format!("the container `{CONTAINER}` has no variable `{VARIABLE}`"),
                _ => format!("the container `{CONTAINER}` has `{VARIABLE}` more than once"),
            };
            return Err(at.error(message, OF_POD));
        };
        match (variable.get("value"), variable.get("valueFrom")) {
            (Some(Value::String(value)), None) => Self::parse(value, own, &at),
            (None, Some(from)) if from["fieldRef"]["fieldPath"] == "metadata.namespace" => {
                Ok(Self::own())
            }
            _ => {
                let problem = "names no namespaces that roles can be made for";
                Err(at.error(format!("`{VARIABLE}` {problem}"), OF_POD))
            }
        }
    }

    fn parse(value: &str, own: &str, at: &Location) -> Result<Self, MarkerError> {
        let mut names = BTreeSet::new();
        for name in value.split(',') {
            let is_duplicate = !names.insert(if name == own { NAMESPACE } else { name }.to_owned());
            let wrong = match name {
                "" => "has an empty name".to_owned(),
                NAMESPACE => format!(
                    "has `{NAMESPACE}`, which is the operator's own namespace in `config/`: write `{own}`"
                ),
                name if !is_label(name) => {
                    format!("has `{name}`, which cannot be the name of a namespace")
                }
                name if is_duplicate => format!("has `{name}` twice"),
                _ => continue,
            };
            let help = "write names of namespaces, separated only by commas, such as \
                        `value: \"team-a,team-b\"`";
            return Err(at.error(format!("`{VARIABLE}` {wrong}"), help));
        }
        Ok(Self(names))
    }
}

/// Each entry for the variable in the container of the operator, and the first line of its Deployment.
fn variables(text: &str) -> Result<(Vec<Value>, usize), MarkerError> {
    let (mut found, mut line) = (Vec::new(), 1);
    for part in yaml::documents(text) {
        let document = part.read(MANAGER)?;
        if !objects::is_manager(&document) {
            continue;
        }
        line = part.line;
        let containers = list_of(&document, "/spec/template/spec/containers").iter();
        let managers = containers.filter(|container| container["name"] == CONTAINER);
        let variables = managers.flat_map(|container| list_of(container, "env"));
        let wanted = variables.filter(|variable| variable["name"] == VARIABLE);
        found.extend(wanted.cloned());
    }
    Ok((found, line))
}

/// The first position of the variable from that line on, outside comments.
fn position(text: &str, line: usize) -> Location {
    let numbered = text.lines().enumerate().skip(line - 1);
    let mut lines = numbered.filter(|(_, line)| !line.trim_start().starts_with('#'));
    location(lines.find_map(|(at, line)| {
        let before = line.split_once(VARIABLE)?.0;
        Some((at + 1, before.chars().count() + 1))
    }))
}

/// A line and a column of the file, or its beginning.
fn location(at: Option<(usize, usize)>) -> Location {
    let (line, column) = at.unwrap_or((1, 1));
    Location {
        path: MANAGER.to_owned(),
        line,
        column,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Deployment whose manager has these variables, beside another container, and another Deployment.
    fn manager(variables: &str) -> String {
        let other = "kind: Deployment\nspec: {template: {spec: {containers: [{name: manager, env: [{name: \
                     WATCH_NAMESPACE, value: other}]}]}}}\n---\n";
        format!(
            "{other}kind: Namespace\n---\nkind: Deployment\nmetadata: {{labels: {{control-plane: controller-manager}}}}\nspec:\n  template:\n    spec:\n      containers:\n      \
             - name: other\n        env:\n        - {{name: WATCH_NAMESPACE, value: x}}\n      \
             - name: manager\n        env:\n        # WATCH_NAMESPACE\n        {variables}\n"
        )
    }

    fn read(variable: &str) -> Result<Vec<String>, String> {
        let text = manager(&format!("- {{name: WATCH_NAMESPACE, {variable}}}"));
        let watched = Watched::read(Some(&text), "own-system");
        let names = watched.map(|watched| watched.0.into_iter().collect());
        names.map_err(|error| format!("{error}; {}", error.help))
    }

    #[test]
    fn the_namespaces_are_those_of_the_variable() {
        let of_pod = "valueFrom: {fieldRef: {fieldPath: metadata.namespace}}";
        assert_eq!(read(of_pod), Ok(vec![NAMESPACE.to_owned()]));
        for (value, names) in [
            ("a", &["a"][..]),
            ("b,a-1", &["a-1", "b"]),
            ("own-system,a", &["a", NAMESPACE]),
        ] {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(read(&format!("value: \"{value}\"")), Ok(names), "{value}");
        }
    }

    #[test]
    fn invalid_names_of_namespaces_are_refused_with_their_location() {
        for (value, wrong) in [
            ("", "has an empty name"),
            ("a,", "has an empty name"),
            ("a,,b", "has an empty name"),
            ("a, b", "has ` b`"),
            ("A", "has `A`"),
            ("a.b", "has `a.b`"),
            ("a,b,a", "has `a` twice"),
            ("own-system,own-system", "has `own-system` twice"),
            ("system", "write `own-system`"),
            ("*", "has `*`"),
        ] {
            let refused = read(&format!("value: \"{value}\"")).expect_err(value);
            assert!(
                refused.starts_with("config/manager/manager.yaml:14:"),
                "{refused}"
            );
            assert!(refused.contains(wrong), "{refused}");
            assert!(refused.contains("`value: \"team-a,team-b\"`"), "{refused}");
        }
    }

    #[test]
    fn values_that_kbr_cannot_make_roles_for_are_refused() {
        for variable in [
            "value: 1",
            "value: null",
            "valueFrom: {configMapKeyRef: {name: a, key: b}}",
            "valueFrom: {fieldRef: {fieldPath: metadata.name}}",
        ] {
            let refused = read(variable).expect_err(variable);
            assert!(refused.contains("names no namespaces"), "{refused}");
            assert!(refused.contains("metadata.namespace"), "{refused}");
        }
        let refused = |text: Option<&str>| {
            Watched::read(text, "own-system")
                .expect_err("refused")
                .to_string()
        };
        assert!(refused(None).contains("no such file"));
        assert!(refused(Some(&manager("- {name: OTHER}"))).contains("has no variable"));
        let twice =
            "- {name: WATCH_NAMESPACE, value: a}\n        - {name: WATCH_NAMESPACE, value: b}";
        assert!(refused(Some(&manager(twice))).contains("more than once"));
        let broken = refused(Some("a: b\nc: [\n"));
        assert!(
            broken.starts_with("config/manager/manager.yaml:3:"),
            "{broken}"
        );
    }
}
