//! `Cargo.toml`: the only reader and editor of manifests, which leaves everything else in them as it is.
//!
//! `kbr update` merges the changes of the scaffold key by key, so that the owner's dependencies, features and
//! order stay; versions are only raised. Pure.

pub(crate) mod packages;

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use miette::Diagnostic;
use semver::{Op, VersionReq};
use thiserror::Error;
use toml_edit::{
    Array, ArrayOfTables, DocumentMut, Item, KeyMut, Table, TableLike, TomlError, Value,
};

/// Sections of a manifest that may inherit dependencies of the workspace.
const SECTIONS: [&str; 3] = [DEPENDENCIES, "dev-dependencies", "build-dependencies"];

const DEPENDENCIES: &str = "dependencies";

/// A manifest with its comments.
#[derive(Debug, Clone)]
pub(crate) struct Manifest(DocumentMut);

impl FromStr for Manifest {
    type Err = TomlError;

    fn from_str(text: &str) -> Result<Self, TomlError> {
        text.parse().map(Self)
    }
}

/// A manifest that cannot be read.
#[derive(Debug, Error, Diagnostic)]
#[error("`{path}:{line}` {problem}")]
#[diagnostic(code("toml-invalid"), help("{help}"))]
pub(crate) struct ManifestError {
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) problem: String,
    /// What to do.
    pub(crate) help: &'static str,
}

impl fmt::Display for Manifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Manifest {
    /// Reads the file at `path`, which has this text, or none for that reason.
    pub(crate) fn read(path: &str, text: Result<&str, &str>) -> Result<Self, ManifestError> {
        let wrong = |line, problem, help| ManifestError {
            path: path.to_owned(),
            line,
            problem,
            help,
        };
        let text = text.map_err(|why| {
            let problem = format!("{why}, and kbr reads only text files of at most 8 MiB");
            wrong(1, problem, "put a file with its text there")
        })?;
        text.parse().map_err(|error: TomlError| {
            let start = error.span().map_or(0, |span| span.start);
            let line = text.bytes().take(start).filter(|it| *it == b'\n').count() + 1;
            let problem = format!("is not TOML: {}", error.message().replace('\n', ", "));
            wrong(line, problem, "correct the line")
        })
    }

    /// The version of the package, also if it is that of the workspace.
    pub(crate) fn version(&self) -> Option<String> {
        let own = self.0.get("package")?.get("version")?;
        let inherited = || {
            self.0
                .get("workspace")?
                .get("package")?
                .get("version")?
                .as_str()
        };
        own.as_str().or_else(inherited).map(str::to_owned)
    }

    /// Removes these crates from the dependencies; returns whether there was one.
    pub(crate) fn remove(&mut self, crates: &[String]) -> bool {
        let Some(dependencies) = self.section_mut(DEPENDENCIES) else {
            return false;
        };
        let found: Vec<&String> = crates
            .iter()
            .filter(|it| dependencies.contains_key(it))
            .collect();
        for name in &found {
            remove(dependencies, name, None);
        }
        !found.is_empty()
    }

    /// Adds those of these crates to the dependencies that `other` has; returns whether there was one. Sorted
    /// dependencies stay sorted, as with `cargo add`.
    pub(crate) fn add(&mut self, crates: &[String], other: &Self) -> bool {
        let theirs = other.0.get(DEPENDENCIES).and_then(Item::as_table);
        let ours = self.0.get_mut(DEPENDENCIES).and_then(Item::as_table_mut);
        let Some((ours, theirs)) = ours.zip(theirs) else {
            return false;
        };
        let was_sorted = ours.iter().is_sorted_by_key(|(name, _)| name.to_owned());
        let mut is_changed = false;
        for name in crates {
            if let Some((key, item)) = theirs.get_key_value(name)
                && !ours.contains_key(name)
            {
                ours.insert_formatted(key, item.clone());
                is_changed = true;
            }
        }
        if was_sorted {
            ours.sort_values();
        }
        is_changed
    }

