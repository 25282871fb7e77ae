//! Files that an earlier kbr has rendered and their owner has edited: a verb that changes them is refused until `kbr update`,
//! which knows git's history.

use std::collections::{BTreeMap, BTreeSet};

use super::Bench;
use crate::commands::error::Error;
use crate::commands::init_files::rendering;
use crate::commands::update::error::UpdateError;
use crate::layout;
use crate::project::PROJECT_FILE;
use crate::rendered::hash;

/// A kind with every file that a verb changes.
fn project() -> Bench {
    [
        "create api --group crew --kind Captain --version v1",
        "create api --group crew --kind Captain --version v2 --controller=false",
        "create webhook --group crew --kind Captain --version v1 --defaulting --programmatic-validation",
        "create webhook --group crew --kind Captain --version v1 --conversion --spoke v2",
        "create policy --group crew --kind Captain --version v1 --mutating --validating",
    ]
    .into_iter()
    .fold(Bench::new(), |bench, line| bench.after(line))
}

/// Every verb that carries edits over without git.
const VERBS: [&str; 7] = [
    "create webhook --group crew --kind Captain --version v2 --conversion --spoke v1",
    "edit --certificates cert-manager",
    "edit --multigroup",
    "edit --project-name other",
    "rename group --group crew --to ship",
    "rename kind --group crew --kind Captain --to Warden",
    "rename version --group crew --version v1 --to v3",
];

/// The files that move or change with the model, and whether what kbr renders for them is another text.
fn changing(bench: &Bench, line: &str) -> BTreeMap<String, bool> {
    let plan = bench.plan(line).expect("no refusal");
    let after = bench.with(&plan).project();
    let (olds, news) = (rendering(&bench.project()), rendering(&after));
    let steps = plan.steps.iter();
    let changing = steps.filter_map(|step| {
        let from = step.from()?;
        let is_other = olds.get(from)? != news.get(&step.path)?;
        (is_other || from != step.path).then(|| (from.to_owned(), is_other))
    });
    let is_fixed = |path: &str| path.starts_with(layout::STORED);
    changing.filter(|(path, _)| !is_fixed(path)).collect()
}

#[test]
fn edits_are_carried_only_if_it_is_known_what_was_rendered() {
    for line in VERBS {
        let mut bench = project();
        let changing = changing(&bench, line);
        let mut project = bench.project();
        for path in changing.keys() {
            let comment = if path.ends_with(".rs") { "//" } else { "#" };
            bench.edit(path, &format!("{comment} Mine.\n"));
        }
        bench.plan(line).expect("the edits are no obstacle");
        for path in changing.keys() {
            project
                .files
                .insert(path.clone(), hash("of an earlier kbr"));
        }
        bench
            .files
            .insert(PROJECT_FILE.to_owned(), project.render());

        let Err(Error::Update(UpdateError::First { files })) = bench.plan(line) else {
            panic!("{line} is not refused");
        };
        let listed: BTreeSet<&String> = files.iter().collect();
        let is_listed = |path: &&String| listed.contains(path);
        let others = changing.iter().filter(|(_, is_other)| **is_other);
        let others: Vec<&String> = others.map(|(path, _)| path).collect();
        assert!(
            !others.is_empty() && others.iter().all(is_listed),
            "{line}: {others:?}, {files:?}"
        );
        assert!(
            files.iter().all(|path| changing.contains_key(path)),
            "{line}: {files:?}"
        );
        assert_eq!(bench.refused(line), ["update-first"]);
    }
}

/// They find it in git.
#[test]
fn a_chart_and_a_bundle_of_an_earlier_kbr_need_no_update_first() {
    for (line, path) in [
        ("chart", "dist/chart/.helmignore"),
        ("bundle", "bundle.Dockerfile"),
    ] {
        let mut bench = Bench::new().after(line);
        let new = bench.text(path).to_owned();
        let last = new.lines().last().expect("a line");
        let old = new.replace(last, "# Of an earlier kbr.");
        let mut project = bench.project();
        project.files.insert(path.to_owned(), hash(&old));
        bench
            .files
            .insert(PROJECT_FILE.to_owned(), project.render());
        bench.files.insert(path.to_owned(), old.clone());
        bench.commit();
        bench
            .files
            .insert(path.to_owned(), format!("# Mine.\n{old}"));
        bench.commit();

        let (plan, conflicts) = bench.planned(line).expect("no refusal");

        assert_eq!(conflicts, [""; 0]);
        assert_eq!(bench.with(&plan).text(path), format!("# Mine.\n{new}"));
    }
}
