//! Markers: comments that kbr reads, and the lines above which it inserts.

use std::sync::LazyLock;

use clap::ValueEnum;

use super::lines::PROJECTS;
use super::plans::assert_is_yaml;
use super::random::Random;
use super::{Words, fuzz};
use crate::cli::{Cli, Known};
use crate::commands::error::Error;
use crate::commands::manifests::error::ManifestsError;
use crate::commands::tests::{Bench, planned};
use crate::layout;
use crate::marker::ScaffoldMarker;

/// Sources whose markers are understood.
const SOURCES: [&str; 8] = [
    "// +kbr:rbac:groups=batch,resources=jobs;cronjobs,verbs=get;list;watch\nfn a() {}\n",
    "// +kbr:rbac:groups=\"\",resources=pods,verbs=*,resourceNames=a;b,namespace=x\n// +kbr:rbac:urls=/metrics,verbs=get\n",
    "//! +kbubuilder\n    // +kubebuilder:rbac:groups=core,resources=pods/status,verbs=\"get;update\"\n",
    "// +kbr:webhook:mutating=false,path=/a,groups=core,resources=pods,verbs=create;update,versions=v1,name=a.b.c\n\
     pub const PATH: &str = \"/a\";\n",
    "// +kbr:webhook:mutating=true,path=/m,groups=core,resources=pods,verbs=create,versions=v1,name=m.b.c,\
     failurePolicy=fail,sideEffects=None,timeoutSeconds=10,matchPolicy=Equivalent,admissionReviewVersions=v1,\
     reinvocationPolicy=IfNeeded,namespaceSelector=\"matchLabels~a=b\"\nconst M: &str = \"/m\";\n",
    "// +kbr:webhookconfiguration:mutating=true,name=defaults\n",
    "let a = \"// +kbr:rbac:x\"; let b = r#\"\n// +kbr:nothing\n\"#; /* a /* b */ */ // +kbr:scaffold:controllers\n",
    "#!/usr/bin/env x\n#![allow(x)]\nmod a { // x\n    // +kbr:scaffold:modules\n}\n'a: loop { 'b' }\n",
];

/// Fragments of such sources.
static WORDS: Words = Words::new(|| {
    "// +kbr:·// +kubebuilder:·/// +kbr:·//! +kbr:·/* +kbr:·*/·/*·//·+kbr:·rbac:·webhook:·\
     webhookconfiguration:·scaffold:·object:·groups=·resources=·verbs=·urls=·namespace=·\
     resourceNames=·roleName=·path=·name=·mutating=·failurePolicy=·sideEffects=·\
     timeoutSeconds=·matchPolicy=·versions=·url=·serviceName=·objectSelector=·\
     namespaceSelector=·matchConditions=·reinvocationPolicy=·admissionReviewVersions=·\
     matchLabels~a=b·a=b·a in (b,c)·!a·a notin (b)·core·batch·pods·pods/status·*·*/*·\
     get;list·create;update·escalate·nodes·v1·true·false·fail·Ignore·30·99999999999·-1·,·;·\
     =·:·\"·r#\"·\"#·{·}·\n·const A: &str = \"/x\";"
        .split('·')
        .collect()
});

/// A source whose markers may be wrong.
fn source(random: &mut Random) -> String {
    let count = 1 + random.below(3);
    let text: String = (0..count).map(|_| random.pick(&SOURCES)).collect();
    if random.one_in(6) {
        text
    } else {
        random.mutate(&text, &WORDS)
    }
}

