//! What remains to be done after an import, in order: the checklist in IMPORT.md.

use crate::import::go::GoProject;
use crate::import::go::project_file::GoResource;
use crate::layout;
use crate::project::{Admission, Project};

use super::deployed::Deployed;

/// The parts of the checklist, in its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    /// What the import could not carry over, and what that means.
    Lost,
    Types,
    Controllers,
    Webhooks,
    Deployment,
}

impl Step {
    fn title(self) -> &'static str {
        match self {
            Self::Lost => "What could not be carried over",
            Self::Types => "Types of other operators, and samples",
            Self::Controllers => "Controllers",
            Self::Webhooks => "Webhooks",
            Self::Deployment => "Deployment",
        }
    }
}

/// The checklist while it is made.
#[derive(Debug, Default)]
pub(super) struct Remaining {
    items: Vec<(Step, String)>,
}

impl Remaining {
    pub(super) fn add(&mut self, step: Step, text: impl Into<String>) {
        self.items.push((step, text.into()));
    }

    /// The text of IMPORT.md, and the warnings to print; `dir` is the folder of the project in Go.
    pub(super) fn finish(
        mut self,
        project: &Project,
        deployed: &Deployed,
        dir: &str,
    ) -> (String, Vec<String>) {
        self.items.sort_by_key(|(step, _)| *step);
        let mut text = format!(
            "# What remains to be done\n\n\
             `kbr import project` made this project of `{dir}`. Its objects in the cluster have the same names, except for \
             what \"Deployment\" lists below, so it replaces the operator in Go in place. Do the rest in this order, and delete this file at the end.\n\n\
             ## First\n\n\
             - [ ] `kbr manifests`, then `kbr manifests --check --against-crds {dir}/{}`: the CRDs break nothing.\n\
             - [ ] Compare `{}` and `{}` with those of the operator in Go.\n\
             - [ ] `cargo build --locked`, then `git init && git add -A && git commit`: each next step is a small change.\n",
            layout::CRD_BASES,
            layout::MANAGER_ROLE,
            layout::WEBHOOK_MANIFESTS,
        );
        let mut last = None;
        for (step, item) in &self.items {
            if last.replace(*step) != Some(*step) {
                text += &format!("\n## {}\n\n", step.title());
            }
            text += &format!("- [ ] {item}\n");
        }
        let (manager, namespace) = deployed.manager(project);
        text += &format!(
            "\n## At the end\n\n\
             - [ ] `make test`: the operator runs against a real API server, with its role and its webhooks.\n\
             - [ ] `make test-rbac` lists the permissions that it does not need: most markers of kubebuilder grant more.\n\
             - [ ] Compare what `kubectl kustomize {dir}/config/default` and `kubectl kustomize config/default` print: objects \
             that only the first has stay in the cluster until you delete them; webhook configurations that nobody serves block requests.\n\
             - [ ] `make deploy IMG=…`: it updates the Deployment `{manager}` in `{namespace}`; the new \
             managers wait until those in Go release the Lease `{}`.\n",
            project.lease(),
        );
        let mut warnings: Vec<String> = self.items.into_iter().map(|(_, item)| item).collect();
        warnings.push(format!(
            "`{}` lists what remains to be done, in order",
            layout::IMPORT
        ));
        (text, warnings)
    }
}

/// What to do for a type of another operator.
pub(super) fn external(go: &GoProject<'_>, listed: &GoResource) -> String {
    let domain = match listed.domain.as_str() {
        "" => String::new(),
        domain => format!(" --external-api-domain {domain}"),
    };
    let options = format!(
        "--group {} --version {} --kind {}{domain} --external-api-crd FILE",
        listed.group, listed.version, listed.kind
    );
    let mut commands = Vec::new();
    if listed.controller || !listed.controllers.is_empty() {
        commands.push(format!("`kbr create api {options} --resource=false`"));
    }
    if let Some(webhooks) = &listed.webhooks {
        let wanted = Admission::typed(webhooks.defaulting, webhooks.validation);
        let wanted = wanted.into_iter().map(|it| format!(" {}", it.option()));
        let wanted: String = wanted.collect();
        commands.push(format!("`kbr create webhook {options}{wanted}`"));
    }
    let module = if listed.module.is_empty() {
        &go.module
    } else {
        &listed.module
    };
    format!(
        "`{}` belongs to another operator (in Go, `{module}`): save its CRD as a file, from which kbr makes the type, and type {}",
        listed.gvk(),
        commands.join(" and ")
    )
}
