//! Which functions of a Go project reconcile what. Pure.

use super::GoProject;
use super::project_file::GoResource;
use super::source::{Function, GoFile, TypeName};

/// A type with a method `Reconcile` that takes a request.
#[derive(Debug)]
pub(crate) struct Reconciler<'f, 'a> {
    /// The file of its method `Reconcile`.
    pub(crate) file: &'f GoFile<'a>,
    pub(crate) function: &'f Function<'a>,
    /// Such as `CronJobReconciler`.
    pub(crate) receiver: &'a str,
    /// Whether the code makes a controller of it.
    pub(crate) is_set_up: bool,
    /// What it reconciles: group, version and kind, as far as the code says it.
    pub(crate) target: Option<(Option<(String, String)>, String)>,
    /// The name that the code gives to the controller, with dashes.
    pub(crate) name: Option<String>,
    /// The calls by which it hears of other objects, such as `Owns(&batchv1.Job{})`.
    pub(crate) calls: Vec<String>,
    /// Its other methods, with their lines.
    pub(crate) methods: Vec<(&'a str, usize)>,
}

/// Every reconciler of the project.
pub(crate) fn find<'f, 'a>(project: &'f GoProject<'a>) -> Vec<Reconciler<'f, 'a>> {
    let mut found = Vec::new();
    for file in &project.sources {
        for function in file.functions.iter().filter(|it| it.name == "Reconcile") {
            if let Some(receiver) = function.receiver {
                let reconciler = read(project, file, function, receiver);
                // Other methods of that name reconcile a part of what a controller reconciles.
                if reconciler.is_set_up || file.signature_mentions(function, "Request") {
                    found.push(reconciler);
                }
            }
        }
    }
    found
}

fn read<'f, 'a>(
    project: &'f GoProject<'a>,
    file: &'f GoFile<'a>,
    function: &'f Function<'a>,
    receiver: &'a str,
) -> Reconciler<'f, 'a> {
    let beside = project
        .sources
        .iter()
        .filter(|it| it.folder() == file.folder());
    let of_receiver: Vec<_> = beside
        .flat_map(|file| file.functions.iter().map(move |function| (file, function)))
        .filter(|(_, it)| it.receiver == Some(receiver))
        .collect();
    // Some methods are given the builder by another.
    let setup = of_receiver.iter().filter(|(file, it)| {
        file.mentions(it, "NewControllerManagedBy") || !file.types_in_calls(it, "For").is_empty()
    });
    let setup: Vec<_> = setup.collect();
    let types = |call: &str| -> Vec<TypeName<'a>> {
        let types = setup.iter();
        types
            .flat_map(|(file, it)| file.types_in_calls(it, call))
            .collect()
    };
    let target = types("For").into_iter().next().map(|it| {
        let gv = match it.package {
            Some(package) => project.gvk_of(package),
            None => project.packages.get(file.folder()).cloned(),
        };
        (gv, it.name.to_owned())
    });
    let calls = ["Owns", "Watches"].into_iter().flat_map(|call| {
        let types = types(call).into_iter();
        types.map(move |it| format!("{call}(&{}{{}})", it.written))
    });
    let methods = of_receiver.iter().map(|(_, it)| (it.name, it.line));
    Reconciler {
        file,
        function,
        receiver,
        is_set_up: !setup.is_empty(),
        target: target.or_else(|| {
            let kind = receiver.strip_suffix("Reconciler");
            let kind = kind.or_else(|| receiver.strip_prefix("Reconcile"))?;
            (!kind.is_empty()).then(|| (None, kind.to_owned()))
        }),
        name: setup
            .iter()
            .find_map(|(file, it)| file.text_in_call(it, "Named"))
            .map(|name| name.replace('_', "-")),
        calls: calls.collect(),
        methods: methods.filter(|(name, _)| *name != "Reconcile").collect(),
    }
}

impl Reconciler<'_, '_> {
    /// The function as Go writes it.
    pub(crate) fn full_name(&self) -> String {
        format!("{}.{}", self.receiver, self.function.name)
    }
}

/// Whether the controller of a kind belongs to that version. Earlier versions of kubebuilder listed it for every version.
pub(crate) fn is_of_version(
    go: &GoProject<'_>,
    listed: &GoResource,
    reconcilers: &[Reconciler<'_, '_>],
) -> bool {
    let group = listed.qualified_group();
    let is_kind = |it: &&GoResource| it.kind == listed.kind && it.qualified_group() == group;
    let versions = go.project.resources.iter().filter(is_kind);
    let versions = versions.filter(|it| it.controller || !it.controllers.is_empty());
    let versions: Vec<&str> = versions.map(|it| it.version.as_str()).collect();
    let in_code = reconcilers.iter().find_map(|it| match &it.target {
        Some((Some((of, version)), kind)) if *of == group && *kind == listed.kind => {
            Some(version.as_str())
        }
        _ => None,
    });
    let in_code = in_code.filter(|version| versions.contains(version));
    in_code.or(versions.first().copied()) == Some(&listed.version)
}
