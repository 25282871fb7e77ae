//! Another version of a kind becomes the hub: the stored version, and the one of the controllers and webhooks.
//!
//! A file that its owner has edited keeps everything that kbr did not render. Its converter becomes that of the
//! other version, in which hub and spoke are exchanged and each function converts what it converted before. Pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::commands::carrier::Carrier;
use crate::commands::error::Result;
use crate::commands::rename_map::{RenameMap, has_word, webhook_names};
use crate::commands::target::named;
use crate::commands::unneeded::Unneeded;
use crate::evolve::Rerendered;
use crate::layout::{self, Place};
use crate::names::Version;
use crate::plan::Change;
use crate::project::{Admission, Project, Resource, Webhooks};
use crate::rendered::normalized;
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
pub(super) fn moved(project: &Project, old: &Resource, new: &Resource) -> Project {
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
    /// The modules below a module that moves, with the new names.
    fn below(&self, words: &RenameMap, tree: &Tree) -> Vec<Change> {
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
            text: if path.ends_with(".rs") && matches!(self.how, How::Type) {
                words.in_code(text, false)
            } else {
                text.to_owned()
            },
            rendered: None,
        };
        below.map(change).collect()
    }
}

/// How the files change, and what is left to do.
pub(super) struct HubChanges {
    pub(crate) changes: Vec<Change>,
    pub(crate) warnings: Vec<String>,
    /// Files in which the scaffold and their owner have changed the same lines.
    pub(crate) conflicts: Vec<String>,
    /// The paths of the files that move, for which there are no other changes.
    moved: BTreeSet<String>,
    /// What the owner removed of the old hub, by the names of the new one, in whose lines they are: modules, and the sample with
    /// which the operator is tried.
    removed: Vec<String>,
}

impl HubChanges {
    /// The hub is `old` in `before`, and `new` in `after`. Removes the hashes of files that are no longer needed
    /// from `after`.
    pub(super) fn of(
        before: &Project,
        after: &mut Project,
        old_hub: &Resource,
        new_hub: &Resource,
        tree: &Tree,
    ) -> Result<Self> {
        let all = files(before, after, old_hub, new_hub);
        let paths = all.iter().flat_map(|it| [&it.old.path, &it.new.path]);
        let mut files = Self {
            changes: Vec::new(),
            warnings: kept(after, old_hub, new_hub),
            conflicts: Vec::new(),
            moved: paths.cloned().collect(),
            removed: Vec::from_iter(removed_sample(before, after, old_hub, new_hub, tree)),
        };
        let words = words(before, after, old_hub, new_hub);
        let below = RenameMap {
            version_module: Some([old_hub, new_hub].map(|it| it.version.module())),
            ..words.clone()
        };
        let rendered = scaffold::rendered(before);
        let mut carrier = Carrier::new(before, &rendered, &rendered, tree);
        for it in &all {
            let (from, to) = (&it.old.path, &it.new.path);
            let Some(was) = tree.text(from) else {
                files.removed.extend(module_of(to));
                let recorded = after.files.remove(from);
                after.files.extend(recorded.map(|hash| (to.clone(), hash)));
                continue;
            };
            let respelled = |text: &str| words.in_code(text, false);
            let texts = it.old.text(before).zip(it.new.text(after));
            let texts = texts.map(|(old, new)| Rerendered { old, new });
            let text = match (&texts, it.how) {
                (Some(texts), _) if rendered.is_unedited(from, was) => texts.new.clone(),
                // Its functions stay in their order, so that each one stays what its owner made of it.
                (Some(Rerendered { old, new }), How::Exchanged) => {
                    let it = Rerendered {
                        old: old.clone(),
                        new: exchanged(&normalized(was), old, new),
                    };
                    carrier.renamed(from, to, &it, &normalized(was), was)
                }
                (Some(texts), _) => {
                    let (base, ours) = (respelled(&texts.old), respelled(was));
                    carrier.renamed(from, to, texts, &base, &ours)
                }
                (None, _) => respelled(was),
            };
            if !rendered.is_unedited(from, was) {
                files
                    .warnings
                    .extend(left(it, &text, &old_hub.version, new_hub));
            }
            files.changes.push(Change::Rewrite {
                from: from.clone(),
                path: to.clone(),
                text,
                rendered: texts,
            });
            files.changes.extend(it.below(&below, tree));
        }
        files.changes.extend(carrier.both(after, &files.moved));
        files.conflicts = carrier.end()?;
        let unneeded = Unneeded::of(before, after, tree, false).except(&files.moved);
        files.changes.extend(unneeded.changes(after));
        files.warnings.extend(unneeded.warnings(false));
        Ok(files)
    }

