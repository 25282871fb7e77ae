//! Changes as values: the changes of a command, and what they mean for the tree.
//!
//! A command lists [`Change`]s, each of which says who owns the file. [`Plan::resolve`] compares
//! them with a [`Tree`] and returns one [`Step`] per file: its text before and after. Impossible changes
//! are refused here, all at once, before anything is written. Pure.

mod error;
mod step;

use std::collections::{BTreeMap, BTreeSet};

use crate::evolve::{self, Rerendered};
use crate::layout;
use crate::marker::ScaffoldMarker;
use crate::project::{PROJECT_FILE, Project};
use crate::rendered::{Rendered, hash};
use crate::tree::Tree;

use error::check_place;
pub(crate) use error::{Conflict, PlanError};
use step::Why;
pub(crate) use step::{Outcome, Step, is_generated};

/// One change that a command makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    /// A file that belongs to the user from now on; an existing file with another text is a conflict,
    /// unless `force` allows overwriting it.
    Create {
        path: String,
        text: String,
        force: bool,
    },
    /// A file that belongs to the user, and stays as it is if it already exists.
    Keep { path: String, text: String },
    /// A file that kbr owns: it has the [`layout::GENERATED`] header, and so must the file that it replaces.
    Generate { path: String, text: String },
    /// One line above a scaffold marker of a file that exists, or that an earlier change creates.
    Insert {
        path: String,
        marker: ScaffoldMarker,
        fragment: String,
    },
    /// The removal of such a line; does nothing if it is not above its marker.
    TakeOut {
        path: String,
        marker: ScaffoldMarker,
        fragment: String,
    },
    /// The removal of a file: one of kbr's that is no longer produced, or one of the user's that is no
    /// longer needed.
    Remove { path: String },
    /// A user's file that gets another text for a reason of its own, such as a crate that cargo adds: what kbr
    /// has rendered stays the same.
    Edit { path: String, text: String },
    /// A user's file that changes with the model, and which may move. `rendered` is how kbr renders it, before and after,
    /// if that follows from the model.
    Rewrite {
        from: String,
        path: String,
        text: String,
        rendered: Option<Rerendered>,
    },
    /// A user's file that is no longer needed, and that stays because its owner has edited it.
    Leave { path: String },
}

/// The steps of one command, in the order of their paths, PROJECT last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
}

