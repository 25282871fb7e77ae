//! How types are named on the command line, for messages that say what to type.

use crate::cli::OptionalGroup;
use crate::commands::error::{Error, Result};
use crate::commands::found::Typed;
use crate::names::{Domain, Group, Kind, NameError, Plural, Version, pluralize};
use crate::project::{CoreType, Project, Resource};

/// The group that was typed; none for the domain itself.
pub fn group(typed: &Option<OptionalGroup>) -> Option<&Group> {
    typed.as_ref()?.0.as_ref()
}

/// The plural that was typed, or else the default plural of the kind.
pub fn plural(typed: Option<&Plural>, kind: &Kind) -> Result<Plural> {
    match typed {
        Some(typed) => Ok(typed.clone()),
        None => pluralize(&kind.lower())
            .parse()
            .map_err(Error::name("--plural")),
    }
}

/// How to specify a suitable type of Kubernetes instead: its kinds of that group and version, or, if no group was
/// typed, the options for its kind of that name.
pub fn kubernetes_own(
    group: Option<&Group>,
    version: &Version,
    kind: &Kind,
    is_suitable: fn(&CoreType) -> bool,
) -> String {
    let Some(group) = group else {
        let meant = CoreType::all_of_kind(kind).find(|it| is_suitable(it));
        return meant.map_or_else(String::new, |meant| {
            format!(", or type `{}` for Kubernetes' own", meant.options())
        });
    };
    let suitable = CoreType::of_version(group, version).filter(|it| is_suitable(it));
    let kinds: Vec<&str> = suitable.map(|it| it.kind).collect();
    if kinds.is_empty() {
        return kubernetes_own(None, version, kind, is_suitable);
    }
    let typed = kind.as_str().trim_end_matches('s').to_lowercase();
    let mut near = kinds.iter();
    if let Some(near) = near.find(|it| strsim::damerau_levenshtein(&it.to_lowercase(), &typed) <= 2)
    {
        return format!(", or `--kind {near}` for Kubernetes' own");
    }
    let list = kinds.join(", ");
    format!(", or name one of Kubernetes' own after `--kind`: {list}")
}

/// The types whose kind was probably meant by one that PROJECT does not have: the same kind, one that differs in
/// case, the plural, or one that was misspelt. The nearest is first, of equal ones the one with the same group and
/// version.
pub fn nearest<'a>(
    all: impl Iterator<Item = &'a Resource>,
    (group, version, kind): Typed<'_>,
) -> Vec<&'a Resource> {
    let distance = |it: &Resource| {
        let is_other = usize::from(it.kind != *kind);
        let is_elsewhere = usize::from(it.group.as_ref() != group);
        let is_earlier = usize::from(it.version != *version);
        Some((is_other + misspelt(it, kind)?, is_elsewhere, is_earlier))
    };
    let mut near: Vec<_> = all.filter_map(|it| Some((distance(it)?, it))).collect();
    near.sort_by_key(|(distance, _)| *distance);
    near.into_iter().map(|(_, resource)| resource).collect()
}

/// All types, those first that were probably meant by one that PROJECT does not have.
pub fn nearest_first<'a>(
    all: impl Iterator<Item = &'a Resource> + Clone,
    typed: Typed<'_>,
) -> Vec<&'a Resource> {
    let mut sorted = nearest(all.clone(), typed);
    let near: Vec<_> = sorted.iter().map(|it| it.gvk()).collect();
    sorted.extend(all.filter(|it| !near.contains(&it.gvk())));
    sorted
}

/// How many letters of a kind were mistyped; none if so many that it is another one.
pub fn misspelt(resource: &Resource, kind: &Kind) -> Option<usize> {
    let typed = kind.lower();
    if typed == resource.plural.as_str() {
        return Some(0);
    }
    let count = strsim::damerau_levenshtein(&typed, &resource.kind.lower());
    (count <= typed.len().div_ceil(4)).then_some(count)
}

/// The options for a type.
pub fn named(resource: &Resource) -> String {
    let options = options(resource.group.as_ref(), &resource.version);
    format!("{options} --kind {}", resource.kind)
}

/// The options for a group and a version.
pub fn options(group: Option<&Group>, version: &Version) -> String {
    match group {
        Some(group) => format!("--group {group} --version {version}"),
        None => format!("--version {version}"),
    }
}

/// A group as PROJECT has it: what is before the domain, and the domain.
pub fn halves(project: &Project, group: &str) -> Result<(Option<Group>, Domain), NameError> {
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
