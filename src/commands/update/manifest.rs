//! Merges the changes of the scaffold's `Cargo.toml` into an edited one key by key, so that the owner's
//! dependencies, features and order stay. Versions are only raised. Pure.

use semver::VersionReq;
use toml_edit::{Array, DocumentMut, Item, TableLike, Value};

/// `ours` with the changes from `base` to `new`. Without a base, everything that `ours` lacks is added.
/// `None` if one of them is not TOML.
pub fn merged(base: Option<&str>, ours: &str, new: &str) -> Option<String> {
    let parse = |text: &str| text.parse::<DocumentMut>().ok();
    let (mut ours, new) = (parse(ours)?, parse(new)?);
    let base = match base {
        Some(text) => Some(parse(text)?),
        None => None,
    };
    let base = base.as_ref().map(|base| base.as_table() as &dyn TableLike);
    merge(base, ours.as_table_mut(), new.as_table());
    Some(ours.to_string())
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
    let removed: Vec<String> = base
        .iter()
        .flat_map(|base| base.iter())
        .filter(|(key, old)| {
            let is_untouched = |item: &Item| text(item) == text(old);
            !new.contains_key(key) && ours.get(key).is_some_and(is_untouched)
        })
        .map(|(key, _)| key.to_owned())
        .collect();
    for key in removed {
        ours.remove(&key);
    }
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
        return add(old.and_then(Item::as_array), ours, theirs);
    }
    raise(ours, theirs);
}

/// Appends new items to a list.
fn add(old: Option<&Array>, ours: &mut Array, theirs: &Array) {
    let has = |list: &Array, value: &Value| {
        let value = value.to_string();
        list.iter().any(|it| it.to_string().trim() == value.trim())
    };
    for value in theirs.iter() {
        if !has(ours, value) && !old.is_some_and(|old| has(old, value)) {
            ours.push(value.clone());
        }
    }
}

/// Raises a version, or the version of a dependency, to that of the scaffold if it is lower.
fn raise(ours: &mut Item, theirs: &Item) {
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
            [one] => Some((one.major, one.minor, one.patch)),
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

/// The text of an item, without the spaces around it. A table alone would omit its nested tables.
fn text(item: &Item) -> String {
    match item {
        Item::Value(value) => value.to_string().trim().to_owned(),
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
    fn text_that_is_not_toml_is_not_merged() {
        assert_eq!(merged(None, "<<<<<<<\n", NEW), None);
    }
}