impl Plan {
    /// Compares `changes` with `tree`.
    pub(crate) fn resolve(changes: Vec<Change>, tree: &Tree) -> Result<Self, Vec<PlanError>> {
        let mut steps: BTreeMap<String, Step> = BTreeMap::new();
        let mut conflicts = Vec::new();
        let (mut errors, mut broken) = (Vec::new(), BTreeSet::new());
        // The commands that change files with the model have no `--force`.
        let is_rewrite = |change: &Change| matches!(change, Change::Rewrite { .. });
        let may_force = tree.entry(PROJECT_FILE).is_some() && !changes.iter().any(is_rewrite);
        for change in changes {
            if let Change::Rewrite { from, path, .. } = &change
                && from != path
            {
                let moved = Step::new(from, tree.text(from), None, Outcome::Removed);
                steps.insert(from.clone(), moved);
            }
            if let Err(why) = check_place(change.path(), tree) {
                conflicts.push(why);
                continue;
            }
            let path = change.path().to_owned();
            if broken.contains(&path) {
                continue;
            }
            let step = steps.entry(path.clone()).or_insert_with_key(|path| {
                let text = tree.text(path);
                Step::new(path, text, text, Outcome::Unchanged)
            });
            if let Err(error) = step.change(change) {
                errors.push(error);
                broken.insert(path);
            }
        }
        conflicts.extend(steps.values().filter_map(Step::conflict));
        conflicts.sort_by(|a, b| a.path.cmp(&b.path));
        conflicts.dedup();
        if !conflicts.is_empty() {
            let is_other_content = |it: &Conflict| it.why == Why::OtherContent;
            let help = if may_force && conflicts.iter().all(is_other_content) {
                "move it out of the way, or add `--force` to overwrite it"
            } else {
                "move it out of the way, and run the command again"
            };
            errors.insert(0, PlanError::Conflicts { conflicts, help });
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        Ok(Self {
            steps: steps.into_values().collect(),
        })
    }

    /// Adds PROJECT as the last step: `project`, with the hash of each file that kbr has rendered or renamed.
    ///
    /// A file that its owner has edited keeps the hash of what kbr wrote last, and so remains
    /// distinguishable from an untouched one.
    pub(crate) fn seal(
        mut self,
        mut project: Project,
        tree: &Tree,
        [old, new]: [&Rendered; 2],
    ) -> Result<Self, Vec<PlanError>> {
        let (before, mut bases) = (project.files.clone(), std::mem::take(&mut project.bases));
        let mut continued = BTreeMap::new();
        let steps = self.steps.iter();
        for step in steps.filter(|step| layout::is_recorded(&step.path)) {
            let path = &step.path;
            let was_unedited = |from: &String| {
                let text = tree.text(from);
                text.is_some_and(|text| old.is_unedited(from, text))
            };
            let Some(after) = &step.after else {
                project.files.remove(path);
                continue;
            };
            if let (Some(from), Some(it)) = (&step.from, &step.rerendered)
                && before.get(from) == Some(&hash(&it.old))
            {
                project.files.insert(path.clone(), hash(&it.new));
                let kept = bases.remove(from);
                if new.hash(path, after) != hash(&it.new) {
                    continued.insert(path.clone(), evolve::continued(kept, from, it));
                }
                continue;
            }
            if let Some(from) = step.from.as_ref().filter(|from| *from != path)
                && let Some(mut kept) = bases.remove(from)
            {
                kept.path.get_or_insert_with(|| from.clone());
                continued.insert(path.clone(), kept);
            }
            let is_renamed = || step.from.as_ref().is_some_and(was_unedited);
            let rendered = match &step.rendered {
                Some(rendered) => Some(rendered),
                None => is_renamed().then_some(after),
            };
            let recorded = || before.get(step.from.as_ref()?).cloned();
            let hash = rendered.map(|text| new.hash(path, text)).or_else(recorded);
            project.files.extend(hash.map(|hash| (path.clone(), hash)));
        }
        bases.extend(continued);
        bases.retain(|path, base| {
            let text = self.steps.iter().find(|step| step.path == *path);
            let recorded = project.files.get(path);
            let is_rendered = text.is_some_and(|step| step.rendered.is_some());
            if base.path.as_ref() == Some(path) {
                base.path = None;
            }
            // Git has that text, so nothing must be remembered.
            let is_in_git = base.path.is_none() && recorded == Some(&base.hash);
            recorded.is_some() && !is_rendered && !is_in_git
        });
        project.bases = bases;
        // The file has just been read as PROJECT, or does not exist: it is kbr's, whatever its header.
        let change = Change::Create {
            path: PROJECT_FILE.to_owned(),
            text: project.render(),
            force: true,
        };
        self.steps.extend(Self::resolve(vec![change], tree)?.steps);
        Ok(self)
    }

    /// The steps of files that exist, or will exist.
    pub(crate) fn visible(&self) -> impl Iterator<Item = &Step> {
        let steps = self.steps.iter();
        steps.filter(|step| step.before.is_some() || step.after.is_some())
    }

    /// The steps for removing files that do not exist.
    pub(crate) fn already_removed(&self) -> impl Iterator<Item = &Step> {
        let steps = self.steps.iter();
        steps.filter(|step| step.before.is_none() && step.after.is_none())
    }

    /// The steps that change something.
    pub(crate) fn changing(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(|step| step.before != step.after)
    }
}

impl Change {
    pub(crate) fn path(&self) -> &str {
        match self {
            Self::Create { path, .. }
            | Self::Keep { path, .. }
            | Self::Generate { path, .. }
            | Self::Insert { path, .. }
            | Self::TakeOut { path, .. }
            | Self::Remove { path }
            | Self::Edit { path, .. }
            | Self::Rewrite { path, .. }
            | Self::Leave { path } => path,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rendered::hash;

    fn create(path: &str, text: &str) -> Change {
        Change::Create {
            path: path.to_owned(),
            text: text.to_owned(),
            force: false,
        }
    }

    fn generate(path: &str, text: &str) -> Change {
        Change::Generate {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    /// Outcome and text of the only step.
    fn one(change: Change, tree: &Tree) -> (Outcome, Option<String>) {
        let mut plan = Plan::resolve(vec![change], tree).expect("no conflict");
        let step = plan.steps.pop().expect("a step");
        (step.outcome, step.after)
    }

    fn conflicts(changes: Vec<Change>, tree: &Tree) -> Vec<String> {
        match Plan::resolve(changes, tree) {
            Err(errors) => match &errors[..] {
                [PlanError::Conflicts { conflicts, .. }] => {
                    conflicts.iter().map(ToString::to_string).collect()
                }
                other => panic!("no conflict: {other:?}"),
            },
            Ok(plan) => panic!("no conflict: {plan:?}"),
        }
    }

    #[test]
    fn a_created_file_belongs_to_the_user() {
        let tree = Tree::from([("a", "mine"), ("b", "same")]);
        assert_eq!(
            one(create("new", "x"), &tree),
            (Outcome::Created, Some("x".to_owned()))
        );
        assert_eq!(one(create("b", "same"), &tree).0, Outcome::Unchanged);
        assert_eq!(
            conflicts(vec![create("a", "x"), create("b", "y")], &tree).len(),
            2,
            "all at once"
        );
        let forced = Change::Create {
            path: "a".to_owned(),
            text: "x".to_owned(),
            force: true,
        };
        assert_eq!(one(forced, &tree), (Outcome::Updated, Some("x".to_owned())));
    }

    #[test]
    fn a_generated_file_replaces_only_a_generated_file() {
        let tree = Tree::from([("own", "# Generated by kbr\nold\n"), ("other", "by hand\n")]);
        assert_eq!(
            one(generate("own", "# Generated by kbr\nnew\n"), &tree).0,
            Outcome::Updated
        );
        assert_eq!(
            one(generate("own", "# Generated by kbr\nold\n"), &tree).0,
            Outcome::Unchanged
        );
        assert_eq!(
            conflicts(vec![generate("other", "# Generated by kbr\n")], &tree),
            ["`other` would be generated, but the existing file was not written by kbr"]
        );
    }

    #[test]
    fn line_ends_of_windows_are_no_difference() {
        let text = "# Generated by kbr\na: 1\n";
        let windows = text.replace('\n', "\r\n");
        let tree = Tree::from([("own", &*windows)]);
        let keep = Change::Keep {
            path: "own".to_owned(),
            text: text.to_owned(),
        };
        for change in [generate("own", text), create("own", text), keep] {
            let (outcome, after) = one(change, &tree);
            assert_eq!(
                (outcome, after),
                (Outcome::Unchanged, Some(windows.clone()))
            );
        }
        let new = "# Generated by kbr\na: 2\n";
        let (_, after) = one(generate("own", new), &tree);
        assert_eq!(after, Some(new.replace('\n', "\r\n")));
    }

    #[test]
    fn force_is_advised_only_where_there_is_such_an_option() {
        let tree = Tree::from([(PROJECT_FILE, ""), ("a", "mine"), ("b", "b"), ("c", "mine")]);
        let rewrite = |path: &str| Change::Rewrite {
            from: "b".to_owned(),
            path: path.to_owned(),
            text: "new".to_owned(),
            rendered: None,
        };
        for (changes, has_force) in [
            (vec![create("a", "x")], true),
            (vec![rewrite("c")], false),
            (vec![create("a", "x"), rewrite("b")], false),
        ] {
            let errors = Plan::resolve(changes, &tree).expect_err("a conflict");
            let help = miette::Diagnostic::help(&errors[0]).expect("a help");
            assert_eq!(help.to_string().contains("--force"), has_force);
        }
    }

    #[test]
    fn a_kept_file_stays() {
        let keep = |text: &str| Change::Keep {
            path: "README.md".to_owned(),
            text: text.to_owned(),
        };
        let tree = Tree::from([("README.md", "mine")]);
        assert_eq!(
            one(keep("ours"), &tree),
            (Outcome::Kept, Some("mine".to_owned()))
        );
        assert_eq!(one(keep("ours"), &Tree::default()).0, Outcome::Created);
    }

    #[test]
    fn lines_are_inserted_into_files_that_the_same_plan_creates() {
        let insert = |fragment: &str| Change::Insert {
            path: "lib.rs".to_owned(),
            marker: ScaffoldMarker::Modules,
            fragment: fragment.to_owned(),
        };
        let changes = vec![
            create("lib.rs", "// +kbr:scaffold:modules\n"),
            insert("mod b;"),
            insert("mod a;"),
        ];
        let plan = Plan::resolve(changes, &Tree::default()).expect("no conflict");
        assert_eq!(plan.steps.len(), 1);
        assert_eq!(plan.steps[0].outcome, Outcome::Created);
        assert_eq!(
            plan.steps[0].after.as_deref(),
            Some("mod a;\nmod b;\n// +kbr:scaffold:modules\n")
        );
        let missing = Plan::resolve(vec![insert("mod a;")], &Tree::default()).expect_err("no file");
        assert_eq!(
            missing[0].to_string(),
            "`lib.rs` does not exist, but `mod a;` belongs in it"
        );
    }

    #[test]
    fn a_file_where_a_folder_is_needed_is_a_conflict() {
        let tree = Tree::from([("config", "a file")]);
        assert_eq!(
            conflicts(vec![create("config/a/b.yaml", "")], &tree),
            ["`config` is a file, but kbr needs a folder there"]
        );
    }

    #[test]
    fn a_hash_is_of_the_text_that_kbr_wrote_without_inserted_lines() {
        let mut project = Project::new(
            "x".parse().expect("a name"),
            "example.com".parse().expect("a domain"),
            crate::project::License::None,
        );
        let marker = "// +kbr:scaffold:modules\n";
        project
            .files
            .insert("touched".to_owned(), hash("as rendered"));
        project.files.insert("untouched".to_owned(), hash(marker));
        let tree = Tree::from([("touched", marker), ("untouched", marker)]);
        let insert = |path: &str| Change::Insert {
            path: path.to_owned(),
            marker: ScaffoldMarker::Modules,
            fragment: "mod a;".to_owned(),
        };
        let mut changes = vec![
            insert("touched"),
            insert("untouched"),
            create("new", marker),
        ];
        changes.push(insert("new"));
        let plan = Plan::resolve(changes, &tree).expect("no conflict");
        let lines = ["touched", "untouched", "new"].map(|path| {
            (
                path.to_owned(),
                ScaffoldMarker::Modules,
                "mod a;".to_owned(),
            )
        });
        let rendered = [
            &Rendered::new(&project, []),
            &Rendered::new(&project, lines),
        ];
        let sealed = plan.seal(project, &tree, rendered);
        let sealed = sealed.expect("no conflict");
        let last = sealed.steps.last().expect("PROJECT");
        assert_eq!(last.path, PROJECT_FILE, "PROJECT is last");
        let written = Project::parse(last.after.as_deref().expect("a text")).expect("its own text");
        assert_eq!(written.files["touched"], hash("as rendered"));
        assert_eq!(written.files["untouched"], hash(marker));
        assert_eq!(written.files["new"], hash(marker));
    }
}
