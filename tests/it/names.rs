//! Unusual names: kbr does not panic, and a project with accepted names parses.

use granit_parser::{Event, Parser, ScalarStyle};
use proptest::collection::vec;
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::Value;

use crate::support::random::properties;
use crate::support::{Sandbox, assert_formatted, assert_same};

/// Words that some YAML parser reads as a boolean, a number, null or a date.
const TREACHEROUS: [&str; 12] = [
    "on",
    "off",
    "y",
    "n",
    "yes",
    "no",
    "null",
    "true",
    "123",
    "0x1f",
    "1e3",
    "2001-01-01",
];

/// The names that are typed for one project with one kind.
#[derive(Debug, Clone)]
struct Names {
    project: String,
    domain: String,
    group: Option<String>,
    version: String,
    kind: String,
    plural: Option<String>,
    owner: Option<String>,
    repo: Option<String>,
}

impl Names {
    /// The names of the project with which every other project is compared.
    fn plain() -> Self {
        Self {
            project: "plain".to_owned(),
            domain: "example.com".to_owned(),
            group: None,
            version: "v1".to_owned(),
            kind: "Plain".to_owned(),
            plural: None,
            owner: None,
            repo: None,
        }
    }

    fn init(&self) -> Vec<String> {
        let mut args = vec![
            "init".to_owned(),
            format!("--domain={}", self.domain),
            format!("--project-name={}", self.project),
        ];
        args.extend(self.owner.iter().map(|owner| format!("--owner={owner}")));
        args.extend(self.repo.iter().map(|repo| format!("--repo={repo}")));
        args
    }

    fn create_api(&self) -> Vec<String> {
        let mut args = vec![
            "create".to_owned(),
            "api".to_owned(),
            format!("--kind={}", self.kind),
            format!("--version={}", self.version),
        ];
        args.extend(self.group.iter().map(|group| format!("--group={group}")));
        args.extend(
            self.plural
                .iter()
                .map(|plural| format!("--plural={plural}")),
        );
        args
    }

    fn create_webhook(&self) -> Vec<String> {
        let mut args = vec![
            "create".to_owned(),
            "webhook".to_owned(),
            format!("--kind={}", self.kind),
            format!("--version={}", self.version),
            "--defaulting".to_owned(),
            "--programmatic-validation".to_owned(),
        ];
        args.extend(self.group.iter().map(|group| format!("--group={group}")));
        args
    }

    /// A sandbox with a project with these names, all of which must be accepted.
    fn accepted(&self) -> Sandbox {
        let sandbox = Sandbox::new();
        run(&sandbox, &self.init()).success();
        run(&sandbox, &self.create_api()).success();
        run(&sandbox, &self.create_webhook()).success();
        sandbox
    }
}

fn run(sandbox: &Sandbox, args: &[String]) -> crate::support::Run {
    sandbox.run(&args.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Text that no rule was written for.
fn nasty() -> BoxedStrategy<String> {
    const FIXED: [&str; 36] = [
        "",
        " ",
        ".",
        "..",
        "../x",
        "/",
        "a/b",
        "a\\b",
        "a\nb",
        "\"",
        "'",
        "{{kind}}",
        "${x}",
        "#",
        ": ",
        "- a",
        "a: b",
        "ü",
        "\u{feff}a",
        "\u{2028}",
        "\u{202e}x",
        "-a",
        "a-",
        "A",
        "fn",
        "self",
        "Self",
        "r#fn",
        "con",
        "%",
        "&a",
        "*a",
        "!a",
        "\u{7f}",
        "]",
        "```",
    ];
    prop_oneof![
        2 => proptest::sample::select(&FIXED[..]).prop_map(str::to_owned),
        1 => "[a-zA-Z0-9._/-]{0,70}",
        1 => "[^\u{0}]{0,12}",
    ]
    .boxed()
}

/// Nearly always `valid`: a case has eight names, and it only gets far if all of them are valid.
fn mostly(valid: impl Strategy<Value = String> + 'static) -> BoxedStrategy<String> {
    prop_oneof![12 => valid, 1 => nasty()].boxed()
}

fn label() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => proptest::sample::select(&TREACHEROUS[..]).prop_map(str::to_owned),
        3 => "[a-z0-9]([a-z0-9-]{0,12}[a-z0-9])?",
        1 => "[a-z0-9]{63}",
    ]
}

