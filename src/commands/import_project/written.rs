//! The markers and the comments of the Go code in the files of the new project.

use crate::import::go::reconcilers::Reconciler;
use crate::manifests::code_marker;
use crate::project::{Admission, Resource};
use crate::scaffold;

use super::carried::Markers;
use super::model::ControllerKey;

impl Markers {
    /// A scaffolded webhook with the markers of the Go project in place of its own.
    pub(super) fn in_webhook(
        &self,
        resource: &Resource,
        admission: Admission,
        text: &str,
    ) -> Option<String> {
        let key = (resource.gvk(), admission.option());
        let markers = self.of_webhooks.get(&key)?.iter();
        let markers = markers.map(|(marker, place)| format!("// In Go: {place}.\n// {marker}\n"));
        let markers: String = markers.collect();
        let mut lines: Vec<String> = Vec::new();
        for line in text.lines() {
            if line.starts_with("// +kbr:webhook:") {
                // What the scaffold says above its marker is about that marker.
                while lines.pop_if(|above| above.starts_with("// ")).is_some() {}
                lines.push(markers.clone());
            } else {
                lines.push(format!("{line}\n"));
            }
        }
        Some(lines.concat())
    }

    /// `src/lib.rs` with the markers of the rest of the code.
    pub(super) fn in_lib(&self, text: &str) -> Option<String> {
        if self.of_rest.is_empty() {
            return None;
        }
        let mut block = String::new();
        let mut last = None;
        for (marker, file) in &self.of_rest {
            if last.replace(file) != Some(file) {
                block += &format!("// In Go: {file}.\n");
            }
            block += &format!("// {marker}\n");
        }
        let place = "/// The functions that register the controllers";
        Some(if text.contains(place) {
            text.replacen(place, &format!("{block}\n{place}"), 1)
        } else {
            format!("{text}\n{block}")
        })
    }

    /// The controllers as the scaffold of `kbr import project` has them.
    pub(super) fn imported(
        &self,
        key: &ControllerKey,
        reconciler: &Reconciler<'_, '_>,
    ) -> scaffold::Imported {
        let doc = reconciler.function.doc.iter().map(|line| harmless(line));
        let is_wanted = |line: &String| !line.starts_with("nolint") && !line.starts_with("go:");
        scaffold::Imported {
            calls: reconciler.calls.clone(),
            doc: doc.filter(is_wanted).collect(),
            function: reconciler.full_name(),
            markers: self.of_controllers.get(key).cloned().unwrap_or_default(),
            path: reconciler.file.path.to_owned(),
        }
    }
}

/// A line of a comment in Go as one in Rust: nothing that rustc refuses, that rustfmt changes, or that kbr takes for a
/// marker.
fn harmless(line: &str) -> String {
    let is_fine = |c: &char| {
        !c.is_control()
            && !matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    let line: String = line.replace('\t', "    ").chars().filter(is_fine).collect();
    let line = line.trim_end();
    let (markers, errors) = code_marker::read("", &format!("// {line}\n"));
    if markers.is_empty() && errors.is_empty() {
        line.to_owned()
    } else {
        format!("| {line}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_in_go_is_no_marker() {
        assert_eq!(harmless("\tuses kbr:rbac: it"), "    uses kbr:rbac: it");
        assert_eq!(
            harmless("kubebuilder:rbac:groups=x"),
            "| kubebuilder:rbac:groups=x"
        );
        assert_eq!(harmless("a\u{202e}b  "), "ab");
    }
}
