//! The paths of one resource's files, and the names of its modules and objects.
//!
//! A project with several API groups has a folder for each group wherever two groups could collide, and
//! names that include the group.

use crate::names::ControllerName;
use crate::project::{Project, Resource};

use super::{
    API_LIB, CONTROLLERS, EXTERNAL, EXTERNAL_TYPES, LIB, POLICIES, SAMPLES, STORED, TESTS,
    WEBHOOKS, crd_file,
};

/// Longest name of an object that is also a valid label value, which is the limit in emitted validators.
const SAMPLE_NAME_MAX: usize = 63;

/// A resource in its project.
pub(crate) struct Place<'a> {
    resource: &'a Resource,
    /// Module of its group, in a project with several groups.
    group: Option<String>,
}

/// A folder of modules, and the file that declares them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Folder {
    Api,
    Controllers,
    Tests,
    Webhooks,
}

impl Folder {
    /// Its path, the file that declares the modules below it, the root file of its crate, and the Rust path of
    /// the folder in that crate.
    fn facts(self) -> (&'static str, &'static str, &'static str, &'static str) {
        match self {
            Self::Api => ("api/src/", API_LIB, API_LIB, ""),
            Self::Controllers => ("src/controller/", CONTROLLERS, LIB, "controller::"),
            Self::Tests => ("tests/it/", TESTS, TESTS, ""),
            Self::Webhooks => ("src/webhook/", WEBHOOKS, LIB, "webhook::"),
        }
    }

    fn path(self) -> &'static str {
        self.facts().0
    }

    /// The file that declares the modules below it.
    pub(crate) fn file(self) -> &'static str {
        self.facts().1
    }

    /// Root file of its crate.
    pub(crate) fn root(self) -> &'static str {
        self.facts().2
    }

    /// The Rust path, in its crate, of the module in `file`, if the file is below it.
    pub(crate) fn module(self, file: &str) -> Option<String> {
        let (path, _, _, inside) = self.facts();
        let below = file.strip_prefix(path)?.strip_suffix(".rs")?;
        Some(format!("{inside}{}", below.replace('/', "::")))
    }
}

impl<'a> Place<'a> {
    pub(crate) fn of(project: &Project, resource: &'a Resource) -> Self {
        Self {
            resource,
            group: project.multigroup.then(|| project.group_module(resource)),
        }
    }

    /// Module of the group, in a project with several groups.
    pub(crate) fn group(&self) -> Option<&str> {
        self.group.as_deref()
    }

    /// The group followed by `between`, as a prefix; empty in a project with one group.
    fn prefix(&self, between: &str) -> String {
        let group = self.group.as_ref();
        group.map_or_else(String::new, |group| format!("{group}{between}"))
    }

    /// The group as a prefix of a Rust path.
    pub(crate) fn rust_prefix(&self) -> String {
        self.prefix("::")
    }

    /// The file of the group's module in that folder.
    pub(crate) fn group_file(&self, folder: Folder) -> Option<String> {
        let group = self.group.as_ref()?;
        Some(format!("{}{group}.rs", folder.path()))
    }

    /// The file that declares the modules of this group, or of the only group, in that folder.
    pub(crate) fn parent(&self, folder: Folder) -> String {
        self.group_file(folder)
            .unwrap_or_else(|| folder.file().to_owned())
    }

    /// A file below that folder; `rest` is its path without `.rs`.
    fn below(&self, folder: Folder, rest: &str) -> String {
        format!("{}{}{rest}.rs", folder.path(), self.prefix("/"))
    }

    /// The module that holds the types of the version.
    pub(crate) fn version_module(&self) -> String {
        self.below(Folder::Api, &self.resource.version.module())
    }

    pub(crate) fn types_module(&self) -> String {
        format!("{}_types", self.resource.kind.lower())
    }

    pub(crate) fn types(&self) -> String {
        let (version, module) = (self.resource.version.module(), self.types_module());
        self.below(Folder::Api, &format!("{version}/{module}"))
    }

    /// The module of a controller, in the operator and in its integration tests.
    pub(crate) fn controller_module(&self, name: Option<&ControllerName>) -> String {
        match name {
            Some(name) => format!("{}_controller", name.as_str().replace('-', "_")),
            None => format!("{}_controller", self.resource.kind.lower()),
        }
    }

    pub(crate) fn controller(&self, name: Option<&ControllerName>) -> String {
        self.below(Folder::Controllers, &self.controller_module(name))
    }

    /// A module of a controller that consists of several.
    pub(crate) fn controller_part(&self, name: Option<&ControllerName>, part: &str) -> String {
        let module = self.controller_module(name);
        self.below(Folder::Controllers, &format!("{module}/{part}"))
    }

    pub(crate) fn controller_test(&self, name: Option<&ControllerName>) -> String {
        self.below(Folder::Tests, &self.controller_module(name))
    }

    /// The name of a controller in logs, metrics and `managedFields`, unique in the project.
    pub(crate) fn controller_name(&self, name: Option<&ControllerName>) -> String {
        match name {
            Some(name) => name.to_string(),
            None => self.qualified_kind(),
        }
    }