fn subdomain(labels: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    vec(label(), labels).prop_map(|labels| labels.join("."))
}

fn names() -> impl Strategy<Value = Names> {
    let owner = prop_oneof![
        "[!-~]{1,30}",
        "[!-~][ -~\u{e4}\u{4e2d}\u{1f600}]{0,30}[!-~]",
        proptest::sample::select(&TREACHEROUS[..]).prop_map(str::to_owned),
        Just("12:30:45".to_owned()),
        Just("- {a: [b, \"c\"]} # \\".to_owned()),
    ];
    (
        mostly("[a-z]([a-z0-9-]{0,26}[a-z0-9])?"),
        mostly(subdomain(1..4)),
        proptest::option::of(mostly(subdomain(1..3))),
        mostly("v[1-9][0-9]{0,2}((alpha|beta)[1-9][0-9]{0,2})?"),
        mostly("[A-Z][a-zA-Z0-9]{0,58}"),
        proptest::option::of(mostly("[a-z][a-z0-9-]{0,40}[a-z0-9]")),
        proptest::option::of(mostly(owner)),
        proptest::option::of(mostly("(https|ssh)://[!#-\\[\\]-_a-~]{2,40}")),
    )
        .prop_map(
            |(project, domain, group, version, kind, plural, owner, repo)| Names {
                project,
                domain,
                group,
                version,
                kind,
                plural,
                owner,
                repo,
            },
        )
}