    /// Whether one of the changes that add the scaffold of the new hub is needed beside these.
    pub(super) fn needs(&self, change: &Change) -> bool {
        match change {
            Change::Create { path, .. } => !self.moved.contains(path),
            Change::Insert { fragment, .. } => {
                !self.removed.iter().any(|name| has_word(fragment, name))
            }
            _ => true,
        }
    }
}

/// The name of the module in a file.
fn module_of(path: &str) -> Option<String> {
    let name = path.rsplit('/').next()?;
    name.strip_suffix(".rs").map(str::to_owned)
}

/// The sample of the new hub, if the owner removed that of the old one from the objects with which the operator is tried.
fn removed_sample(
    before: &Project,
    after: &Project,
    old: &Resource,
    new: &Resource,
    tree: &Tree,
) -> Option<String> {
    let text = tree.text(layout::CRASH_TEST).unwrap_or_default();
    let is_removed =
        !old.controllers.is_empty() && !text.contains(&Place::of(before, old).sample());
    is_removed.then(|| Place::of(after, new).sample())
}

/// Every file that changes with the hub.
fn files(before: &Project, after: &Project, old: &Resource, new: &Resource) -> Vec<HubFile> {
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
        let (how, other) = if *spoke == new.version {
            (How::Exchanged, &old.version)
        } else {
            (How::OtherHub, spoke)
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
fn words(before: &Project, after: &Project, old: &Resource, new: &Resource) -> RenameMap {
    let (group, plural) = (old.qualified_group(), old.plural.to_string());
    RenameMap {
        group: [group.clone(), group],
        version: Some([old.version.to_string(), new.version.to_string()]),
        plurals: vec![[plural.clone(), plural]],
        webhooks: webhook_names([(before, old), (after, new)]).into(),
        ..RenameMap::default()
    }
}

/// A converter or its test with hub and spoke exchanged; `old` and `new` are as kbr renders them.
fn exchanged(text: &str, old: &str, new: &str) -> String {
    let is_named = |line: &&str| line.starts_with("//!") || line.starts_with("use ");
    let [olds, news] = [old, new].map(|text| text.lines().filter(is_named));
    let named: BTreeMap<&str, &str> = olds.zip(news).collect();
    let lines = text
        .split('\n')
        .map(|line| named.get(line).copied().unwrap_or(line));
    let text = lines.collect::<Vec<_>>().join("\n");
    let code = Code::read(&text);
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
    replaced(&text, 0..text.len(), &exchanged)
}

/// Whether a text has the name of that version: in a marker that of the API, elsewhere that of the module. The versions of
/// reviews are others.
fn has_version(text: &str, version: &Version) -> bool {
    let module = version.module();
    let mut lines = text.lines();
    lines.any(|line| {
        let is_marker = line.contains("+kbr:");
        let name = if is_marker { version.as_str() } else { &module };
        !line.contains("admissionReviewVersions=") && has_word(line, name)
    })
}

/// What the owner of an edited file has to do.
fn left(it: &HubFile, text: &str, old: &Version, new: &Resource) -> Option<String> {
    let (path, version) = (&it.new.path, &new.version);
    match it.how {
        How::Exchanged => None,
        How::OtherHub => Some(format!(
            "`{path}` was edited: its functions must convert to and from the hub `{version}` now"
        )),
        How::Type => has_version(text, old).then(|| {
            let old = old.module();
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
