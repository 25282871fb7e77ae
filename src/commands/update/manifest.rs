//! Merges the changes of the scaffold's `Cargo.toml` into an edited one key by key, so that the owner's
//! dependencies, features and order stay. Versions are only raised. Pure.

use std::collections::BTreeSet;

use semver::{Op, VersionReq};
use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, Table, TableLike, Value};

/// `ours` with the changes from `base` to `new`. Without a base, everything that `ours` lacks is added.
/// Dependencies of the workspace that are `inherited` stay. `None` if one of the texts is not TOML.
pub fn merged(
    base: Option<&str>,
    ours: &str,
    new: &str,
    inherited: &BTreeSet<String>,
) -> Option<String> {
    let parse = |text: &str| text.parse::<DocumentMut>().ok();
    let (mut ours, mut new) = (parse(ours)?, parse(new)?);
    let base = match base {
        Some(text) => Some(parse(text)?),
        None => None,
    };
    // A member that the scaffold does not know may inherit any of them.
    let has_other_members = base
        .as_ref()
        .is_some_and(|base| members(&ours) != members(base));
    if let Some((dependencies, old)) = shared_mut(&mut new).zip(shared(&ours)) {
        for (name, item) in old.iter() {
            if has_other_members || inherited.contains(name) {
                dependencies.entry(name).or_insert_with(|| item.clone());
            }
        }
    }
    let base = base.as_ref().map(|base| base.as_table() as &dyn TableLike);
    merge(base, ours.as_table_mut(), new.as_table());
    Some(ours.to_string())
}

/// `text` without the crate `runtime` of a project of kbr 0.1, which has no folder any more.
pub fn without_runtime(text: &str) -> Option<String> {
    const NAME: &str = "runtime";
    let mut manifest: DocumentMut = text.parse().ok()?;
    let is_it = |item: &Item| {
        let path = item.get("path").and_then(Item::as_str);
        path.is_some_and(|path| path.trim_end_matches('/').trim_start_matches("../") == NAME)
    };
    if let Some(members) = manifest
        .get_mut("workspace")
        .and_then(|it| it.get_mut("members"))
        && let Some(members) = members.as_array_mut()
    {
        members.retain(|member| member.as_str() != Some(NAME));
    }
    if let Some(shared) =
        shared_mut(&mut manifest).filter(|shared| shared.get(NAME).is_some_and(is_it))
    {
        shared.remove(NAME);
    }
    for section in SECTIONS {
        let section = manifest.get_mut(section).and_then(Item::as_table_like_mut);
        let is_inherited = |item: &Item| item.get("workspace").is_some();
        if let Some(section) =
            section.filter(|it| it.get(NAME).is_some_and(|it| is_it(it) || is_inherited(it)))
        {
            section.remove(NAME);
        }
    }
    Some(manifest.to_string())
}

/// Sections of a manifest that may inherit dependencies of the workspace.
const SECTIONS: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

/// The dependencies that a manifest inherits from its workspace.
pub fn inherited(text: &str) -> BTreeSet<String> {
    let Ok(manifest) = text.parse::<DocumentMut>() else {
        return BTreeSet::new();
    };
    let targets = manifest.get("target").and_then(Item::as_table_like);
    let targets = targets.into_iter().flat_map(|targets| targets.iter());
    let targets = targets.filter_map(|(_, target)| target.as_table_like());
    let tables = targets.chain([manifest.as_table() as &dyn TableLike]);
    let sections = tables.flat_map(|table| SECTIONS.map(|section| table.get(section)));
    let sections = sections.flatten().filter_map(Item::as_table_like);
    let dependencies = sections.flat_map(|section| section.iter());
    let inherited = dependencies.filter(|(_, item)| item.get("workspace").is_some());
    inherited.map(|(name, _)| name.to_owned()).collect()
}

/// The names of the dependencies of the workspace.
pub fn shared_names(text: &str) -> BTreeSet<String> {
    let manifest = text.parse::<DocumentMut>().unwrap_or_default();
    let shared = shared(&manifest).into_iter();
    let names = shared.flat_map(|shared| shared.iter());
    names.map(|(name, _)| name.to_owned()).collect()
}

fn shared(manifest: &DocumentMut) -> Option<&dyn TableLike> {
    let dependencies = manifest.get("workspace")?.get("dependencies")?;
    dependencies.as_table_like()
}

