//! Draws the steps of a history: verbs for the model as it is, and edits of the files that there are.

use super::{Edit, GIVEN, How, Step, World};
use crate::commands::initial::rendering;
use crate::fuzz::random::Random;
use crate::layout;
use crate::project::{Admission, Project, Resource};

/// A comment for that type of file.
pub fn comment(path: &str, text: &str) -> String {
    match path.rsplit_once('.') {
        Some((_, "rs")) => format!("// {text}"),
        Some((_, "md")) => format!("<!-- {text} -->"),
        _ => format!("# {text}"),
    }
}

/// Draws a step that may be possible.
pub fn draw(random: &mut Random, world: &World, number: usize) -> Step {
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
        _ => Step::Verb(verb(random, &world.pure.project())),
    }
}

fn drawn_edit(random: &mut Random, world: &World, number: usize) -> Option<Edit> {
    let project = world.real.project();
    let mine = rendering(&project);
    let mut paths: Vec<&String> = mine.keys().collect();
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
    let from = match of_kinds.is_empty() || random.one_in(3) {
        true => &paths,
        false => &of_kinds,
    };
    let path = (*from.get(random.below(from.len()))?).clone();
    let text = &world.real.files[&path];
    let lines: Vec<&str> = text.lines().collect();
    let token = format!("owner_{number}_");
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
    let is_plain = |line: &str| {
        let line = line.trim_end();
        !line.is_empty() && !line.ends_with(['\\', '|', '"', '>', '`']) && !line.contains("//!")
    };
    let is_possible = match how {
        How::Delete => path.ends_with(".yaml") && path.starts_with("config/samples/"),
        How::Extend => is_free && path.ends_with(".rs") && is_plain(lines[at]),
        How::Insert => is_free,
        How::Among => true,
    };
    is_possible.then_some(Edit {
        path,
        at,
        token,
        how,
    })
}

const GROUPS: [&str; 3] = ["crew", "ship", "sea.deep"];
const KINDS: [&str; 5] = ["Captain", "FirstMate", "Boat", "Sailor", "Harbor"];
const VERSIONS: [&str; 4] = ["v1", "v1beta1", "v2", "v1alpha1"];

/// A command line for that project.
fn verb(random: &mut Random, project: &Project) -> String {
    let own: Vec<&Resource> = project.apis().collect();
    if own.is_empty() || random.one_in(4) {
        return create(random, project);
    }
    let it = own[random.below(own.len())];
    let group = it
        .group
        .as_ref()
        .map_or_else(String::new, |group| format!("--group {group} "));
    let (kind, version) = (&it.kind, &it.version);
    let of = format!("{group}--version {version} --kind {kind}");
    match random.below(16) {
        14 => "chart".to_owned(),
        15 => format!("import crd {GIVEN}"),
        0 => format!("create webhook {of} --defaulting"),
        1 => format!("create webhook {of} --programmatic-validation"),
        2 | 3 => {
            let others: Vec<&str> = project
                .versions_of(it)
                .map(|it| it.version.as_str())
                .collect();
            let spoke = match random.one_in(4) {
                true => random.pick(&VERSIONS),
                false => random.pick(&others),
            };
            format!("create webhook {of} --conversion --spoke {spoke}")
        }
        4 => format!("create policy {of} --validating"),
        5 => format!("create api {of} --resource=false --controller-name second"),
        6 => {
            let webhooks = it.webhooks();
            let mut options: Vec<&str> = Admission::ALL
                .into_iter()
                .filter(|it| webhooks.has(*it))
                .map(Admission::option)
                .collect();
            options.extend(webhooks.conversion.then_some("--conversion"));
            format!("delete webhook {of} {}", options.join(" "))
        }
        7 => format!("delete api {of}"),
        8 => match random.below(2) {
            0 => format!("delete controller {of}"),
            _ => format!("delete policy {of} --validating"),
        },
        9 => format!("edit --multigroup={}", random.one_in(2)),
        10 => {
            let who = random.pick(&["self-managed", "cert-manager"]);
            format!("edit --certificates {who}")
        }
        11 => {
            let name = random.pick(&["bench", "other", "longer-name"]);
            format!("edit --project-name {name}")
        }
        12 => {
            let to = random.pick(&KINDS);
            format!("rename kind {group}--kind {kind} --to {to}")
        }
        _ => match random.below(2) {
            0 => format!(
                "rename version {group}--version {version} --to {}",
                random.pick(&VERSIONS)
            ),
            _ => format!("rename group {group}--to {}", random.pick(&GROUPS)),
        },
    }
}

fn create(random: &mut Random, project: &Project) -> String {
    let group = match project.multigroup {
        true => random.pick(&GROUPS),
        false => GROUPS[0],
    };
    let (version, kind) = (random.pick(&VERSIONS), random.pick(&KINDS));
    let of_last = project.apis().last().filter(|_| random.one_in(3));
    if let Some((group, kind)) = of_last.and_then(|it| Some((it.group.as_ref()?, &it.kind))) {
        return format!(
            "create api --group {group} --version {version} --kind {kind} --controller=false"
        );
    }
    match random.below(8) {
        0 => "create webhook --group core --version v1 --kind Pod --defaulting".to_owned(),
        1 => "create api --group apps --version v1 --kind Deployment --resource=false".to_owned(),
        2 => format!(
            "create api --group {group} --version {version} --kind {kind} --image busybox:1 --image-port 80"
        ),
        3 => format!(
            "create api --group {group} --version {version} --kind {kind} --controller=false"
        ),
        _ => format!("create api --group {group} --version {version} --kind {kind}"),
    }
}