    /// Merges the changes from `base` to `new`. Without a base, everything that this manifest lacks is added.
    /// Dependencies of the workspace that are `inherited` stay.
    pub(crate) fn merge(
        &mut self,
        base: Option<&Self>,
        mut new: Self,
        inherited: &BTreeSet<String>,
    ) {
        // A member that the scaffold does not know may inherit any of them.
        let has_other_members = base.is_some_and(|base| self.members() != base.members());
        if let Some((dependencies, old)) = new.shared_mut().zip(self.shared()) {
            for (name, item) in old.iter() {
                if has_other_members || inherited.contains(name) {
                    dependencies.entry(name).or_insert_with(|| item.clone());
                }
            }
        }
        let old_table = base.map(|base| base.0.as_table() as &dyn TableLike);
        merge(old_table, self.0.as_table_mut(), new.0.as_table());
    }

    /// The dependencies that the manifest inherits from its workspace.
    pub(crate) fn inherited(&self) -> BTreeSet<String> {
        let targets = self.0.get("target").and_then(Item::as_table_like);
        let entries = targets.into_iter().flat_map(|targets| targets.iter());
        let of_targets = entries.filter_map(|(_, target)| target.as_table_like());
        let tables = of_targets.chain([self.0.as_table() as &dyn TableLike]);
        let sections = tables.flat_map(|table| SECTIONS.map(|section| table.get(section)));
        let existing = sections.flatten().filter_map(Item::as_table_like);
        let dependencies = existing.flat_map(|section| section.iter());
        let inherited = dependencies.filter(|(_, item)| item.get("workspace").is_some());
        inherited.map(|(name, _)| name.to_owned()).collect()
    }

    /// The names of the dependencies of the workspace.
    pub(crate) fn shared_names(&self) -> BTreeSet<String> {
        let names = self.shared().into_iter().flat_map(|shared| shared.iter());
        names.map(|(name, _)| name.to_owned()).collect()
    }

    fn section_mut(&mut self, name: &str) -> Option<&mut dyn TableLike> {
        self.0.get_mut(name)?.as_table_like_mut()
    }

    fn shared(&self) -> Option<&dyn TableLike> {
        let workspace = self.0.get("workspace")?;
        workspace.get(DEPENDENCIES)?.as_table_like()
    }

    fn shared_mut(&mut self) -> Option<&mut dyn TableLike> {
        let workspace = self.0.get_mut("workspace")?;
        workspace.get_mut(DEPENDENCIES)?.as_table_like_mut()
    }

    fn members(&self) -> BTreeSet<&str> {
        let workspace = self.0.get("workspace");
        let members = workspace.and_then(|it| it.get("members")?.as_array());
        let values = members.into_iter().flatten();
        values.filter_map(Value::as_str).collect()
    }
}

fn merge(base: Option<&dyn TableLike>, ours: &mut dyn TableLike, new: &dyn TableLike) {
    for (key, theirs) in new.iter() {
        let old = base.and_then(|base| base.get(key));
        match ours.get_mut(key) {
            // The owner has removed it.
            None if old.is_some() => {}
            None => drop(ours.insert(key, theirs.clone())),
            Some(item) => {
                merge_item(old, item, theirs);
                if let Some(base) = base {
                    merge_comment(base, ours, new, key);
                }
            }
        }
    }
    let Some(base) = base else { return };
    let removed: Vec<String> = base
        .iter()
        .filter(|(key, old)| {
            let is_untouched = |item: &Item| text(item) == text(old);
            !new.contains_key(key) && ours.get(key).is_some_and(is_untouched)
        })
        .map(|(key, _)| key.to_owned())
        .collect();
    for key in removed {
        remove(ours, &key, Some(base));
    }
}

/// Changes the comment above a key as the scaffold does, unless the owner has changed it.
fn merge_comment(base: &dyn TableLike, ours: &mut dyn TableLike, new: &dyn TableLike, key: &str) {
    let (old, theirs) = (comment(base, key), comment(new, key));
    if old != theirs
        && old == comment(ours, key)
        && let Some(mut key) = last_of_dotted(ours, key)
    {
        let own = key.leaf_decor().prefix().and_then(|it| it.as_str());
        // Blank lines are the owner's.
        let own = own.unwrap_or_default();
        let blank = &own[..own.len() - own.trim_start_matches('\n').len()];
        let theirs = theirs.unwrap_or_default();
        let prefix = format!("{blank}{}", theirs.trim_start_matches('\n'));
        key.leaf_decor_mut().set_prefix(prefix);
    }
}

