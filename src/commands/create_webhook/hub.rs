//! Another version of a kind becomes the hub: the stored version, and the one of the controllers and webhooks.
//!
//! A file that its owner has edited keeps everything that kbr did not render. Its converter becomes that of the
//! other version, in which hub and spoke are exchanged and each function converts what it converted before. Pure.

use std::collections::BTreeSet;

use crate::commands::lines::with_changes;
use crate::commands::typed::named;
use crate::commands::unneeded::Unneeded;
use crate::commands::words::{Words, has_word, webhook_names};
use crate::names::Version;
use crate::plan::Change;
use crate::project::{Admission, Project, Resource, Webhooks};
use crate::rust::{Code, Replacement, replaced};
use crate::scaffold::{self, Part};
use crate::tree::Tree;

/// Names in a converter and its test that mean the one or the other side.
const SIDES: [(&str, &str); 4] = [
    ("Hub", "Spoke"),
    ("HUB", "SPOKE"),
    ("hub", "spoke"),
    ("to_hub", "to_spoke"),
];

/// The project in which `new` is the hub instead of `old`.
pub fn moved(project: &Project, old: &Resource, new: &Resource) -> Project {
    let (mut from, mut to) = (old.clone(), new.clone());
    let (mut left, mut gained) = (old.webhooks(), new.webhooks());
    let others = left.spoke.iter().filter(|it| **it != new.version);
    gained.spoke = others.chain([&old.version]).cloned().collect();
    gained.conversion = true;
    (left.conversion, left.spoke) = (false, Vec::new());
    if !gained.defaulting {
        (gained.defaulting, left.defaulting) = (left.defaulting, false);
        gained.defaulting_path = left.defaulting_path.take();
    }
    if !gained.validation {
        (gained.validation, left.validation) = (left.validation, false);
        gained.validation_path = left.validation_path.take();
    }
    from.webhooks = Some(left).filter(Webhooks::has_admission);
    to.webhooks = Some(gained);
    to.controllers.append(&mut from.controllers);
    if let Some(api) = to.api_mut()
        && api.image.is_none()
    {
        api.image = old.image().cloned();
    }
    let mut after = project.clone();
    after.upsert(from);
    after.upsert(to);
    for resource in after.resources.iter_mut().filter(|it| it.is_kind_of(new)) {
        let is_stored = resource.version == new.version;
        if let Some(api) = resource.api_mut() {
            api.storage = is_stored;
        }
    }
    after
}

/// A file of the old hub, and what it becomes.
struct HubFile {
    old: Part,
    new: Part,
    how: How,
}

#[derive(Clone, Copy)]
enum How {
    /// The type has another version.
    Type,
    /// A converter of another spoke, whose hub has another version.
    OtherHub,
    /// The converter between the two, in which hub and spoke are exchanged.
    Exchanged,
}

impl HubFile {
    /// The modules below a module that moves.
    fn below(&self, tree: &Tree) -> Vec<Change> {
        let folder = |part: &Part| part.path.strip_suffix(".rs").map(|it| format!("{it}/"));
        let (Some(old), Some(new)) = (folder(&self.old), folder(&self.new)) else {
            return Vec::new();
        };
        let below = tree
            .files()
            .filter(|(path, _)| old != new && path.starts_with(&old));
        let change = |(path, text): (&str, &str)| Change::Rewrite {
            from: path.to_owned(),
            path: format!("{new}{}", &path[old.len()..]),
            text: text.to_owned(),
        };
        below.map(change).collect()
    }
}

/// How the files change, and what is left to do.
pub struct HubChanges {
    pub changes: Vec<Change>,
    pub warnings: Vec<String>,
    /// The paths of the files that move, for which there are no other changes.
    pub moved: BTreeSet<String>,
}

impl HubChanges {
    /// The hub is `old` in `before`, and `new` in `after`. Removes the hashes of files that are no longer needed
    /// from `after`.
    pub fn of(
        before: &Project,
        after: &mut Project,
        [old, new]: [&Resource; 2],
        tree: &Tree,
    ) -> Self {
        let all = files(before, after, [old, new]);
        let paths = all.iter().flat_map(|it| [&it.old.path, &it.new.path]);
        let mut files = Self {
            changes: Vec::new(),
            warnings: kept(after, old, new),
            moved: paths.cloned().collect(),
        };
        let words = words(before, after, old, new);
        let rendered = scaffold::rendered(before);
        for it in &all {
            let Some(was) = tree.text(&it.old.path) else {
                continue;
            };
            let texts = it.old.text(before).zip(it.new.text(after));
            let (old_text, new_text) = texts.unwrap_or_default();
            let is_edited = !rendered.is_unedited(&it.old.path, was);
            let text = match it.how {
                _ if !is_edited => new_text,
                How::Exchanged => exchanged(was, &old_text, &new_text),
                How::Type | How::OtherHub => {
                    with_changes(&words.in_code(was, false), &old_text, &new_text, true)
                }
            };
            if is_edited {
                files.warnings.extend(left(it, &text, &old.version, new));
            }
            files.changes.push(Change::Rewrite {
                from: it.old.path.clone(),
                path: it.new.path.clone(),
                text,
            });
            files.changes.extend(it.below(tree));
        }
        let unneeded = Unneeded::of(before, after, tree, false).except(&files.moved);
        files.changes.extend(unneeded.changes(after));
        files.warnings.extend(unneeded.warnings());
        files
    }
}