#[test]
fn code_markers_make_manifests_or_errors() {
    fuzz("code_markers", 120, 1, |random| {
        let source = source(random);
        random.input(&source);
        let files = PROJECTS[random.below(PROJECTS.len())].files.iter();
        let files = files.map(|(path, text)| (path.as_str(), text.as_str()));
        // No markers are read in the vendored crates.
        let files = files.filter(|(path, _)| !layout::is_vendored(path));
        let tree = files
            .chain([("src/bin/fuzz.rs", source.as_str())])
            .collect();
        let cli =
            Cli::of(&["kbr", "manifests"].map(Into::into), &Known::default()).expect("a line");
        match planned(cli, &tree).expect("it plans") {
            Ok(plan) => {
                for step in &plan.steps {
                    assert_is_yaml(&step.path, step.after.as_deref().unwrap_or_default());
                }
                true
            }
            Err(Error::Manifests(ManifestsError::Markers(errors))) => {
                for error in &errors {
                    let place = &error.location;
                    assert!(
                        !error.message.is_empty() && !error.help.is_empty(),
                        "{error}"
                    );
                    assert!(
                        place.path.starts_with("src/") || place.path == layout::MANAGER,
                        "{error}"
                    );
                    let line = source.split('\n').nth(place.line - 1);
                    let is_there =
                        line.is_some_and(|line| place.column <= line.chars().count() + 1);
                    assert!(is_there || place.path != "src/bin/fuzz.rs", "{error}");
                }
                false
            }
            Err(error) => panic!("{error}"),
        }
    });
}

/// A file with scaffold markers that somebody has edited, and one of its markers.
fn scaffold(random: &mut Random) -> (String, ScaffoldMarker) {
    static MARKED: LazyLock<Vec<Vec<&str>>> = LazyLock::new(|| {
        let texts = |bench: &'static Bench| {
            let texts = bench.files.values().map(String::as_str);
            texts.filter(|text| text.contains("+kbr:scaffold:"))
        };
        PROJECTS.iter().map(|it| texts(it).collect()).collect()
    });
    let markers = ScaffoldMarker::value_variants();
    let marker = markers[random.below(markers.len())];
    let line = marker.line();
    let mut holding = MARKED[random.below(MARKED.len())].clone();
    holding.retain(|text| text.contains(&line));
    let Some(text) = holding.get(random.below(holding.len())) else {
        return (format!("{line}\n"), marker);
    };
    let words = [
        "mod z;\n",
        "mod a;\n",
        "// x\n",
        "\n",
        "    ",
        "\t",
        "- a.yaml\n",
        "x:\n",
        "{\n",
        &line,
    ];
    (random.mutate(text, &words), marker)
}

#[test]
fn only_whole_lines_come_into_files() {
    const FRAGMENTS: [&str; 6] = [
        "mod m;",
        "pub mod v10;",
        "- m.yaml",
        "- path: {{x}}",
        "a",
        "pub use self::m::M;",
    ];
    fuzz("only_whole_lines", 120, 1, |random| {
        let (text, marker) = scaffold(random);
        let fragment = random.pick(&FRAGMENTS);
        random.input((&text, marker, fragment));
        let inserted = match marker.insert("f", &text, fragment) {
            Ok(Some(inserted)) => inserted,
            Ok(None) => return true,
            Err(error) => {
                assert!(error.to_string().contains("+kbr:scaffold:"), "{error}");
                return false;
            }
        };
        let common = text
            .bytes()
            .zip(inserted.bytes())
            .take_while(|(a, b)| a == b)
            .count();
        let start = inserted[..inserted.floor_char_boundary(common)]
            .rfind('\n')
            .map_or(0, |at| at + 1);
        let line = |start: usize| {
            let end = start + inserted[start..].find('\n').expect("a whole line") + 1;
            let is_it = inserted[start..end].trim_start_matches('\u{feff}').trim() == fragment;
            (is_it && format!("{}{}", &inserted[..start], &inserted[end..]) == text).then_some(())
        };
        assert!(
            line(start).is_some() || without_bom(&inserted, &text, fragment),
            "{inserted:?}"
        );
        let again = marker
            .insert("f", &inserted, fragment)
            .expect("the marker is still there");
        assert_eq!(again, None, "inserted twice");
        true
    });
}

/// Whether the line was inserted at the start, after a byte order mark.
fn without_bom(inserted: &str, text: &str, fragment: &str) -> bool {
    let (Some(inserted), Some(text)) = (
        inserted.strip_prefix('\u{feff}'),
        text.strip_prefix('\u{feff}'),
    ) else {
        return false;
    };
    let line = inserted.split_inclusive('\n').next().unwrap_or_default();
    line.trim() == fragment && inserted.strip_prefix(line) == Some(text)
}