/// Removes a key. A comment above it that is not in `base` is the owner's, and moves to the next key.
fn remove(table: &mut dyn TableLike, key: &str, base: Option<&dyn TableLike>) {
    let scaffolds = base.and_then(|base| comment(base, key));
    let comment = comment(table, key).filter(|it| scaffolds.as_ref() != Some(it));
    let keys = table.iter().map(|(key, _)| key.to_owned());
    let next = keys.skip_while(|it| it != key).nth(1);
    table.remove(key);
    if let Some((comment, mut next)) = comment.zip(next.and_then(|key| last_of_dotted(table, &key)))
    {
        let decor = next.leaf_decor_mut();
        let own = decor.prefix().and_then(|prefix| prefix.as_str());
        decor.set_prefix(comment + own.unwrap_or_default());
    }
}

/// The comment above a key.
fn comment(table: &dyn TableLike, key: &str) -> Option<String> {
    if let Some((inner, first)) = dotted(table, key) {
        return comment(inner, &first);
    }
    let prefix = table.key(key)?.leaf_decor().prefix()?.as_str()?;
    prefix.contains('#').then(|| prefix.to_owned())
}

/// The key that has the comment above `key`: the last one of a dotted key.
fn last_of_dotted<'a>(table: &'a mut dyn TableLike, key: &str) -> Option<KeyMut<'a>> {
    match dotted(table, key).map(|(_, first)| first) {
        Some(first) => {
            let inner = table.get_mut(key)?.as_table_mut()?;
            last_of_dotted(inner, &first)
        }
        None => table.key_mut(key),
    }
}

/// The table of a dotted key, such as `a` in `a.b = 1`, with its first key.
fn dotted<'a>(table: &'a dyn TableLike, key: &str) -> Option<(&'a dyn TableLike, String)> {
    let inner = table.get(key)?.as_table().filter(|it| it.is_dotted())?;
    let (first, _) = inner.iter().next()?;
    Some((inner as &dyn TableLike, first.to_owned()))
}

fn merge_item(old: Option<&Item>, ours: &mut Item, theirs: &Item) {
    if old.is_some_and(|old| text(old) == text(theirs)) || text(ours) == text(theirs) {
        return;
    }
    if old.is_some_and(|old| text(old) == text(ours)) {
        return replace(ours, theirs);
    }
    if let (Some(ours), Some(theirs)) = (ours.as_table_like_mut(), theirs.as_table_like()) {
        return merge(old.and_then(Item::as_table_like), ours, theirs);
    }
    if let (Some(ours), Some(theirs)) = (ours.as_array_mut(), theirs.as_array()) {
        return merge_list(old.and_then(Item::as_array), ours, theirs);
    }
    if let Some((ours, theirs)) = ours
        .as_array_of_tables_mut()
        .zip(theirs.as_array_of_tables())
    {
        return merge_tables(old.and_then(Item::as_array_of_tables), ours, theirs);
    }
    raise(ours, theirs);
}

/// Appends the new items of a list, and removes those that the scaffold no longer has.
fn merge_list(old: Option<&Array>, ours: &mut Array, theirs: &Array) {
    let has = |list: &Array, value: &Value| list.iter().any(|it| bare(it) == bare(value));
    for value in theirs {
        if !has(ours, value) && !old.is_some_and(|old| has(old, value)) {
            ours.push(value.clone());
        }
    }
    if let Some(old) = old {
        ours.retain(|value| has(theirs, value) || !has(old, value));
    }
    // Only one of these features can be on: it is raised, as versions are.
    let newest = ours.iter().filter_map(kubernetes).max();
    ours.retain(|value| kubernetes(value).is_none_or(|minor| Some(minor) == newest));
}

/// The minor version of Kubernetes that a feature of k8s-openapi, such as `v1_37`, stands for.
fn kubernetes(feature: &Value) -> Option<u32> {
    feature.as_str()?.strip_prefix("v1_")?.parse().ok()
}

/// Merges tables such as `[[test]]` by their names.
fn merge_tables(old: Option<&ArrayOfTables>, ours: &mut ArrayOfTables, theirs: &ArrayOfTables) {
    let name = |table: &Table| table.get("name").and_then(Item::as_str).map(str::to_owned);
    for table in theirs {
        let is_it = |it: &&Table| name(it) == name(table);
        let before = old.and_then(|old| old.iter().find(is_it));
        let found = ours.iter_mut().find(|it| name(it) == name(table));
        if let Some(found) = found {
            merge(before.map(|it| it as &dyn TableLike), found, table);
        } else if before.is_none() {
            ours.push(table.clone());
        }
    }
}

