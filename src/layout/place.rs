//! Where the files of one resource stand, and what its modules and objects are called.
//!
//! A project of several API groups has a folder for each wherever two groups could meet, and names
//! with the group in them.

use crate::names::ControllerName;
use crate::project::{Project, Resource};

use super::{API_LIB, CONTROLLERS, EXTERNAL, LIB, SAMPLES, STORED, TESTS, WEBHOOKS, crd_file};

/// Longest name of an object that is a label's value too, which is what validators are emitted with.
const SAMPLE_NAME_MAX: usize = 63;

/// A resource in its project.
pub struct Place<'a> {
    resource: &'a Resource,
    /// Module of its group, in a project of several.
    group: Option<String>,
}

/// One of the modules of the project that have modules below them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    Api,
    Controllers,
    Tests,
    Webhooks,
}

impl Part {
    /// The file that declares what is below it.
    pub fn file(self) -> &'static str {
        match self {
            Self::Api => API_LIB,
            Self::Controllers => CONTROLLERS,
            Self::Tests => TESTS,
            Self::Webhooks => WEBHOOKS,
        }
    }

    /// Root file of the crate that it is in.
    pub fn root(self) -> &'static str {
        match self {
            Self::Api => API_LIB,
            Self::Controllers | Self::Webhooks => LIB,
            Self::Tests => TESTS,
        }
    }

    /// The Rust path, in its crate, of the module in a file below it.
    pub fn module(self, file: &str) -> Option<String> {
        let below = file.strip_prefix(self.folder())?.strip_suffix(".rs")?;
        let inside = match self {
            Self::Api | Self::Tests => "",
            Self::Controllers => "controller::",
            Self::Webhooks => "webhook::",
        };
        Some(format!("{inside}{}", below.replace('/', "::")))
    }

    /// The folder of the modules below it.
    fn folder(self) -> &'static str {
        match self {
            Self::Api => "api/src/",
            Self::Controllers => "src/controller/",
            Self::Tests => "tests/it/",
            Self::Webhooks => "src/webhook/",
        }
    }
}

impl<'a> Place<'a> {
    pub fn of(project: &Project, resource: &'a Resource) -> Self {
        Self {
            resource,
            group: project.multigroup.then(|| project.group_module(resource)),
        }
    }

    /// Module of the group, in a project of several.
    pub fn group(&self) -> Option<&str> {
        self.group.as_deref()
    }

    /// The group in front of what is below it, `between` behind it; nothing in a project of one.
    fn prefix(&self, between: &str) -> String {
        let group = self.group.as_ref();
        group.map_or_else(String::new, |group| format!("{group}{between}"))
    }

    /// The group as it stands in front of a path of Rust modules.
    pub fn rust_prefix(&self) -> String {
        self.prefix("::")
    }

    /// The file of the group's module in that part.
    pub fn group_file(&self, part: Part) -> Option<String> {
        let group = self.group.as_ref()?;
        Some(format!("{}{group}.rs", part.folder()))
    }

    /// The file that declares the modules of this group, or of the only one, in that part.
    pub fn parent(&self, part: Part) -> String {
        self.group_file(part)
            .unwrap_or_else(|| part.file().to_owned())
    }

    /// A file below that part, without `.rs`.
    fn below(&self, part: Part, rest: &str) -> String {
        format!("{}{}{rest}.rs", part.folder(), self.prefix("/"))
    }

    /// The module that holds the types of the version.
    pub fn version_module(&self) -> String {
        self.below(Part::Api, self.resource.version.as_str())
    }

    pub fn types_module(&self) -> String {
        format!("{}_types", self.resource.kind.lower())
    }

    pub fn types(&self) -> String {
        let (version, module) = (&self.resource.version, self.types_module());
        self.below(Part::Api, &format!("{version}/{module}"))
    }

    /// The module of a controller, in the operator and in its integration tests.
    pub fn controller_module(&self, name: Option<&ControllerName>) -> String {
        match name {
            Some(name) => format!("{}_controller", name.as_str().replace('-', "_")),
            None => format!("{}_controller", self.resource.kind.lower()),
        }
    }

    pub fn controller(&self, name: Option<&ControllerName>) -> String {
        self.below(Part::Controllers, &self.controller_module(name))
    }