#[test]
fn no_name_makes_kbr_panic_and_accepted_names_give_projects_that_parse() {
    let plain = untyped_scalars(&Names::plain().accepted());
    let config = ProptestConfig {
        cases: 48,
        max_shrink_iters: 100,
        ..properties()
    };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let accepted = std::cell::Cell::new(0);
    let result = runner.run(&names(), |names| {
        if check_names(&names, &plain) {
            accepted.set(accepted.get() + 1);
        }
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
    let accepted = accepted.get();
    assert!(
        accepted >= 8,
        "the generator is too nasty: {accepted} of 48 were accepted"
    );
}

/// Runs kbr with the names and checks the result. Returns whether all of them were accepted.
fn check_names(names: &Names, plain: &[String]) -> bool {
    let sandbox = Sandbox::new();
    for args in [names.init(), names.create_api(), names.create_webhook()] {
        let before = sandbox.tree();
        let run = run(&sandbox, &args);
        assert!(!run.stderr.contains("panicked"), "{args:?}: {}", run.stderr);
        match run.code() {
            Some(0) => {}
            Some(1 | 2) => {
                assert_same(&before, &sandbox.tree());
                assert!(
                    run.stderr.starts_with("error: "),
                    "{args:?}: {}",
                    run.stderr
                );
                return false;
            }
            other => panic!("{args:?} ended with {other:?}: {}", run.stderr),
        }
    }
    everything_parses(&sandbox);
    assert_eq!(
        untyped_scalars(&sandbox),
        plain,
        "every parser reads a name as a string"
    );
    assert_formatted(&sandbox);
    true
}

/// Asserts that the Rust, TOML and YAML files of the project parse, and that kbr reads its own PROJECT.
fn everything_parses(sandbox: &Sandbox) {
    for (path, text) in sandbox.tree() {
        if path.ends_with(".rs") && !path.starts_with("third_party/") {
            syn::parse_file(&text).unwrap_or_else(|error| panic!("{path}: {error}\n{text}"));
        } else if path.ends_with(".toml") || path == "Cargo.lock" {
            let table: Result<toml::Table, _> = text.parse();
            table.unwrap_or_else(|error| panic!("{path}: {error}\n{text}"));
        } else if is_yaml(&path) {
            assert_eq!(
                yaml_1_1(&path, &text),
                yaml_1_2(&path, &text),
                "{path}\n{text}"
            );
        }
    }
    let stderr = sandbox.kbr("create api --kind Aaa --resource=false").stderr;
    assert!(
        !stderr.contains("cannot be read"),
        "kbr reads its own PROJECT: {stderr}"
    );
}

fn is_yaml(path: &str) -> bool {
    path.ends_with(".yaml") || path.ends_with(".yml") || path == "PROJECT"
}

/// The documents as libyaml parses them, in YAML 1.1.
fn yaml_1_1(path: &str, text: &str) -> Vec<Value> {
    serde_yaml::Deserializer::from_str(text)
        .map(|document| {
            Value::deserialize(document).unwrap_or_else(|e| panic!("{path}: {e}\n{text}"))
        })
        .collect()
}

/// The documents as YAML 1.2.
fn yaml_1_2(path: &str, text: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(text).unwrap_or_else(|error| panic!("{path}: {error}\n{text}"))
}

/// The scalars of all YAML files that a YAML 1.1 parser does not read as strings, which only plain ones can
/// be. They are the same for all projects with one kind, unless a name is not read as a string.
fn untyped_scalars(sandbox: &Sandbox) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in sandbox.tree().iter().filter(|(path, _)| is_yaml(path)) {
        for event in Parser::new_from_str(text) {
            let (event, _) = event.unwrap_or_else(|error| panic!("{path}: {error}"));
            if let Event::Scalar(value, ScalarStyle::Plain, ..) = &event
                && !is_string_in_yaml_1_1(value)
            {
                found.push(value.to_string());
            }
        }
    }
    found.sort();
    found
}

/// Whether a plain scalar is a string according to the types of yaml.org/type (YAML 1.1).
fn is_string_in_yaml_1_1(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let word = [
        "", "~", "null", "y", "n", "yes", "no", "true", "false", "on", "off", "<<", "=",
    ];
    let unsigned = lower.trim_start_matches(['-', '+']);
    let only =
        |text: &str, alphabet: &str| !text.is_empty() && text.chars().all(|c| alphabet.contains(c));
    let of_base = |prefix: &str, digits: &str| {
        unsigned
            .strip_prefix(prefix)
            .is_some_and(|rest| only(rest, digits))
    };
    let (mantissa, exponent) = unsigned.split_once('e').unwrap_or((unsigned, "0"));
    // yaml.org/type/int and /float: a number may contain `_`, but not begin with it.
    let decimal = mantissa.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && mantissa.contains(|c: char| c.is_ascii_digit())
        && only(mantissa, "0123456789_.")
        && mantissa.matches('.').count() <= 1
        && only(exponent.trim_start_matches(['-', '+']), "0123456789");
    let sexagesimal = unsigned.contains(':') && only(unsigned, "0123456789_:.");
    // yaml.org/type/timestamp: a date alone, or one followed by a time of day.
    let (day, time) = text.split_at(text.find(['t', 'T', ' ']).unwrap_or(text.len()));
    let parts: Vec<&str> = day.split('-').collect();
    let date = matches!(parts[..], [year, month, day]
        if year.len() == 4
            && [month, day].iter().all(|part| part.len() <= 2)
            && parts.iter().all(|part| only(part, "0123456789")))
        && (time.is_empty() || time.contains(':'));
    !(word.contains(&&*lower)
        || of_base("0x", "0123456789abcdef_")
        || of_base("0b", "01_")
        || of_base("0o", "01234567")
        || matches!(unsigned, ".inf" | ".nan")
        || decimal
        || sexagesimal
        || date)
}

#[test]
fn the_types_of_yaml_1_1_are_recognized() {
    for text in TREACHEROUS.iter().chain(&[
        "1_000", "~", "", "012", "1.2", ".5", "12:30:45", "<<", "0b1", "-1", "1.",
    ]) {
        assert!(!is_string_in_yaml_1_1(text), "{text}");
    }
    for text in [
        "a",
        "v1",
        "example.com",
        "1.2.3",
        "27197424ebee",
        "1-2",
        "e1",
        "-",
        ".",
        "2001a-01",
    ] {
        assert!(is_string_in_yaml_1_1(text), "{text}");
    }
}

#[test]
fn unusual_names_work() {
    let plain = untyped_scalars(&Names::plain().accepted());
    for (project, domain, group, version, kind, plural) in [
        (
            "a",
            "my-org.example.co.uk",
            "sea-creatures.fish",
            "v1",
            "HTTPProxy",
            "httpproxies",
        ),
        ("my-operator", "on", "null", "v2beta3", "Policy", "policies"),
        ("y", "123", "1e3", "v1alpha1", "Redis", "redis"),
        ("null", "1.2", "0x1f", "v1", "DNS", "dns"),
        ("no", "2001-01-01.on", "y", "v10", "Ingress", "ingresses"),
        ("off", "true", "123", "v1", "Y", "ys"),
        ("e1", "foo.k8s-io", "off", "v1", "Null", "nulls"),
        (
            "sandbox",
            "example.com",
            "a-b.c-d.e",
            "v99beta99",
            "V1",
            "v1s",
        ),
        ("union", "example.com", "api", "v1", "Crd2", "crd2s"),
        ("x-1--2", "example.com", "runtime", "v1", "Fn2", "fn2s"),
        ("main", "example.com", "crate", "v1", "Type", "types"),
        ("operator", "example.com", "self", "v1", "Mod", "mods"),
        ("controller", "x", "x", "v1", "Bus", "buses"),
    ] {
        let names = Names {
            project: project.to_owned(),
            domain: domain.to_owned(),
            group: Some(group.to_owned()),
            version: version.to_owned(),
            kind: kind.to_owned(),
            ..Names::plain()
        };
        let sandbox = names.accepted();
        let types = format!("api/src/{version}/{}_types.rs", kind.to_ascii_lowercase());
        let types = sandbox.read(&types);
        assert!(
            types.contains(&format!("    group = \"{group}.{domain}\",\n")),
            "{types}"
        );
        assert!(
            types.contains(&format!("    plural = \"{plural}\",\n")),
            "{types}"
        );
        everything_parses(&sandbox);
        assert_eq!(untyped_scalars(&sandbox), plain, "{names:?}");
        assert_formatted(&sandbox);
    }
}

#[test]
fn unusual_owners_and_repositories_work() {
    let plain = untyped_scalars(&Names::plain().accepted());
    for (owner, repo) in [
        ("on", "https://on"),
        ("12:30:45", "https://a.b/c#d'e{f}&g=h%20i"),
        ("Jörg \"J\" & Söhne", "ssh://git@a.b:22/c.git"),
        ("{{kind}} ${x} #{y}", "http://x/{{kind}}/$x"),
        ("*/ /* // #![no_std]", "https://a.b/*c"),
        ("- a: [b] # \\", "https://a.b/~c"),
        ("'", "https://'''"),
    ] {
        let names = Names {
            owner: Some(owner.to_owned()),
            repo: Some(repo.to_owned()),
            ..Names::plain()
        };
        let sandbox = names.accepted();
        everything_parses(&sandbox);
        assert_eq!(untyped_scalars(&sandbox), plain, "{names:?}");
        assert!(
            sandbox
                .read("src/lib.rs")
                .starts_with(&format!("// Copyright {owner}\n"))
        );
        let manifest: toml::Table = sandbox.read("Cargo.toml").parse().expect("TOML");
        let repository = manifest["package"].get("repository");
        assert_eq!(repository.and_then(toml::Value::as_str), Some(repo));
        assert_formatted(&sandbox);
    }
}

#[test]
fn emitted_code_is_formatted_however_long_the_names_are() {
    let group =
        "a-group-of-many-letters.and-of-labels.so-that-a-path-of-modules-is-longer-than-a-line";
    for (project, options, version) in [
        ("a", "", "--version v1".to_owned()),
        (
            "a-project-of-28-characters-x",
            "",
            "--version v100alpha100".to_owned(),
        ),
        ("a", "--multigroup", format!("--version v1 --group {group}")),
    ] {
        let sandbox = Sandbox::new();
        sandbox
            .kbr(&format!(
                "init --domain example.com --project-name {project} {options}"
            ))
            .success();
        assert_formatted(&sandbox);
        for length in [1, 5, 10, 15, 20, 25, 32, 45, 59] {
            let kind = format!("K{}", "i".repeat(length - 1));
            sandbox
                .kbr(&format!("create api --kind {kind} {version}"))
                .success();
            let name = format!("n{}", "-n".repeat(length / 2));
            sandbox
                .kbr(&format!(
                    "create api --kind {kind} {version} --resource=false --controller-name {name}"
                ))
                .success();
            assert_formatted(&sandbox);
        }
    }
}

#[test]
fn no_kind_can_take_a_name_that_the_emitted_code_imports_or_defines() {
    let sandbox = Sandbox::with_project();
    sandbox.kbr("create api --kind Foo").success();
    let mut names = Vec::new();
    for path in [
        "api/src/v1alpha1/foo_types.rs",
        "src/controller/foo_controller.rs",
    ] {
        let file = syn::parse_file(&sandbox.read(path)).expect("Rust");
        file.items
            .iter()
            .for_each(|item| names_of(item, &mut names));
    }
    names.retain(|name| !name.starts_with("Foo"));
    assert!(names.iter().any(|name| name == "Handle"), "{names:?}");
    for name in names {
        let run = sandbox.kbr(&format!("create api --kind {name}"));
        let refusal = format!("`{name}` cannot be a kind: ");
        assert!(run.stderr.contains(&refusal), "{name}: {}", run.stderr);
    }
}

/// The upper-camel-case names that `item` adds to its module.
fn names_of(item: &syn::Item, names: &mut Vec<String>) {
    match item {
        syn::Item::Use(item) => leaves(&item.tree, names),
        syn::Item::Struct(item) => names.push(item.ident.to_string()),
        syn::Item::Enum(item) => names.push(item.ident.to_string()),
        syn::Item::Type(item) => names.push(item.ident.to_string()),
        syn::Item::Trait(item) => names.push(item.ident.to_string()),
        syn::Item::Mod(item) => {
            let items = item.content.iter().flat_map(|(_, items)| items);
            items.for_each(|item| names_of(item, names));
        }
        _ => {}
    }
    names.retain(|name| name.starts_with(|c: char| c.is_ascii_uppercase()));
}

fn leaves(tree: &syn::UseTree, names: &mut Vec<String>) {
    match tree {
        syn::UseTree::Path(path) => leaves(&path.tree, names),
        syn::UseTree::Name(name) => names.push(name.ident.to_string()),
        syn::UseTree::Rename(name) => names.push(name.rename.to_string()),
        syn::UseTree::Group(group) => group.items.iter().for_each(|tree| leaves(tree, names)),
        syn::UseTree::Glob(_) => {}
    }
}

#[test]
fn more_types_of_yaml_1_1_are_recognized() {
    for word in TREACHEROUS.into_iter().chain([
        "2001-1-1",
        "2001-01-01T10:00:00Z",
        "1.5",
        ".5",
        "1_000",
        "0b1",
        "017",
    ]) {
        assert!(!is_string_in_yaml_1_1(word), "{word}");
    }
    for word in [
        "_",
        "_1",
        "2001-01-01.7.2001-01-01",
        "2001-01",
        "1.2.3",
        "v1",
        "a-b",
        "on.y",
    ] {
        assert!(is_string_in_yaml_1_1(word), "{word}");
    }
}