/// Raises a version, or the version of a dependency, to that of the scaffold if it is lower.
fn raise(ours: &mut Item, theirs: &Item) {
    // Of a crate from elsewhere, the version is the owner's business.
    if ["path", "git"].iter().any(|key| ours.get(key).is_some()) {
        return;
    }
    let version = |item: &Item| {
        let version = item.get("version").unwrap_or(item);
        version.as_str().map(str::to_owned)
    };
    let (Some(have), Some(want)) = (version(ours), version(theirs)) else {
        return;
    };
    if is_lower(&have, &want) {
        let wanted = Item::Value(want.into());
        match ours.get_mut("version") {
            Some(version) => replace(version, &wanted),
            None => replace(ours, &wanted),
        }
    }
}

/// Whether one plain requirement, such as `1.2`, is lower than another.
fn is_lower(have: &str, want: &str) -> bool {
    let first = |text: &str| {
        let requirement = VersionReq::parse(text).ok()?;
        match &requirement.comparators[..] {
            [one] if one.op == Op::Caret => Some((one.major, one.minor, one.patch)),
            _ => None,
        }
    };
    matches!((first(have), first(want)), (Some(have), Some(want)) if have < want)
}

/// Replaces a value, and keeps the comments and spaces around it.
fn replace(ours: &mut Item, theirs: &Item) {
    let decor = ours.as_value().map(|value| value.decor().clone());
    *ours = theirs.clone();
    if let (Some(decor), Some(value)) = (decor, ours.as_value_mut()) {
        *value.decor_mut() = decor;
    }
}

/// The text of a value, without the comments and spaces around it.
fn bare(value: &Value) -> String {
    let mut bare = value.clone();
    bare.decor_mut().clear();
    bare.to_string()
}

