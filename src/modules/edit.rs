//! The smallest replacements that turn one path into another. Pure.

use super::names::{Names, Reference};
use crate::rust::{Replacement, Segment, Use, UseKind, UseTree};

/// Replaces the names `old` with `new`, except for their common beginning and end.
pub(super) fn respell(old: &[Segment], new: &[String]) -> Option<Replacement> {
    let is_equal = |(old, new): &(&Segment, &String)| old.text == **new;
    let shorter = old.len().min(new.len());
    let mut begin = old.iter().zip(new).take_while(is_equal).count();
    let backwards = old.iter().rev().zip(new.iter().rev());
    let mut end = backwards.take(shorter - begin).take_while(is_equal).count();
    if begin + end == old.len().max(new.len()) {
        return None;
    }
    // Where names are only added or removed, the `::` belongs to a name beside them.
    if begin + end == shorter {
        match end {
            0 => begin = begin.checked_sub(1)?,
            _ => end -= 1,
        }
    }
    let (removed, added) = (&old[begin..old.len() - end], &new[begin..new.len() - end]);
    let range = removed.first()?.range.start..removed.last()?.range.end;
    Some(Replacement::new(range, added.join("::")))
}

/// A name that a `use` imports: the old path, the new path, and the alias that it needs from now on.
struct Leaf {
    old: Vec<String>,
    new: Vec<String>,
    alias: Option<String>,
}

/// The edits of a `use`, whose scope is `scope`.
pub(super) fn respell_use(names: &Names<'_>, scope: usize, item: &Use) -> Vec<Replacement> {
    let mut all = leaves(names, scope, item, false);
    let mut edits = Vec::new();
    if all.iter().all(|leaf| leaf.new == leaf.old) {
        return edits;
    }
    // A `use` has only one first name.
    let has_head = !item.tree.segments.is_empty();
    if has_head && all.iter().any(|leaf| leaf.new[0] != all[0].new[0]) {
        all = leaves(names, scope, item, true);
    }
    respell_tree(&item.tree, 0, &[], &all, &mut edits);
    edits
}

fn leaves(names: &Names<'_>, scope: usize, item: &Use, is_absolute: bool) -> Vec<Leaf> {
    let leaves = item.tree.leaves().into_iter().map(|leaf| {
        let import = names.import_of(scope, &leaf);
        let from = Reference::new(scope, leaf.path, item.is_global);
        let new = names.respell(&from, is_absolute, import);
        let name = new.iter().rfind(|it| *it != "self");
        let alias = import
            .zip(name)
            .and_then(|(number, name)| names.alias(number, name));
        Leaf {
            old: from.path,
            new,
            alias,
        }
    });
    leaves.collect()
}

/// The edits of a part of a `use`, whose leaves are `leaves`. The part comes after `depth` names of the
/// old paths, and after `base` in the new ones.
fn respell_tree(
    tree: &UseTree,
    depth: usize,
    base: &[String],
    leaves: &[Leaf],
    edits: &mut Vec<Replacement>,
) {
    let UseKind::Group {
        open,
        children,
        close,
    } = &tree.kind
    else {
        if let [leaf] = leaves {
            respell_leaf(tree, base, leaf, edits);
        }
        return;
    };
    let Some(Leaf { old, .. }) = leaves.first() else {
        return;
    };
    let inner = depth + tree.segments.len();
    let prefix = common_prefix(&old[depth..inner], inner, base, leaves);
    let own = &prefix[base.len()..];
    match tree.segments.first() {
        Some(first) if own.is_empty() => {
            edits.push(Replacement::new(first.range.start..open.end, ""));
            edits.push(Replacement::new(close.clone(), ""));
        }
        _ => edits.extend(respell(&tree.segments, own)),
    }
    let mut rest = leaves;
    for child in children {
        let (own, others) = rest.split_at(child.leaves().len());
        respell_tree(child, inner, &prefix, own, edits);
        rest = others;
    }
}

fn respell_leaf(tree: &UseTree, base: &[String], leaf: &Leaf, edits: &mut Vec<Replacement>) {
    let mut own = &leaf.new[base.len()..];
    if let [names @ .., last] = own
        && last == "self"
        && !names.is_empty()
    {
        own = names;
    }
    if let (Some(alias), Some(last)) = (&leaf.alias, tree.segments.last()) {
        let range = tree.segments[0].range.start..last.range.end;
        let text = format!("{} as {alias}", own.join("::"));
        edits.push(Replacement::new(range, text));
    } else {
        edits.extend(respell(&tree.segments, own));
    }
}

/// The names before the braces of a group: `own` if the paths still have them, with the names that all
/// paths gained; otherwise all names that the paths have in common.
fn common_prefix(own: &[String], inner: usize, base: &[String], leaves: &[Leaf]) -> Vec<String> {
    let mut prefixes = leaves.iter().map(|leaf| {
        let prefix = leaf.new.strip_suffix(&leaf.old[inner..])?;
        (prefix.len() >= base.len()).then_some(prefix)
    });
    let first = prefixes.next().flatten();
    if let Some(prefix) = first
        && !own.is_empty()
        && prefixes.all(|it| it == Some(prefix))
    {
        return prefix.to_vec();
    }
    let kept = [base, own].concat();
    let is_below = |leaf: &Leaf| leaf.new.len() > kept.len() && leaf.new.starts_with(&kept);
    if leaves.iter().all(is_below) {
        return kept;
    }
    let first = &leaves[0].new;
    let most = leaves.iter().map(|leaf| leaf.new.len() - 1).min();
    let is_common = |at: &usize| leaves.iter().all(|leaf| leaf.new[*at] == first[*at]);
    let common = (0..most.unwrap_or_default()).take_while(is_common);
    first[..common.count()].to_vec()
}
