//! PROJECT files: an accepted file is the same after it is rendered and read again.

use std::sync::LazyLock;

use super::lines::PROJECTS;
use super::names::name;
use super::random::Random;
use super::{Words, fuzz};
use crate::error::help_of;
use crate::project::{PROJECT_FILE, Project};

/// Fragments of YAML, and of PROJECT.
static WORDS: Words = Words::new(|| {
    "&a ·*a·&a [*a]·!!str ·!!binary ·!x ·<<: *a·? ·- ·: ·---\n·...\n·%YAML 1.1\n·# x·|\n·\
     >-\n·{·}·[·]·{}·[]·\"·\'·null·~·true·false·on·1e999·0x1f·.inf·-1·\
     99999999999999999999999·2001-01-01·\t·version: \"3\"\n·version: 3\n·\
     layout:\n- kbr/v2\n·layout: kbr/v2\n·kbr/v3·go.kubebuilder.io/v4·domain: x\n·\
     namespaced: true\n·owner: x\n·license: none\n·repo: https://x.y\n·resources: []\n·\
     resources:\n·files: {}\n·  ../x: y\n·- controller: true\n·  core: true\n\
     ·  api:\n    crdVersion: v1\n    namespaced: true\n·    storage: true\n·  group: batch\n\
     ·  kind: Bar\n·  plural: bars\n·  version: v2\n·  webhooks:\n    webhookVersion: v1\n\
     ·    spoke:\n    - v1\n·    conversion: true\n"
        .split('·')
        .collect()
});

/// A PROJECT file that may be wrong.
pub(crate) fn project(random: &mut Random) -> String {
    let text = PROJECTS[random.below(PROJECTS.len())].files[PROJECT_FILE].as_str();
    // Hashes are most of the text, and matter little.
    let text = match text.split_once("files:\n") {
        Some((before, rest)) if !random.one_in(8) => {
            let after = rest.find("\nlayout").expect("a key behind it") + 1;
            format!("{before}{}", &rest[after..])
        }
        _ => text.to_owned(),
    };
    match random.below(24) {
        0 => random.pick(&WORDS).repeat(2000),
        1 => format!(
            "{text}x: {}",
            random.pick(&["[", "{a: ", "- ", "!x ", "? "]).repeat(5000)
        ),
        2 => format!("{}{text}", *LAUGHS),
        3 => {
            let name = name(random);
            text.replace("bench", &name)
        }
        _ => random.mutate(&text, &WORDS),
    }
}

/// Aliases of aliases, which expand to a billion times the text.
static LAUGHS: LazyLock<String> = LazyLock::new(|| {
    let line = |n: usize| {
        format!(
            "a{n}: &a{n} [{}]\n",
            vec![format!("*a{}", n - 1); 10].join(", ")
        )
    };
    format!("a0: &a0 [x, x]\n{}", (1..10).map(line).collect::<String>())
});

#[test]
fn project_files_that_are_accepted_stay_what_they_are() {
    fuzz("project_files", 600, 1, |random| {
        let text = project(random);
        random.input(&text);
        match Project::parse(&text) {
            Ok(project) => {
                let again = Project::parse(&project.render()).expect("its own text");
                assert_eq!(again, project);
                true
            }
            Err(error) => {
                assert!(
                    !error.to_string().is_empty() && help_of(&error).is_some(),
                    "{error}"
                );
                false
            }
        }
    });
}