/// Every file that changes with the hub.
fn files(before: &Project, after: &Project, [old, new]: [&Resource; 2]) -> Vec<HubFile> {
    let mut files = Vec::new();
    let mut add = |how, old: Vec<Part>, new: Vec<Part>| {
        let pairs = old.into_iter().zip(new);
        files.extend(pairs.map(|(old, new)| HubFile { old, new, how }));
    };
    for name in &old.controllers {
        let files = |project, hub| scaffold::controller_files(project, hub, name.as_ref());
        add(How::Type, files(before, old), files(after, new));
    }
    for admission in Admission::ALL {
        if moves(after, old, admission) {
            let files = |project, hub| scaffold::admission_files(project, hub, admission);
            add(How::Type, files(before, old), files(after, new));
        }
    }
    for spoke in &old.webhooks().spoke {
        let (how, other) = match *spoke == new.version {
            true => (How::Exchanged, &old.version),
            false => (How::OtherHub, spoke),
        };
        let parts = scaffold::conversion_files(before, old, spoke);
        add(how, parts, scaffold::conversion_files(after, new, other));
    }
    files
}

/// Whether a webhook moves with the hub: it stays if the new hub has one of its own.
fn moves(after: &Project, old: &Resource, admission: Admission) -> bool {
    let mut resources = after.resources.iter();
    let stays = resources.any(|it| it.gvk() == old.gvk() && it.webhooks().has(admission));
    old.webhooks().has(admission) && !stays
}

/// The names in markers.
fn words(before: &Project, after: &Project, old: &Resource, new: &Resource) -> Words {
    let (group, plural) = (old.qualified_group(), old.plural.to_string());
    Words {
        group: [group.clone(), group],
        version: Some([old.version.to_string(), new.version.to_string()]),
        plurals: vec![[plural.clone(), plural]],
        webhooks: webhook_names([(before, old), (after, new)]).into(),
        ..Words::default()
    }
}

/// A converter or its test with hub and spoke exchanged; `old` and `new` are as kbr renders them.
fn exchanged(text: &str, old: &str, new: &str) -> String {
    let is_named = |line: &&str| line.starts_with("//!") || line.starts_with("use ");
    let [olds, news] = [old, new].map(|text| text.lines().filter(is_named));
    let named: Vec<(&str, &str)> = olds.zip(news).collect();
    let lines = text.split_inclusive('\n').map(|line| {
        let bare = line.trim_end_matches(['\r', '\n']);
        match named.iter().find(|(old, _)| *old == bare) {
            Some((_, new)) => format!("{new}{}", &line[bare.len()..]),
            None => line.to_owned(),
        }
    });
    let moved: String = lines.collect();
    let code = Code::read(&moved);
    let edits = (0..code.len()).filter_map(|at| {
        let sides = SIDES
            .iter()
            .flat_map(|&(hub, spoke)| [(hub, spoke), (spoke, hub)]);
        let (_, other) = sides.into_iter().find(|(one, _)| *one == code.word(at))?;
        // A field may have such a name, but only functions of the trait begin with `to_`.
        let is_side = code.back(at, 1) != "." || other.starts_with("to_");
        is_side.then(|| Replacement::new(code.range(at), other))
    });
    let exchanged: Vec<Replacement> = edits.collect();
    replaced(&moved, 0..moved.len(), &exchanged)
}

/// What the owner of an edited file has to do.
fn left(it: &HubFile, text: &str, old: &Version, new: &Resource) -> Option<String> {
    let (path, version) = (&it.new.path, &new.version);
    match it.how {
        How::Exchanged => None,
        How::OtherHub => Some(format!(
            "`{path}` was edited: its functions must convert to and from the hub `{version}` now"
        )),
        How::Type => has_word(text, old.as_str()).then(|| {
            format!("`{path}` still has the name `{old}`: the code there is for `{version}` now")
        }),
    }
}

/// Warnings about webhooks that the old version keeps.
fn kept(after: &Project, old: &Resource, new: &Resource) -> Vec<String> {
    let admissions = Admission::ALL.into_iter();
    let kept = admissions.filter(|it| old.webhooks().has(*it) && !moves(after, old, *it));
    kept.map(|admission| {
        format!(
            "`{}` keeps its {admission} webhook, because `{}` already has one: `kbr delete webhook {} {}` deletes it",
            old.gvk(),
            new.version,
            named(old),
            admission.option()
        )
    })
    .collect()
}
