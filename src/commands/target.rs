//! The type that a command is for: what was typed, as it is in PROJECT or in Kubernetes; and how types are named on the
//! command line, for messages that say what to type. Pure.

use crate::cli::{ExternalArgs, TypeArgs};
use crate::commands::clashes::check_clashes;
use crate::commands::create_webhook::error::WebhookError;
use crate::commands::error::{Error, Result};
use crate::commands::external;
use crate::names::{Domain, Group, Kind, NameError, Plural, Version, pluralize};
use crate::plan::Change;
use crate::project::{CoreType, Project, Resource};

/// The type that a command is for. Its origin says who defines it.
#[derive(Default)]
pub(crate) struct Target {
    /// `None` if it is neither in PROJECT nor in Kubernetes, nor in a CRD file that was given.
    pub(crate) resource: Option<Resource>,
    /// The files that the tests of another operator's type need.
    pub(crate) changes: Vec<Change>,
    pub(crate) warnings: Vec<String>,
}

impl Target {
    /// Looks up the type that was typed. `crd` is the text of the CRD file that was given for a type of another operator.
    pub(crate) fn of(
        project: &Project,
        typed: &TypeArgs,
        args: &ExternalArgs,
        crd: Option<&str>,
        force: bool,
    ) -> Result<Self> {
        if args.is_given() {
            return external::target(project, typed, args, crd, force);
        }
        let known = project.find(typed.group(), &typed.version, &typed.kind);
        Ok(Self {
            resource: match known {
                Some(known) => Some(known.clone()),
                None => core(typed)?,
            },
            ..Self::default()
        })
    }
}

/// The type of Kubernetes' own that was typed, without anything that uses it.
fn core(typed: &TypeArgs) -> Result<Option<Resource>> {
    let known = typed
        .group()
        .and_then(|group| CoreType::of_kind(group, &typed.kind));
    let known = known.filter(|core| core.version == typed.version.as_str());
    let core = known.map(|core| Resource::core(core).map_err(Error::name("--kind")));
    core.transpose()
}

/// The type that webhooks or policies are for, which must be known.
pub(super) fn known(
    project: &Project,
    typed: &TypeArgs,
    found: Option<Resource>,
    is_suitable: fn(&CoreType) -> bool,
    is_accepted: impl Fn(&Resource) -> bool,
) -> Result<Resource> {
    let unknown = || unknown_type(project, typed, is_suitable, is_accepted);
    let resource = found.ok_or_else(unknown)?;
    check_clashes(project, &resource)?;
    Ok(resource)
}

/// The error for an unknown type: where else the kind exists, and how to create the requested type. It suggests types of
/// Kubernetes that are suitable, and types of PROJECT that `is_accepted`.
fn unknown_type(
    project: &Project,
    typed: &TypeArgs,
    is_suitable: fn(&CoreType) -> bool,
    is_accepted: impl Fn(&Resource) -> bool,
) -> WebhookError {
    let (version, kind) = (&typed.version, &typed.kind);
    let near = nearest(project.apis(), typed).into_iter();
    let mut meant: Vec<&Resource> = near.filter(|api| is_accepted(api)).collect();
    if let Some(first) = meant.first() {
        let kind = first.kind.clone();
        meant.retain(|api| api.kind == kind);
    }
    let is_new_kind = project.apis().all(|api| api.kind != *kind);
    if let Some(group) = typed.group()
        && let Some(core) = CoreType::of_kind(group, kind)
        && is_new_kind
    {
        return WebhookError::CoreVersion {
            group: core.group_name(),
            version: core.version,
            kind: core.kind,
            create: create_api(project, typed, version),
        };
    }
    WebhookError::UnknownType {
        gvk: format!(
            "{}/{version} {kind}",
            project.qualified_group(typed.group())
        ),
        are_meant: !meant.is_empty(),
        types: match &meant[..] {
            [] => project.apis().map(named).collect(),
            meant => meant.iter().map(|api| named(api)).collect(),
        },
        create: match meant.first() {
            // A kind that differs only in case, or is the plural, cannot be created.
            Some(it) if it.kind != *kind && misspelt(it, kind) == Some(0) => None,
            // The command creates it in the group of the project, which has it.
            Some(it) if it.kind == *kind && it.version == *version => None,
            _ => Some(create_api(project, typed, version)),
        },
        kubernetes_own: if meant.is_empty() && is_new_kind {
            kubernetes_own(typed, is_suitable)
        } else {
            String::new()
        },
    }
}

