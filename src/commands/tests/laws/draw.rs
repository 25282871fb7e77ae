//! Draws the steps of a history: verbs for the model as it is, and edits of the files that there are.

use super::start::{EXTERNAL, GIVEN};
use super::{Edit, How, Step, World};
use crate::commands::target::named;
use crate::commands::tests::Bench;
use crate::fuzz::random::Random;
use crate::layout;
use crate::project::{Admission, Project, Resource};

/// A comment for that type of file.
pub(crate) fn comment(path: &str, text: &str) -> String {
    match path.rsplit_once('.') {
        Some((_, "rs")) => format!("// {text}"),
        Some((_, "md")) => format!("<!-- {text} -->"),
        _ => format!("# {text}"),
    }
}

/// The file that declares the module of a file, and the number of the line; `None` if other modules are below it.
pub(crate) fn declaration(bench: &Bench, path: &str) -> Option<(String, usize)> {
    let stem = path.strip_suffix(".rs")?;
    let (folder, name) = stem.rsplit_once('/')?;
    let has_others = bench
        .files
        .keys()
        .any(|it| it.starts_with(&format!("{stem}/")));
    let parents = [
        format!("{folder}.rs"),
        format!("{folder}/lib.rs"),
        format!("{folder}/main.rs"),
        format!("{folder}/mod.rs"),
    ];
    let end = format!("mod {name};");
    parents
        .into_iter()
        .filter(|_| !has_others)
        .find_map(|parent| {
            let mut lines = bench.files.get(&parent)?.lines();
            Some((
                parent.clone(),
                lines.position(|line| line.trim_start().ends_with(&end))?,
            ))
        })
}

/// Draws a step that may be possible.
pub(crate) fn draw(random: &mut Random, world: &World, number: usize) -> Step {
    // A history begins with something that can be changed.
    if number < 2 {
        return Step::Verb(create(random, &world.pure.project()));
    }
    match random.below(11) {
        0..4 => match drawn_edit(random, world, number) {
            Some(edit) => Step::Edit(edit),
            None => Step::Verb(verb(random, &world.pure.project())),
        },
        4 | 5 => Step::Upgrade,
        6 | 7 => {
            let project = world.pure.project();
            let own: Vec<&Resource> = project.apis().collect();
            if own.is_empty() {
                Step::Verb(create(random, &project))
            } else {
                let it = own[random.below(own.len())];
                Step::Verb(renamed(random, it))
            }
        }
        _ => Step::Verb(verb(random, &world.pure.project())),
    }
}

/// Another prefix for the names of all objects.
fn prefix(world: &World, token: String) -> Option<Edit> {
    let path = layout::DEFAULT_KUSTOMIZATION.to_owned();
    let mut lines = world.real.files.get(&path)?.lines();
    Some(Edit {
        path,
        at: lines.position(|line| line.starts_with("namePrefix: "))?,
        token,
        how: How::Prefix,
    })
}

/// Whether a comment may stand at the end of a line.
fn is_plain(line: &str) -> bool {
    let line = line.trim_end();
    !line.is_empty() && !line.ends_with(['\\', '|', '"', '>', '`']) && !line.contains("//!")
}

fn drawn_edit(random: &mut Random, world: &World, number: usize) -> Option<Edit> {
    let project = world.real.project();
    let token = format!("owner_{number}_");
    if random.one_in(16) {
        return prefix(world, token.replace('_', "-"));
    }
    let mut paths: Vec<&String> = project.files.keys().collect();
    paths.retain(|path| {
        let is_of_kind = ["rs", "md", "yaml", "toml"]
            .iter()
            .any(|it| path.ends_with(it));
        is_of_kind && world.real.files.contains_key(*path) && !path.starts_with(layout::STORED)
    });
    // Files that verbs change are drawn more often.
    let of_kinds: Vec<&String> = paths
        .iter()
        .copied()
        .filter(|path| {
            !world
                .real
                .committed()
                .last()
                .is_some_and(|it| it.contains_key(*path))
        })
        .collect();
    let from = if of_kinds.is_empty() || random.one_in(3) {
        &paths
    } else {
        &of_kinds
    };
    let path = from.get(random.below(from.len()))?;
    edit_of(random, world, path, token)
}

