//! Compares the guide's table with the types: every spelling in it is tested, and no marker is missing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::{cases, kinds};
use crate::support::REPOSITORY;

/// The markers of controller-gen 0.21, except `items:`; values that Rust spells differently are separate markers.
const MARKERS: &str = "
    groupName versionName genclient genclient:nonNamespaced k8s:deepcopy-gen k8s:deepcopy-gen:interfaces
    kubebuilder:ac:generate kubebuilder:ac:output:package kubebuilder:object:generate kubebuilder:object:root
    kubebuilder:rbac kubebuilder:webhook kubebuilder:webhookconfiguration
    kubebuilder:resource:path kubebuilder:resource:singular kubebuilder:resource:shortName
    kubebuilder:resource:categories kubebuilder:resource:scope=Namespaced kubebuilder:resource:scope=Cluster
    kubebuilder:subresource:status kubebuilder:subresource:scale kubebuilder:printcolumn
    kubebuilder:selectablefield kubebuilder:metadata kubebuilder:storageversion kubebuilder:unservedversion
    kubebuilder:deprecatedversion kubebuilder:skipversion kubebuilder:skip
    kubebuilder:validation:Required kubebuilder:validation:Optional required optional k8s:required k8s:optional
    nullable kubebuilder:default default kubebuilder:example kubebuilder:externalDocs kubebuilder:title
    enum k8s:enum k8s:immutable kubebuilder:pruning:PreserveUnknownFields
    kubebuilder:validation:EmbeddedResource kubebuilder:validation:Schemaless
    kubebuilder:validation:AtMostOneOf kubebuilder:validation:ExactlyOneOf kubebuilder:validation:AtLeastOneOf
    listType=atomic listType=set listType=map listMapKey mapType=granular mapType=atomic
    structType=granular structType=atomic
";

/// The markers that have a variant for the items of a list.
const OF_ITEMS: &str = "
    Maximum Minimum ExclusiveMaximum ExclusiveMinimum MultipleOf MinProperties MaxProperties MaxLength
    MinLength Pattern MaxItems MinItems UniqueItems Enum Format Type XPreserveUnknownFields
    XEmbeddedResource XIntOrString XValidation
";

/// The row that is not a marker of controller-gen.
const OURS: &str = "metadata.name";

struct Row {
    markers: Vec<String>,
    /// The spellings; none if nothing is needed.
    rust: Vec<String>,
}

/// The texts in backticks.
fn spans(cell: &str) -> Vec<String> {
    cell.split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

fn rows() -> Vec<Row> {
    let chapter = fs::read_to_string(Path::new(REPOSITORY).join("src/guide/markers.md"))
        .expect("the chapter");
    let section = chapter
        .split("\n## Markers of controller-gen\n")
        .nth(1)
        .expect("the section");
    let section = section.split("\n## ").next().unwrap_or_default();
    let lines = section.lines().filter(|line| line.starts_with("| `"));
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches(['|', ' ']).split(" | ").collect();
        let [markers, rust, ..] = cells[..] else {
            panic!("not a row: {line}");
        };
        let is_nothing = rust.starts_with("nothing");
        let rust = if is_nothing { Vec::new() } else { spans(rust) };
        assert!(is_nothing || !rust.is_empty(), "{line}");
        Row {
            markers: spans(markers),
            rust,
        }
    };
    lines.map(row).collect()
}

/// The text without white space, and without the comma that rustfmt puts before a line break.
fn bare(text: &str) -> String {
    let mut text: String = text.split_whitespace().collect();
    for close in [")", "]", "}"] {
        text = text.replace(&format!(",{close}"), close);
    }
    text
}

/// The code below each marker in the types, up to the next marker or an empty line.
fn blocks() -> BTreeMap<&'static str, Vec<String>> {
    let mut blocks = BTreeMap::<_, Vec<String>>::new();
    let mut open = Vec::new();
    let mut text = String::new();
    for line in include_str!("types.rs").lines().chain([""]) {
        let comment = line.trim().strip_prefix("// ").unwrap_or_default();
        let marker = (comment.starts_with('+') && !comment.starts_with("+kbr:") || comment == OURS)
            .then_some(comment);
        if (marker.is_some() || line.is_empty()) && !text.is_empty() {
            for marker in open.drain(..) {
                blocks.entry(marker).or_default().push(bare(&text));
            }
            text.clear();
        }
        match marker {
            Some(marker) => open.push(marker),
            None if open.is_empty() => {}
            None => text.push_str(line),
        }
    }
    blocks
}

fn every_marker() -> BTreeSet<String> {
    let all = MARKERS.split_whitespace().map(|name| format!("+{name}"));
    let items = OF_ITEMS.split_whitespace().flat_map(|name| {
        ["", "items:"].map(|items| format!("+kubebuilder:validation:{items}{name}"))
    });
    all.chain(items).chain([OURS.to_owned()]).collect()
}

#[test]
fn the_guide_has_a_row_for_every_marker() {
    let mut rows: Vec<String> = rows().into_iter().flat_map(|row| row.markers).collect();
    let count = rows.len();
    rows.sort();
    rows.dedup();
    assert_eq!(rows.len(), count, "a marker is listed twice");
    assert_eq!(rows, every_marker().into_iter().collect::<Vec<_>>());
}

#[test]
fn the_guide_spells_a_marker_as_the_types_do() {
    let blocks = blocks();
    for Row { markers, rust } in rows() {
        let found: Vec<&String> = markers
            .iter()
            .filter_map(|marker| blocks.get(marker.as_str()))
            .flatten()
            .collect();
        for spelling in &rust {
            let spelling = bare(spelling);
            let is_tested = found.iter().any(|block| block.contains(&spelling));
            assert!(is_tested, "{markers:?}: {spelling}\n{found:#?}");
        }
    }
}

#[test]
fn every_row_with_a_spelling_is_tested() {
    let cases = cases();
    let tested = cases
        .iter()
        .map(|case| case.0)
        .chain(kinds::CHECKS.map(|check| check.0));
    let tested: BTreeSet<&str> = tested.collect();
    let blocks: BTreeSet<&str> = blocks().into_keys().collect();
    assert_eq!(tested, blocks);
    let rows = rows();
    let spelt = rows.iter().filter(|row| !row.rust.is_empty());
    let spelt: BTreeSet<&str> = spelt
        .flat_map(|row| &row.markers)
        .map(String::as_str)
        .collect();
    assert_eq!(tested, spelt);
}