/// The command that creates the type in that version, in the project's group if there is one.
pub(super) fn create_api(project: &Project, typed: &TypeArgs, version: &Version) -> String {
    let group = match project.apis().next() {
        Some(api) => api.group.as_ref(),
        None => typed.group(),
    };
    let options = options(group, version);
    format!("kbr create api {options} --kind {}", typed.kind)
}

/// The plural that was typed, or else the default plural of the kind.
pub(super) fn plural(typed: Option<&Plural>, kind: &Kind) -> Result<Plural> {
    let default = || pluralize(&kind.lower()).parse();
    let plural = typed.cloned().map_or_else(default, Ok);
    plural.map_err(Error::name("--plural"))
}

/// How to specify a suitable type of Kubernetes instead: its kinds of that group and version, or, if it has none of them,
/// the options for its kind of that name.
pub(super) fn kubernetes_own(typed: &TypeArgs, is_suitable: fn(&CoreType) -> bool) -> String {
    let of_group = typed
        .group()
        .map(|group| CoreType::of_version(group, &typed.version));
    let suitable = of_group.into_iter().flatten().filter(|it| is_suitable(it));
    let kinds: Vec<&str> = suitable.map(|it| it.kind).collect();
    if kinds.is_empty() {
        let meant = CoreType::all_of_kind(&typed.kind).find(|it| is_suitable(it));
        return meant.map_or_else(String::new, |meant| {
            format!(", or type `{}` for Kubernetes' own", meant.options())
        });
    }
    let kind = typed.kind.lower();
    let kind = kind.trim_end_matches('s');
    let is_near = |it: &&&str| strsim::damerau_levenshtein(&it.to_lowercase(), kind) <= 2;
    match kinds.iter().find(is_near) {
        Some(near) => format!(", or `--kind {near}` for Kubernetes' own"),
        None => format!(
            ", or name one of Kubernetes' own after `--kind`: {}",
            kinds.join(", ")
        ),
    }
}

/// The types whose kind was probably meant by one that PROJECT does not have, the nearest first.
fn nearest<'a>(all: impl Iterator<Item = &'a Resource>, typed: &TypeArgs) -> Vec<&'a Resource> {
    let mut near: Vec<_> = all
        .filter(|it| misspelt(it, &typed.kind).is_some())
        .collect();
    near.sort_by_key(|it| distance(it, typed));
    near
}

/// How far a type is from the one that was typed: the same kind is nearest, then one that differs in case, the plural,
/// and one that was misspelt; of equal ones, the one with the same group and version. Others are farthest.
pub(super) fn distance(resource: &Resource, typed: &TypeArgs) -> (usize, bool, bool) {
    let Some(letters) = misspelt(resource, &typed.kind) else {
        return (usize::MAX, false, false);
    };
    (
        letters + usize::from(resource.kind != typed.kind),
        resource.group.as_ref() != typed.group(),
        resource.version != typed.version,
    )
}

/// How many letters of a kind were mistyped; none if so many that it is another one.
pub(super) fn misspelt(resource: &Resource, kind: &Kind) -> Option<usize> {
    let typed = kind.lower();
    if typed == resource.plural.as_str() {
        return Some(0);
    }
    let count = strsim::damerau_levenshtein(&typed, &resource.kind.lower());
    (count <= typed.len().div_ceil(4)).then_some(count)
}

/// The options for a type.
pub(super) fn named(resource: &Resource) -> String {
    let options = options(resource.typed_group().as_ref(), &resource.version);
    format!("{options} --kind {}", resource.kind)
}

/// The options for a group and a version.
pub(super) fn options(group: Option<&Group>, version: &Version) -> String {
    match group {
        Some(group) => format!("--group {group} --version {version}"),
        None => format!("--version {version}"),
    }
}

/// A group as PROJECT has it: what is before the domain, and the domain.
pub(super) fn halves(project: &Project, group: &str) -> Result<(Option<Group>, Domain), NameError> {
    let own = project.domain.as_str();
    if group == own {
        return Ok((None, project.domain.clone()));
    }
    if let Some(before) = group.strip_suffix(own).and_then(|it| it.strip_suffix('.')) {
        return Ok((Some(before.parse()?), project.domain.clone()));
    }
    match group.split_once('.') {
        Some((group, domain)) => Ok((Some(group.parse()?), domain.parse()?)),
        None => Ok((None, group.parse()?)),
    }
}

#[cfg(test)]
mod tests;