/// An edit of that file.
pub(crate) fn edit_of(
    random: &mut Random,
    world: &World,
    path: &str,
    token: String,
) -> Option<Edit> {
    let path = path.to_owned();
    let text = &world.real.files[&path];
    let lines: Vec<&str> = text.lines().collect();
    if let Some(marker) = lines
        .iter()
        .position(|line| line.contains("+kbr:scaffold:modules"))
        // Below the line that the next templates change.
        && marker > 6
        && random.one_in(3)
    {
        let at = marker - random.below(2);
        let how = How::Among;
        return Some(Edit {
            path,
            at,
            token,
            how,
        });
    }
    let how = match random.below(12) {
        0 => How::Delete,
        1..4 => How::Extend,
        _ => How::Insert,
    };
    // Not at the line that the next templates change, nor among the lines above a marker.
    let at = 6 + random.below(lines.len().saturating_sub(6));
    let is_near = |line: &&str| line.contains("+kbr:") || line.contains("altered");
    let near = lines.get(at.saturating_sub(3)..(at + 8).min(lines.len()))?;
    let is_free = !near.iter().any(is_near) && at < lines.len();
    let is_possible = match how {
        How::Delete if path.ends_with(".rs") => declaration(&world.real, &path).is_some(),
        How::Delete => path.ends_with(".yaml") && !path.ends_with("kustomization.yaml"),
        How::Extend => is_free && path.ends_with(".rs") && is_plain(lines[at]),
        How::Insert => is_free,
        How::Among | How::Prefix => true,
    };
    is_possible.then_some(Edit {
        path,
        at,
        token,
        how,
    })
}

const GROUPS: [&str; 3] = ["crew", "ship", "sea.deep"];
/// The last one is long enough to break lines, and the one before it has a type with another name.
const KINDS: [&str; 7] = [
    "Captain",
    "FirstMate",
    "Boat",
    "Sailor",
    "Harbor",
    "postgresql",
    "NavigatorOfTheOceanLiner",
];
/// The last one has a module with another name.
const VERSIONS: [&str; 5] = ["v1", "v1beta1", "v2", "v1alpha1", "match"];

/// A command line for that project.
fn verb(random: &mut Random, project: &Project) -> String {
    let (own, others): (Vec<&Resource>, Vec<&Resource>) =
        project.resources.iter().partition(|it| it.is_own());
    if !others.is_empty() && random.one_in(6) {
        let it = others[random.below(others.len())];
        return of_others(random, it);
    }
    if own.is_empty() || random.one_in(4) {
        return create(random, project);
    }
    let it = own[random.below(own.len())];
    let group = it
        .group
        .as_ref()
        .map_or_else(String::new, |group| format!("--group {group} "));
    let of = format!("{group}--version {} --kind {}", it.version, it.kind);
    match random.below(15) {
        0 => format!("create webhook {of} --defaulting"),
        1 => format!("create webhook {of} --programmatic-validation"),
        2 | 3 => {
            let others = project.versions_of(it).map(|it| it.version.as_str());
            let others: Vec<&str> = others.collect();
            let spoke = if random.one_in(4) {
                random.pick(&VERSIONS)
            } else {
                random.pick(&others)
            };
            format!("create webhook {of} --conversion --spoke {spoke}")
        }
        4 => format!("create policy {of} --validating"),
        5 => format!("create api {of} --resource=false --controller-name second"),
        6 => {
            let webhooks = it.webhooks();
            let all = Admission::ALL.into_iter().filter(|it| webhooks.has(*it));
            let mut options: Vec<&str> = all.map(Admission::option).collect();
            options.extend(webhooks.conversion.then_some("--conversion"));
            format!("delete webhook {of} {}", options.join(" "))
        }
        7 => format!("delete api {of}"),
        8 => match random.below(2) {
            0 => format!("delete controller {of}"),
            _ => format!("delete policy {of} --validating"),
        },
        9 => {
            let who = random.pick(&["self-managed", "cert-manager"]);
            format!("edit --certificates {who}")
        }
        10 => random.pick(&["chart", "bundle"]).to_owned(),
        11 => format!("import crd {GIVEN}"),
        12 => format!("edit --namespaced={}", random.one_in(2)),
        _ => renamed(random, it),
    }
}