    /// A module of a controller that has several.
    pub fn controller_part(&self, name: Option<&ControllerName>, part: &str) -> String {
        let module = self.controller_module(name);
        self.below(Part::Controllers, &format!("{module}/{part}"))
    }

    pub fn controller_test(&self, name: Option<&ControllerName>) -> String {
        self.below(Part::Tests, &self.controller_module(name))
    }

    /// What a controller is called in logs, metrics and `managedFields`: no other of the project is.
    pub fn controller_name(&self, name: Option<&ControllerName>) -> String {
        match name {
            Some(name) => name.to_string(),
            None => format!("{}{}", self.prefix_of_names(), self.resource.kind.lower()),
        }
    }

    /// The group in front of the name of an object, in a project of several.
    fn prefix_of_names(&self) -> String {
        let group = self.group.as_ref().map(|_| self.resource.group_name());
        group.map_or_else(String::new, |group| format!("{}-", group.replace('.', "-")))
    }

    /// The module that holds the webhooks of the version.
    pub fn webhook_version_module(&self) -> String {
        self.below(Part::Webhooks, self.resource.version.as_str())
    }

    /// The module of a webhook, inside of its version's; `part` is defaulter, validator or converter.
    pub fn webhook_module(&self, part: &str) -> String {
        format!("{}_{part}", self.resource.kind.lower())
    }

    pub fn webhook(&self, part: &str) -> String {
        let (version, module) = (&self.resource.version, self.webhook_module(part));
        self.below(Part::Webhooks, &format!("{version}/{module}"))
    }

    /// The module of a webhook's integration tests, which are in no module of a version.
    pub fn webhook_test_module(&self, part: &str) -> String {
        let (kind, version) = (self.resource.kind.lower(), &self.resource.version);
        format!("{kind}_{version}_{part}")
    }

    pub fn webhook_test(&self, part: &str) -> String {
        self.below(Part::Tests, &self.webhook_test_module(part))
    }

    /// A pattern of all tests of the kind, as a shell would have it.
    pub fn tests_of_kind(&self) -> String {
        self.below(Part::Tests, &format!("{}_*", self.resource.kind.lower()))
    }

    /// File name of the sample; without a group of its own the name begins with the version.
    pub fn sample_file(&self) -> String {
        let (version, kind) = (&self.resource.version, self.resource.kind.lower());
        match &self.resource.group {
            Some(group) => format!("{group}_{version}_{kind}.yaml"),
            None => format!("{version}_{kind}.yaml"),
        }
    }

    /// An object that the API server takes: of another operator's type, only for the tests.
    pub fn sample(&self) -> String {
        match self.resource.external() {
            Some(_) => format!("{EXTERNAL}samples/{}", self.sample_file()),
            None => format!("{SAMPLES}{}", self.sample_file()),
        }
    }

    /// The CRD of another operator's type, which tests install.
    pub fn external_crd(&self) -> String {
        let (group, plural) = (self.resource.qualified_group(), &self.resource.plural);
        format!("{EXTERNAL}{}", crd_file(&group, plural.as_str()))
    }

    /// The first object that the type must always read.
    pub fn stored_sample(&self) -> String {
        format!("{STORED}{}", self.sample_file())
    }

    /// Name of the object in the sample. One API server may hold the samples of all versions of a
    /// kind, so that each but the stored one, the first, has the version in its name.
    pub fn sample_name(&self) -> String {
        let version = if self.resource.is_stored() {
            String::new()
        } else {
            format!("{}-", self.resource.version)
        };
        let name = format!("{}-{version}sample", self.resource.kind.lower());
        if name.len() > SAMPLE_NAME_MAX {
            format!("{version}sample")
        } else {
            name
        }
    }

    /// File name of a role for people: `who` is admin, editor or viewer.
    pub fn role_file(&self, who: &str) -> String {
        let group = self.prefix("_");
        format!("{group}{}_{who}_role.yaml", self.resource.kind.lower())
    }

    /// Name of that role, to which kustomize adds the project's.
    pub fn role_name(&self, who: &str) -> String {
        let group = self.prefix_of_names();
        format!("{group}{}-{who}-role", self.resource.kind.lower())
    }
}