fn shared_mut(manifest: &mut DocumentMut) -> Option<&mut dyn TableLike> {
    let dependencies = manifest.get_mut("workspace")?.get_mut("dependencies")?;
    dependencies.as_table_like_mut()
}

fn members(manifest: &DocumentMut) -> BTreeSet<String> {
    let members = manifest.get("workspace").and_then(|it| it.get("members"));
    let members = members.and_then(Item::as_array).into_iter().flatten();
    members
        .filter_map(|member| member.as_str().map(str::to_owned))
        .collect()
}

fn merge(base: Option<&dyn TableLike>, ours: &mut dyn TableLike, new: &dyn TableLike) {
    for (key, theirs) in new.iter() {
        let old = base.and_then(|base| base.get(key));
        match ours.get_mut(key) {
            // The owner has removed it.
            None if old.is_some() => {}
            None => drop(ours.insert(key, theirs.clone())),
            Some(item) => merge_item(old, item, theirs),
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
        let comment = comment(ours, &key).filter(|it| comment(base, &key).as_ref() != Some(it));
        let next = ours.iter().map(|(key, _)| key.to_owned());
        let next = next.skip_while(|it| *it != key).nth(1);
        ours.remove(&key);
        // A comment of the owner moves to the next key.
        if let Some((comment, mut next)) = comment.zip(next.and_then(|key| ours.key_mut(&key))) {
            let decor = next.leaf_decor_mut();
            let prefix = decor.prefix().and_then(|prefix| prefix.as_str());
            let prefix = comment + prefix.unwrap_or_default();
            decor.set_prefix(prefix);
        }
    }
}

/// The comment above a key.
fn comment(table: &dyn TableLike, key: &str) -> Option<String> {
    let prefix = table.key(key)?.leaf_decor().prefix()?.as_str()?;
    prefix.contains('#').then(|| prefix.to_owned())
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
}

/// Merges tables such as `[[test]]` by their names.
fn merge_tables(old: Option<&ArrayOfTables>, ours: &mut ArrayOfTables, theirs: &ArrayOfTables) {
    let name = |table: &Table| table.get("name").and_then(Item::as_str).map(str::to_owned);
    for table in theirs {
        let is_it = |it: &&Table| name(it) == name(table);
        let old = old.and_then(|old| old.iter().find(is_it));
        let found = ours.iter_mut().find(|it| name(it) == name(table));
        if let Some(found) = found {
            merge(old.map(|old| old as &dyn TableLike), found, table);
        } else if old.is_none() {
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
        let want = Item::Value(want.into());
        match ours.get_mut("version") {
            Some(version) => replace(version, &want),
            None => replace(ours, &want),
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
    let mut value = value.clone();
    value.decor_mut().clear();
    value.to_string()
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

    fn merged(base: Option<&str>, ours: &str, new: &str) -> Option<String> {
        super::merged(base, ours, new, &BTreeSet::new())
    }

    const BASE: &str = "[package]\nname = \"x\"\nedition = \"2021\"\n\n[dependencies]\nkube = { version = \"4.0\", features = [\"derive\"] }\nserde = \"1\"\nold = \"1\"\ntokio = \"1.40\"\n";

    const NEW: &str = "[package]\nname = \"x\"\nedition = \"2024\"\n\n[dependencies]\nkube = { version = \"5.0\", features = [\"derive\", \"runtime\"] }\nserde = \"1\"\ntokio = \"1.50\"\nnew = \"0.3\"\n\n[lints.rust]\nmissing_docs = \"warn\"\n";

    #[test]
    fn an_unedited_manifest_becomes_the_new_one() {
        let merged = merged(Some(BASE), BASE, NEW).expect("TOML");
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

    #[test]
    fn edits_of_the_owner_stay() {
        let ours = "# mine\n[package]\nname = \"x\"\nedition = \"2021\"\ndescription = \"mine\"\n\n[dependencies]\nmine = \"9\" # why\nkube = { version = \"4.0\", features = [\"ws\", \"derive\"] }\nserde = { version = \"1\", features = [\"rc\"] }\ntokio = \"1.60\"\n\n[profile.release]\nlto = true\n";
        let merged = merged(Some(BASE), ours, NEW).expect("TOML");
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
        let merged = merged(None, ours, NEW).expect("TOML");
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
        let merged = merged(Some(BASE), &ours, NEW).expect("TOML");
        assert!(!merged.contains("tokio"), "{merged}");
    }

    #[test]
    fn nested_tables_are_merged() {
        let base = "[workspace.package]\nedition = \"2021\"\n\n[workspace.old]\na = 1\n";
        let new = "[workspace.package]\nedition = \"2024\"\n";
        let ours = "[workspace.package]\nedition = \"2021\"\n\n[workspace.old]\na = 2\n";
        let edited = merged(Some(base), ours, new).expect("TOML");
        assert_eq!(edited, ours.replace("2021", "2024"));
        assert_eq!(merged(Some(base), base, new).as_deref(), Some(new));
    }

    #[test]
    fn a_comment_is_no_edit_of_a_value_and_moves_to_the_next_key() {
        let base = "[dependencies]\na = \"1\"\nold = \"1\"\nz = \"1\"\n";
        let ours = "[dependencies]\na = \"1\"\n# mine\nold = \"1\" # c\nz = \"1\"\n";
        let new = "[dependencies]\na = \"1\"\nz = \"2\"\n";
        let expected = "[dependencies]\na = \"1\"\n# mine\nz = \"2\"\n";
        assert_eq!(merged(Some(base), ours, new).as_deref(), Some(expected));
    }

    #[test]
    fn items_that_the_scaffold_drops_leave_a_list() {
        let base = "a = [\"x\", \"old\"]\n";
        let ours = "a = [\"mine\", \"x\", \"old\"]\n";
        let new = "a = [\"x\", \"new\"]\n";
        let merged = merged(Some(base), ours, new);
        assert_eq!(merged.as_deref(), Some("a = [\"mine\", \"x\", \"new\"]\n"));
    }

    #[test]
    fn pins_and_crates_from_elsewhere_keep_their_versions() {
        let ours = "[dependencies]\nkube = \"=4.4.1\"\ntokio = { path = \"../tokio\", version = \"1.0\" }\n";
        let merged = merged(Some(BASE), ours, NEW).expect("TOML");
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
        let merged = merged(Some(base), ours, new).expect("TOML");
        let expected = format!("{ours}test = false\n");
        assert_eq!(merged, expected);
    }

    #[test]
    fn dependencies_that_another_member_may_inherit_stay() {
        let base =
            "[workspace]\nmembers = [\"api\"]\n\n[workspace.dependencies]\na = \"1\"\nb = \"1\"\n";
        let new = "[workspace]\nmembers = [\"api\"]\n\n[workspace.dependencies]\na = \"1\"\n";
        assert_eq!(merged(Some(base), base, new).as_deref(), Some(new));
        let inherited = BTreeSet::from(["b".to_owned()]);
        let kept = super::merged(Some(base), base, new, &inherited);
        assert_eq!(kept.as_deref(), Some(base));
        let ours = base.replace("[\"api\"]", "[\"api\", \"mine\"]");
        assert_eq!(merged(Some(base), &ours, new), Some(ours));
    }

    #[test]
    fn inherited_dependencies_are_found_in_every_section() {
        let text = "[dependencies]\na.workspace = true\nb = \"1\"\n\n[dev-dependencies]\nc = { workspace = true }\n\n[target.'cfg(unix)'.dependencies]\nd.workspace = true\n";
        let names: Vec<String> = inherited(text).into_iter().collect();
        assert_eq!(names, ["a", "c", "d"]);
    }

    #[test]
    fn the_crate_runtime_leaves_a_manifest() {
        let text = "[workspace]\nmembers = [\"api\", \"runtime\"]\n\n[dependencies]\nruntime = { path = \"runtime\", features = [\"a\"] }\nmine = \"1\"\n";
        let expected = "[workspace]\nmembers = [\"api\"]\n\n[dependencies]\nmine = \"1\"\n";
        assert_eq!(without_runtime(text).as_deref(), Some(expected));
        for source in ["\"1\"", "{ path = \"../my-runtime\" }"] {
            let other = format!("[dependencies]\nruntime = {source}\n");
            assert_eq!(without_runtime(&other), Some(other));
        }
    }

    #[test]
    fn text_that_is_not_toml_is_not_merged() {
        assert_eq!(merged(None, "<<<<<<<\n", NEW), None);
    }
}
