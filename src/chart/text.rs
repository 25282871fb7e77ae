//! Values with marks, as the text of a template. Pure.
//!
//! A mark is a string, also as a key of a map, that begins with a private character. When the YAML is written, a word
//! stands for each mark; afterwards the mark's text replaces the word, with its indentation.

use serde_json::{Map, Value};

use crate::kustomize::mark::{NAME, NAMESPACE};
use crate::yaml;

/// Begins lines of a template.
const LINES: char = '\u{e004}';

/// Begins the text of a value.
const INLINE: char = '\u{e005}';

/// Begins a condition, and the JSON of what depends on it.
const WHEN: char = '\u{e006}';

/// The name of the chart, as in the label of its objects.
pub(super) const CHART_NAME: &str = "\u{e007}";

/// Begins and ends the key of a value of the chart, in a text.
const VALUE: [char; 2] = ['\u{e008}', '\u{e009}'];

/// In lines of a template: the number of spaces in front of them.
pub(super) const INDENT: &str = "INDENT";

/// A value with exactly that text.
pub(super) fn inline(text: &str) -> Value {
    format!("{INLINE}{text}").into()
}

/// The value of the chart with that key, as a part of a text.
pub(super) fn value(key: &str) -> String {
    let [begin, end] = VALUE;
    format!("{begin}{key}{end}")
}

/// Lines of a template: an item of a list, or a key of a map whose value is null.
pub(super) fn lines(text: &str) -> String {
    format!("{LINES}{text}")
}

/// The items of a list, or the entries of a map, that are there only under a condition.
pub(super) fn when(condition: &str, content: &Value) -> String {
    format!("{WHEN}{condition}{WHEN}{content}")
}

/// The text of a template with that value; `project` is the prefix of the chart's named templates.
pub(super) fn template(value: &Value, project: &str) -> String {
    let mut writer = Writer {
        project,
        blocks: Vec::new(),
    };
    let text = writer.yaml(value);
    writer.expanded(&text, 0)
}

struct Writer<'a> {
    project: &'a str,
    /// The text of each mark.
    blocks: Vec<String>,
}

const BEGIN: &str = "kbr-mark-";
const END: &str = "-of-the-chart";

impl Writer<'_> {
    /// The YAML of a value, with words for marks.
    fn yaml(&mut self, value: &Value) -> String {
        let words = self.words(value);
        // These braces are the user's.
        yaml::write(&words).replace("{{", "{{ \"{{\" }}")
    }

    fn words(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.word(text).into(),
            Value::Array(list) => list.iter().map(|item| self.words(item)).collect(),
            Value::Object(map) => {
                let pairs = map.iter();
                let pairs: Map<String, Value> = pairs
                    .map(|(key, value)| (self.word(key), self.words(value)))
                    .collect();
                pairs.into()
            }
            other => other.clone(),
        }
    }

    /// The word for a mark, or the text itself.
    fn word(&mut self, text: &str) -> String {
        let block = match text.chars().next() {
            Some(LINES) => text[LINES.len_utf8()..].to_owned(),
            Some(INLINE) => text[INLINE.len_utf8()..].to_owned(),
            Some(WHEN) => {
                let mut parts = text[WHEN.len_utf8()..].splitn(2, WHEN);
                let condition = parts.next().unwrap_or_default();
                let content = parts.next().unwrap_or_default();
                let content: Value = serde_json::from_str(content).unwrap_or_default();
                let content = self.yaml(&content);
                format!("{{{{- if {condition} }}}}\n{content}{{{{- end }}}}")
            }
            _ if [NAMESPACE, CHART_NAME]
                .into_iter()
                .any(|it| text.contains(it))
                || text.contains([NAME[0], VALUE[0]]) =>
            {
                self.quoted(text)
            }
            _ => return text.to_owned(),
        };
        self.blocks.push(block);
        format!("{BEGIN}{}{END}", self.blocks.len() - 1)
    }

    /// A quoted string with names, the namespace or the name of the chart in it.
    fn quoted(&self, text: &str) -> String {
        let [begin, end] = NAME;
        let json = Value::from(text).to_string().replace("{{", "{{ \"{{\" }}");
        let mut quoted = json.replace(NAMESPACE, "{{ $.Release.Namespace }}");
        let chart = format!("{{{{ include \"{}.name\" $ }}}}", self.project);
        quoted = quoted.replace(CHART_NAME, &chart);
        let object = format!("{{{{ include \"{}.objectName\" (list $ \"", self.project);
        quoted = quoted.replace(begin, &object).replace(end, "\") }}");
        let [begin, end] = VALUE;
        quoted.replace(begin, "{{ $.Values.").replace(end, " }}")
    }

    /// The text with what the words stand for; `indent` spaces will be in front of each line.
    fn expanded(&self, text: &str, indent: usize) -> String {
        let mut expanded = String::new();
        for line in text.lines() {
            let Some((before, block, after)) = self.split(line) else {
                expanded.push_str(line);
                expanded.push('\n');
                continue;
            };
            let own = line.len() - line.trim_start().len();
            let is_whole =
                ["", "- "].contains(&before.trim_start()) && ["", ": null"].contains(&after);
            if !is_whole || before.ends_with("- ") && !block.starts_with("{{-") {
                expanded.push_str(&self.expanded(&format!("{before}{block}{after}"), indent));
                continue;
            }
            for line in self.expanded(block, indent + own).lines() {
                expanded.push_str(&" ".repeat(if line.is_empty() { 0 } else { own }));
                expanded.push_str(&numbered(line, indent + own));
                expanded.push('\n');
            }
        }
        expanded
    }

    /// What is before the first word in a line, what it stands for, and what is after it.
    fn split<'a>(&'a self, line: &'a str) -> Option<(&'a str, &'a str, &'a str)> {
        let (before, rest) = line.split_once(BEGIN)?;
        let (number, after) = rest.split_once(END)?;
        let block = self.blocks.get(number.parse::<usize>().ok()?)?;
        Some((before, block, after))
    }
}

/// The line with numbers for `INDENT` and `INDENT+2`.
fn numbered(line: &str, indent: usize) -> String {
    let inner = format!("{INDENT}+2");
    let line = line.replace(&inner, &(indent + 2).to_string());
    line.replace(INDENT, &indent.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kustomize::mark::name;
    use serde_json::json;

    #[test]
    fn marks_become_templates() {
        let conditional = when(
            ".Values.a",
            &json!([{ "name": name("x.y"), "text": "{{ b }}" }]),
        );
        let value = json!({
            "name": name("a"),
            "host": format!("{}.{NAMESPACE}.svc", name("a")),
            "query": format!("up{{job=\"{CHART_NAME}\"}}"),
            "replicas": inline("{{ .Values.replicas }}"),
            "list": [1, conditional],
            "map": { "a": 1, lines("{{- with .Values.b }}\nb:\n  {{- toYaml . | nindent INDENT+2 }}\n{{- end }}"): null },
        });
        let expected = r#"name: "{{ include "p.objectName" (list $ "a") }}"
host: "{{ include "p.objectName" (list $ "a") }}.{{ $.Release.Namespace }}.svc"
query: "up{job=\"{{ include "p.name" $ }}\"}"
replicas: {{ .Values.replicas }}
list:
- 1
{{- if .Values.a }}
- name: "{{ include "p.objectName" (list $ "x.y") }}"
  text: "{{ "{{" }} b }}"
{{- end }}
map:
  a: 1
  {{- with .Values.b }}
  b:
    {{- toYaml . | nindent 4 }}
  {{- end }}
"#;
        assert_eq!(template(&value, "p"), expected);
    }
}