/// A command line that gives something another name, or another place.
pub(crate) fn renamed(random: &mut Random, it: &Resource) -> String {
    let group = it.group.as_ref();
    let group = group.map_or_else(String::new, |group| format!("--group {group} "));
    match random.below(6) {
        0 => format!("edit --multigroup={}", random.one_in(2)),
        1 => format!(
            "edit --project-name {}",
            random.pick(&["bench", "other", "longer-name"])
        ),
        2 => format!("rename group {group}--to {}", random.pick(&GROUPS)),
        3 => format!(
            "rename version {group}--version {} --to {}",
            it.version,
            random.pick(&VERSIONS)
        ),
        _ => format!(
            "rename kind {group}--kind {} --to {}",
            it.kind,
            random.pick(&KINDS)
        ),
    }
}

/// A command line for a type that the project does not define.
fn of_others(random: &mut Random, it: &Resource) -> String {
    let of = named(it);
    let admission = random.pick(&["--defaulting", "--programmatic-validation"]);
    let policy = random.pick(&["--validating", "--mutating"]);
    match random.below(6) {
        0 => format!("create webhook {of} {admission}"),
        1 => format!("create policy {of} {policy}"),
        2 => format!("create api {of} --resource=false --controller-name third"),
        3 => format!("delete webhook {of} {admission}"),
        4 => format!("delete policy {of} {policy}"),
        _ => format!("delete controller {of}"),
    }
}

/// A command line that begins with a type that the project does not define.
fn create_of_others(random: &mut Random) -> String {
    let core = random.pick(&[
        "--group core --version v1 --kind Pod",
        "--group core --version v1 --kind Namespace",
        "--group apps --version v1 --kind Deployment",
        "--group batch --version v1 --kind Job",
    ]);
    let external = "--group cert-manager --version v1 --kind Certificate --external-api-domain io";
    let made = "--group cert-manager.io --version v1 --kind ClusterIssuer";
    let of = match random.below(4) {
        0 => format!(
            "{external} --external-api-path cert_manager::v1::Certificate --external-api-crd {EXTERNAL}"
        ),
        1 => format!("{made} --external-api-crd {EXTERNAL}"),
        _ => core.to_owned(),
    };
    match random.below(4) {
        0 => format!("create webhook {of} --defaulting"),
        1 => format!("create webhook {of} --programmatic-validation"),
        2 => format!("create policy {of} --validating --mutating"),
        _ => format!("create api {of} --resource=false"),
    }
}

fn create(random: &mut Random, project: &Project) -> String {
    if random.one_in(5) {
        return create_of_others(random);
    }
    let first = project.apis().next().filter(|_| !project.multigroup);
    let group = match (project.multigroup, first.map(|it| &it.group)) {
        (true, _) if random.one_in(6) => "",
        (true, _) => random.pick(&GROUPS),
        (false, None) => random.pick(&["", GROUPS[0]]),
        (false, Some(group)) => group.as_ref().map_or("", |group| group.as_str()),
    };
    let group = match group {
        "" => String::new(),
        group => format!("--group {group} "),
    };
    let (version, kind) = (random.pick(&VERSIONS), random.pick(&KINDS));
    let of_last = project.apis().last().filter(|_| random.one_in(3));
    if let Some(it) = of_last {
        let group = it.group.as_ref();
        let group = group.map_or_else(String::new, |group| format!("--group {group} "));
        return format!(
            "create api {group}--version {version} --kind {} --controller=false",
            it.kind
        );
    }
    let of = format!("create api {group}--version {version} --kind {kind}");
    match random.below(6) {
        0 => format!("{of} --image busybox:1 --image-port 80"),
        1 => format!("{of} --controller=false"),
        _ => of,
    }
}
