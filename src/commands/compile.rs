//! Compiles the types of a project, with the project's own crdgen.

use crate::apply::{self, Typed};
use crate::cli::{Color, Mode};
use crate::commands::desired::Desired;
use crate::commands::error::Result;
use crate::commands::folder::load;
use crate::commands::run::{Run, resolve};
use crate::commands::types::{self, Types};
use crate::project::Project;
use crate::toolchain;
use crate::tree::Tree;

/// A project whose types are compiled.
pub(super) struct Compiled {
    pub(crate) project: Project,
    pub(crate) tree: Tree,
    pub(crate) types: Types,
    /// Says that crdgen was rewritten.
    pub(crate) warning: Option<String>,
}

impl Compiled {
    /// Compiles the types of a project. Returns `None` if crdgen must be rewritten first but this run writes
    /// nothing: then the command ends here, with `typed` as the next command.
    pub(super) fn of(
        mut project: Project,
        mut tree: Tree,
        typed: &'static str,
        color: Color,
        run: &Run,
    ) -> Result<Option<Self>> {
        let has_types = types::has_types(&project);
        let mut warning = None;
        if let Some(desired) = types::crdgen(&project, &tree, typed).filter(|_| has_types) {
            if run.mode != Mode::Apply {
                run.end(&tree, desired)?;
                return Ok(None);
            }
            warning = desired.warnings.first().cloned();
            write_crdgen(desired, &tree, run)?;
            (project, tree) = load(&run.root)?;
        }
        let types = if has_types {
            let is_first = !run.root.join("target").exists();
            let time = if is_first {
                ", which takes minutes the first time"
            } else {
                ""
            };
            if !run.report.is_json() {
                let text = format!("the API types with cargo{time}");
                run.report.status("Compiling", &text);
            }
            let output = toolchain::crdgen(&run.root, color, run.mode != Mode::Apply);
            let printed = output.map_err(|error| types::explained(error, &tree))?;
            Types::of(&project, &printed, &tree)?
        } else {
            Types::default()
        };
        Ok(Some(Self {
            project,
            tree,
            types,
            warning,
        }))
    }
}

/// Writes crdgen, which must exist before the types can be compiled, without reporting it.
fn write_crdgen(desired: Desired, tree: &Tree, run: &Run) -> Result<()> {
    let plan = resolve(desired.changes, desired.project, tree)?;
    let typed = Typed {
        command: run.command.clone(),
        line: None,
        warnings: Vec::new(),
        next: desired.next.to_owned(),
    };
    Ok(apply::apply(&run.root, &plan, typed)?)
}