/// The text of an item, without what is around it. A table alone would omit its nested tables.
fn text(item: &Item) -> String {
    match item {
        Item::Value(value) => bare(value),
        item => {
            let mut document = DocumentMut::new();
            document.insert("item", item.clone());
            document.to_string()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(text: &str) -> Manifest {
        text.parse().expect("TOML")
    }

    fn merged(base: Option<&str>, ours: &str, new: &str) -> String {
        merged_with(base, ours, new, &BTreeSet::new())
    }

    fn merged_with(
        base: Option<&str>,
        ours: &str,
        new: &str,
        inherited: &BTreeSet<String>,
    ) -> String {
        let mut ours = manifest(ours);
        ours.merge(base.map(manifest).as_ref(), manifest(new), inherited);
        ours.to_string()
    }

    const BASE: &str = "[package]\nname = \"x\"\nedition = \"2021\"\n\n[dependencies]\nkube = { version = \"4.0\", features = [\"derive\"] }\nserde = \"1\"\nold = \"1\"\ntokio = \"1.40\"\n";

    const NEW: &str = "[package]\nname = \"x\"\nedition = \"2024\"\n\n[dependencies]\nkube = { version = \"5.0\", features = [\"derive\", \"runtime\"] }\nserde = \"1\"\ntokio = \"1.50\"\nnew = \"0.3\"\n\n[lints.rust]\nmissing_docs = \"warn\"\n";

    #[test]
    fn an_unedited_manifest_becomes_the_new_one() {
        let merged = merged(Some(BASE), BASE, NEW);
        let parsed: DocumentMut = merged.parse().expect("TOML");
        let new: DocumentMut = NEW.parse().expect("TOML");
        assert_eq!(
            parsed["dependencies"]["kube"].to_string().trim(),
            new["dependencies"]["kube"].to_string().trim()
        );
        assert!(parsed["dependencies"].get("old").is_none());
        assert_eq!(parsed["package"]["edition"].as_str(), Some("2024"));
        assert_eq!(
            parsed["lints"]["rust"]["missing_docs"].as_str(),
            Some("warn")
        );
    }

    /// k8s-openapi compiles with one of them only.
    #[test]
    fn one_version_of_kubernetes_is_left() {
        let with = |features: &str| {
            format!(
                "[dependencies]\nk8s-openapi = {{ version = \"0.29\", features = [{features}] }}\n"
            )
        };
        let new = with("\"schemars\", \"v1_37\"");
        let base = with("\"schemars\", \"v1_36\"");
        let older = with("\"mine\", \"schemars\", \"v1_35\"");
        let newer = with("\"schemars\", \"v1_38\"");

        for base in [None, Some(&*base)] {
            assert_eq!(merged(base, &with("\"schemars\", \"v1_36\""), &new), new);
            let raised = merged(base, &older, &new);
            assert_eq!(raised, with("\"mine\", \"schemars\", \"v1_37\""));
            assert_eq!(merged(base, &newer, &new), newer);
        }
    }

    #[test]
    fn edits_of_the_owner_stay() {
        let ours = "# mine\n[package]\nname = \"x\"\nedition = \"2021\"\ndescription = \"mine\"\n\n[dependencies]\nmine = \"9\" # why\nkube = { version = \"4.0\", features = [\"ws\", \"derive\"] }\nserde = { version = \"1\", features = [\"rc\"] }\ntokio = \"1.60\"\n\n[profile.release]\nlto = true\n";
        let merged = merged(Some(BASE), ours, NEW);
        for line in [
            "# mine\n",
            "description = \"mine\"\n",
            "edition = \"2024\"\n",
            "mine = \"9\" # why\n",
            "kube = { version = \"5.0\", features = [\"ws\", \"derive\", \"runtime\"] }\n",
            "serde = { version = \"1\", features = [\"rc\"] }\n",
            // Already higher.
            "tokio = \"1.60\"\n",
            "new = \"0.3\"\n",
            "[profile.release]\nlto = true\n",
        ] {
            assert!(merged.contains(line), "{line}\n{merged}");
        }
        // The owner did not keep it, and it is no longer emitted.
        assert!(!merged.contains("old"), "{merged}");
    }

    #[test]
    fn without_a_base_versions_are_raised_and_nothing_is_removed() {
        let ours = "[dependencies]\nkube = \"4.0\"\nold = \"1\"\ntokio = { version = \"1.40\" }\n";
        let merged = merged(None, ours, NEW);
        for line in [
            "kube = \"5.0\"\n",
            "old = \"1\"\n",
            "tokio = { version = \"1.50\" }\n",
            "new = \"0.3\"\n",
        ] {
            assert!(merged.contains(line), "{line}\n{merged}");
        }
    }

    #[test]
    fn removed_keys_stay_removed() {
        let ours = BASE.replace("tokio = \"1.40\"\n", "");
        let merged = merged(Some(BASE), &ours, NEW);
        assert!(!merged.contains("tokio"), "{merged}");
    }

    #[test]
    fn nested_tables_are_merged() {
        let base = "[workspace.package]\nedition = \"2021\"\n\n[workspace.old]\na = 1\n";
        let new = "[workspace.package]\nedition = \"2024\"\n";
        let ours = "[workspace.package]\nedition = \"2021\"\n\n[workspace.old]\na = 2\n";
        let edited = merged(Some(base), ours, new);
        assert_eq!(edited, ours.replace("2021", "2024"));
        assert_eq!(merged(Some(base), base, new), new);
    }

    #[test]
    fn a_comment_is_no_edit_of_a_value_and_moves_to_the_next_key() {
        let base = "[dependencies]\na = \"1\"\nold = \"1\"\nz = \"1\"\n";
        let ours = "[dependencies]\na = \"1\"\n# mine\nold = \"1\" # c\nz = \"1\"\n";
        let new = "[dependencies]\na = \"1\"\nz = \"2\"\n";
        let expected = "[dependencies]\na = \"1\"\n# mine\nz = \"2\"\n";
        assert_eq!(merged(Some(base), ours, new), expected);
    }

    #[test]
    fn a_comment_changes_with_the_scaffold_unless_the_owner_has_changed_it() {
        let [base, new] = [
            "[a]\n# old\nb = 1\nc = 2\n",
            "[a]\n# new\nb = 1\n# more\nc = 2\n",
        ];
        let ours = "[a]\n# old\nb = 1\nc = 2\nmine = 3\n";
        let expected = "[a]\n# new\nb = 1\n# more\nc = 2\nmine = 3\n";
        assert_eq!(merged(Some(base), ours, new), expected);
        let ours = "[a]\n# mine\nb = 1\nc = 2\n";
        let expected = "[a]\n# mine\nb = 1\n# more\nc = 2\n";
        assert_eq!(merged(Some(base), ours, new), expected);
    }

    #[test]
    fn a_comment_moves_to_a_dotted_key_too() {
        let ours = "[dependencies]\n# mine\nold.workspace = true\nz.workspace = true\n";
        let mut manifest = manifest(ours);
        assert!(manifest.remove(&["old".to_owned()]));
        let expected = "[dependencies]\n# mine\nz.workspace = true\n";
        assert_eq!(manifest.to_string(), expected);
    }

    #[test]
    fn items_that_the_scaffold_drops_leave_a_list() {
        let base = "a = [\"x\", \"old\"]\n";
        let ours = "a = [\"mine\", \"x\", \"old\"]\n";
        let new = "a = [\"x\", \"new\"]\n";
        let merged = merged(Some(base), ours, new);
        assert_eq!(merged, "a = [\"mine\", \"x\", \"new\"]\n");
    }

    #[test]
    fn pins_and_crates_from_elsewhere_keep_their_versions() {
        let ours = "[dependencies]\nkube = \"=4.4.1\"\ntokio = { path = \"../tokio\", version = \"1.0\" }\n";
        let merged = merged(Some(BASE), ours, NEW);
        assert!(
            merged.starts_with("[dependencies]\nkube = \"=4.4.1\"\n"),
            "{merged}"
        );
        assert!(
            merged.contains("path = \"../tokio\", version = \"1.0\""),
            "{merged}"
        );
    }

    #[test]
    fn targets_are_merged_by_name() {
        let base = "[[test]]\nname = \"old\"\n";
        let ours = "[[test]]\nname = \"mine\"\n\n[[test]]\nname = \"a\"\nharness = false\n";
        let new = "[[test]]\nname = \"a\"\ntest = false\n\n[[test]]\nname = \"old\"\n";
        let merged = merged(Some(base), ours, new);
        let expected = format!("{ours}test = false\n");
        assert_eq!(merged, expected);
    }

    #[test]
    fn dependencies_that_another_member_may_inherit_stay() {
        let base =
            "[workspace]\nmembers = [\"api\"]\n\n[workspace.dependencies]\na = \"1\"\nb = \"1\"\n";
        let new = "[workspace]\nmembers = [\"api\"]\n\n[workspace.dependencies]\na = \"1\"\n";
        assert_eq!(merged(Some(base), base, new), new);
        let inherited = BTreeSet::from(["b".to_owned()]);
        let kept = merged_with(Some(base), base, new, &inherited);
        assert_eq!(kept, base);
        let ours = base.replace("[\"api\"]", "[\"api\", \"mine\"]");
        assert_eq!(merged(Some(base), &ours, new), ours);
    }

    #[test]
    fn inherited_dependencies_are_found_in_every_section() {
        let text = "[dependencies]\na.workspace = true\nb = \"1\"\n\n[dev-dependencies]\nc = { workspace = true }\n\n[target.'cfg(unix)'.dependencies]\nd.workspace = true\n";
        let names: Vec<String> = manifest(text).inherited().into_iter().collect();
        assert_eq!(names, ["a", "c", "d"]);
    }

    #[test]
    fn a_crate_is_added_as_cargo_does_and_removed_without_a_trace() {
        let with = "[workspace.dependencies]\nb = \"1\"\n\n# Mine.\n[dependencies]\na = \"1\" # a\n# b\nb = \"1\"\nc.workspace = true\n\n[dev-dependencies]\nb = \"1\"\n";
        let crates = ["b".to_owned(), "other".to_owned()];
        let mut without = manifest(with);
        assert!(without.remove(&crates));
        let expected = with.replace("b = \"1\"\nc.w", "c.w");
        assert_eq!(without.to_string(), expected);
        assert!(!without.remove(&crates));
        let mut without = manifest(&expected.replace("# b\n", ""));
        let plain = manifest(&with.replace("# b\n", ""));
        assert!(without.add(&crates, &plain));
        assert_eq!(without.to_string(), plain.to_string());
        assert!(!without.add(&crates, &plain));
    }
}