    /// The kind in the name of an object, with the group in front of it in a project with several groups.
    pub(crate) fn qualified_kind(&self) -> String {
        self.kind_in_name(self.group.is_some())
    }

    /// How the names of the type's roles for users of the API begin.
    pub(crate) fn role(&self) -> String {
        let recorded = self.resource.api().and_then(|api| api.grouped_roles);
        self.kind_in_name(recorded.unwrap_or(self.group.is_some()))
    }

    fn kind_in_name(&self, with_group: bool) -> String {
        let kind = self.resource.kind.lower();
        if with_group {
            format!("{}-{kind}", self.resource.group_name().replace('.', "-"))
        } else {
            kind
        }
    }

    /// The module that holds the webhooks of the version.
    pub(crate) fn webhook_version_module(&self) -> String {
        self.below(Folder::Webhooks, &self.resource.version.module())
    }

    /// The module of a webhook, in its version's module; `part` is defaulter, validator or converter.
    pub(crate) fn webhook_module(&self, part: &str) -> String {
        format!("{}_{part}", self.resource.kind.lower())
    }

    pub(crate) fn webhook(&self, part: &str) -> String {
        let (version, module) = (self.resource.version.module(), self.webhook_module(part));
        self.below(Folder::Webhooks, &format!("{version}/{module}"))
    }

    /// The module of a webhook's integration tests, which is not in a version's module.
    pub(crate) fn webhook_test_module(&self, part: &str) -> String {
        let version = self.resource.version.as_str().replace('-', "_");
        format!("{}_{version}_{part}", self.resource.kind.lower())
    }

    pub(crate) fn webhook_test(&self, part: &str) -> String {
        self.below(Folder::Tests, &self.webhook_test_module(part))
    }

    /// A shell pattern for all tests of the kind.
    pub(crate) fn tests_of_kind(&self) -> String {
        self.below(Folder::Tests, &format!("{}_*", self.resource.kind.lower()))
    }

    /// File name of the sample; it begins with the version if the resource has no group of its own.
    pub(crate) fn sample_file(&self) -> String {
        let (version, kind) = (&self.resource.version, self.resource.kind.lower());
        match self.resource.group_label() {
            Some(group) => format!("{group}_{version}_{kind}.yaml"),
            None => format!("{version}_{kind}.yaml"),
        }
    }

    /// The sample, an object that the API server accepts; that of an external type is only for tests.
    pub(crate) fn sample(&self) -> String {
        match self.resource.external() {
            Some(_) => format!("{EXTERNAL}samples/{}", self.sample_file()),
            None => format!("{SAMPLES}{}", self.sample_file()),
        }
    }

    /// The CRD of another operator's type, which tests install.
    pub(crate) fn external_crd(&self) -> String {
        let (group, plural) = (self.resource.qualified_group(), &self.resource.plural);
        format!("{EXTERNAL}{}", crd_file(&group, plural.as_str()))
    }

    /// The modules of a type that kbr made from the CRD of another operator: of its group, of its version, and its own.
    pub(crate) fn external_types(&self) -> [String; 3] {
        let folder = EXTERNAL_TYPES.trim_end_matches(".rs");
        let group = format!("{folder}/{}", self.resource.external_module());
        let version = format!("{group}/{}", self.resource.version.module());
        let types = format!("{version}/{}", self.types_module());
        [group, version, types].map(|path| path + ".rs")
    }

    /// The first object that the type must always be able to read.
    pub(crate) fn stored_sample(&self) -> String {
        format!("{STORED}{}", self.sample_file())
    }

    /// Name of the object in the sample. One API server may have the samples of all versions of a kind,
    /// so each has the version in its name, except that of the stored version, which is the first.
    pub(crate) fn sample_name(&self) -> String {
        let (kind, version) = (self.resource.kind.lower(), &self.resource.version);
        let names = if self.resource.is_stored() {
            [format!("{kind}-sample"), "sample".to_owned()]
        } else {
            [
                format!("{kind}-{version}-sample"),
                format!("{version}-sample"),
            ]
        };
        let mut names = names.into_iter();
        let fitting = names.find(|name| name.len() <= SAMPLE_NAME_MAX);
        fitting.unwrap_or_else(|| version.to_string())
    }

    /// File name of a policy: `which` is mutating or validating.
    pub(crate) fn policy_file(&self, which: &str) -> String {
        let sample = self.sample_file();
        let name = sample.strip_suffix(".yaml").unwrap_or(&sample);
        format!("{name}_{which}.yaml")
    }

    pub(crate) fn policy(&self, which: &str) -> String {
        format!("{POLICIES}{}", self.policy_file(which))
    }

    /// Name of the policies of the type, and of their bindings.
    pub(crate) fn policy_name(&self) -> String {
        let kind = self.resource.kind.lower();
        let name = format!("{kind}-{}", self.resource.version);
        match self.resource.group_label() {
            Some(group) => format!("{}-{name}", group.replace('.', "-")),
            None => name,
        }
    }

    /// File name of a role for users of the API: `who` is admin, editor or viewer.
    pub(crate) fn role_file(&self, who: &str) -> String {
        let group = self.prefix("_");
        format!("{group}{}_{who}_role.yaml", self.resource.kind.lower())
    }
}
