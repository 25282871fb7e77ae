//! What users do to a scaffold, applied to the one that is kept.

use crate::support::goldens::{check_project, prove};
use crate::support::{Sandbox, assert_formatted, commit, compiling};

use crate::support::releases::{FIRST, UP_TO_DATE, project_of};

/// The path, the text after which the edit is made, and the text that is inserted there.
type Edit = (&'static str, &'static str, &'static str);

/// A field of the spec.
const TOLERANCE: &str = "
    /// How many runs may be late before somebody is told.
    #[serde(default, skip_serializing_if = \"Option::is_none\")]
    #[schemars(range(min = 1))]
    pub tolerance: Option<i32>,
";

/// A field of the status.
const PODS: &str = "    /// How many pods there were.
    #[serde(default, skip_serializing_if = \"Option::is_none\")]
    pub pods: Option<i32>,
";

/// Edits of code: fields, columns, defaults, rules, calls, flags, modules, tests.
const CODE: &[Edit] = &[
    (
        "api/src/v1/cronjob_types.rs",
        "    pub foo: Option<String>,\n",
        TOLERANCE,
    ),
    (
        "api/src/v2/cronjob_types.rs",
        "    pub foo: Option<String>,\n",
        TOLERANCE,
    ),
    (
        "api/src/v1/cronjob_types.rs",
        "    derive = \"PartialEq\",\n",
        "    shortname = \"cj\",\n",
    ),
    (
        "api/src/v1/cronjob_types.rs",
        "    pub conditions: Vec<meta::Condition>,\n",
        PODS,
    ),
    (
        "api/src/v2/cronjob_types.rs",
        "    pub conditions: Vec<meta::Condition>,\n",
        PODS,
    ),
    (
        "src/webhook/v1/cronjob_validator.rs",
        "    use super::*;\n",
        "\n    #[test]\n    fn an_empty_object_is_valid() {\n        \
         assert_eq!(errors(&Object::new(\"a\", Default::default())), [\"\"; 0]);\n    }\n",
    ),
    (
        "src/controller/cronjob_controller.rs",
        "use kbr_runtime::{Action, Controller, Handle, Manager};\n",
        "\nuse crate::words;\n",
    ),
    (
        "src/controller/cronjob_controller.rs",
        "    // Create, update and delete here what `object.spec` asks for.\n",
        "    let greeting = words::greeting(object.spec.foo.as_deref());\n    \
         tracing::debug!(greeting, \"reconciling\");\n",
    ),
    (
        "src/controller/cronjob_controller.rs",
        "mod tests {\n    use super::*;\n",
        "\n    #[test]\n    fn everybody_is_greeted() {\n        \
         assert_eq!(words::greeting(Some(\"you\")), \"hello, you\");\n    }\n",
    ),
    (
        "src/main.rs",
        "struct Args {\n",
        "    /// What is said at the start.\n    #[arg(long, default_value = \"hello\")]\n    greeting: String,\n",
    ),
    (
        "src/main.rs",
        "    scaffold::register(&mut manager);\n",
        "    println!(\"{}\", args.greeting);\n",
    ),
    ("src/lib.rs", "pub mod webhook;\n", "pub mod words;\n"),
    ("tests/it/main.rs", "mod samples;\n", "mod words;\n"),
    (
        "tests/it/cronjob_controller.rs",
        "",
        "\n#[tokio::test]\nasync fn the_team_is_there() {\n    let (_, object) = create().await;\n\n    \
         assert_eq!(object.annotations()[\"example.com/team\"], \"mine\");\n}\n",
    ),
    (
        "examples/run-local.rs",
        "    println!(\"KUBECONFIG={}\", env.kubeconfig().display());\n",
        "    println!(\"Stop it with Ctrl-C.\");\n",
    ),
    (
        "api/src/lib.rs",
        "pub mod v2;\n",
        "\n/// How many runs may be late where nobody said it.\npub const TOLERANCE: i32 = 3;\n",
    ),
];

/// The path, a text, and what the user has written in its place.
const REPLACED: &[Edit] = &[
    (
        "src/webhook/v1/cronjob_defaulter.rs",
        "AdmissionRequest, BoxError, Defaulter};\n",
        "AdmissionRequest, BoxError, Defaulter};\nuse kube::ResourceExt;\n",
    ),
    (
        "src/webhook/v1/cronjob_defaulter.rs",
        "        _object: &mut Object,\n",
        "        object: &mut Object,\n",
    ),
    (
        "src/webhook/v1/cronjob_defaulter.rs",
        "        Ok(())\n",
        "        let team = object\n            .annotations_mut()\n            \
         .entry(\"example.com/team\".to_owned());\n        \
         team.or_insert_with(|| \"mine\".to_owned());\n        Ok(())\n",
    ),
    (
        "src/webhook/v1/cronjob_validator.rs",
        "    Vec::new()\n",
        "    tracing::debug!(\"validated\");\n    Vec::new()\n",
    ),
    (
        "src/webhook/v2/cronjob_converter.rs",
        "{ foo: value }",
        "{\n        foo: value,\n        tolerance,\n    }",
    ),
    (
        "src/webhook/v2/cronjob_converter.rs",
        "        conditions,\n",
        "        conditions,\n        pods,\n",
    ),
];

/// The only file with an edit in a line that the template has changed.
const CONFLICT: &str = "src/controller/cronjob_controller.rs";

/// The line as kbr rendered it, and as the user has changed it.
const EDITED_LINE: [&str; 2] = [
    "    object.status(&new_status(&object, object.now())).await?;\n",
    "    let observed = new_status(&object, object.now());\n    object.status(&observed).await?;\n",
];

/// How the user resolves the conflict.
const RESOLVED: &str = "    let observed = new_status(&object, object.now());
    object.apply_status(&observed).await?;
";

/// Edits of everything else.
const FILES: &[Edit] = &[
    (
        "Cargo.toml",
        "thiserror.workspace = true\n",
        "regex = \"1\" # for words\n",
    ),
    ("Cargo.toml", "publish = false\n", "authors = [\"Me\"]\n"),
    (
        "api/Cargo.toml",
        "publish.workspace = true\n",
        "description = \"Types of mine\"\n",
    ),
    (".clippy.toml", "", "too-many-arguments-threshold = 8\n"),
    (".gitattributes", "\n", "*.png binary\n"),
    (
        ".github/workflows/test.yml",
        "      RUSTUP_TOOLCHAIN: \"1.95\"\n",
        "      CARGO_TERM_COLOR: always\n",
    ),
    (".gitignore", "", "/notes\n"),
    ("AGENTS.md", "\n", "\nAsk before you change the API.\n"),
    ("README.md", "", "\n## On call\n\nCall me.\n"),
    ("LICENSE", "", "\nMine.\n"),
    (
        "Makefile",
        "all: build\n",
        "\n.PHONY: mine\nmine: ## Mine.\n\t@echo mine\n",
    ),
    (
        "Dockerfile",
        "FROM gcr.io/distroless/cc-debian13:nonroot\n",
        "LABEL org.opencontainers.image.vendor=me\n",
    ),
    (
        "config/metrics-certificate/issuer.yaml",
        "  namespace: system\n",
        "  annotations:\n    example.com/owner: me\n",
    ),
    (
        "config/default/kustomization.yaml",
        "- ../webhook\n",
        "- ../mine\n",
    ),
    (
        "config/manager/manager.yaml",
        "        kubectl.kubernetes.io/default-container: manager\n",
        "        example.com/owner: me\n",
    ),
    (
        "config/manager/manager.yaml",
        "      serviceAccountName: controller-manager\n",
        "      priorityClassName: system-cluster-critical\n",
    ),
    (
        "config/network-policy/allow-webhook-traffic.yaml",
        "  namespace: system\n",
        "  annotations:\n    example.com/owner: me\n",
    ),
    (
        "config/rbac/cronjob_viewer_role.yaml",
        "  name: \"cronjob-viewer-role\"\n",
        "  annotations:\n    example.com/owner: me\n",
    ),
    (
        "config/samples/batch_v1_cronjob.yaml",
        "  foo: \"bar\"\n",
        "  tolerance: 2\n",
    ),
    (
        "config/webhook/service.yaml",
        "  namespace: system\n",
        "  annotations:\n    example.com/owner: me\n",
    ),
    ("config/webhook/kustomization.yaml", "", "# Mine.\n"),
];

/// Files that a user has added.
const ADDED: [(&str, &str); 4] = [
    (
        "src/words.rs",
        "//! Words.\n\nuse std::sync::LazyLock;\n\nuse regex::Regex;\n\n\
         static FORBIDDEN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(\"^forbidden\").ok());\n\n\
         pub fn is_forbidden(word: &str) -> bool {\n    \
         FORBIDDEN.as_ref().is_some_and(|it| it.is_match(word))\n}\n\n\
         pub fn greeting(name: Option<&str>) -> String {\n    \
         format!(\"hello, {}\", name.unwrap_or(\"all\"))\n}\n",
    ),
    (
        "tests/it/words.rs",
        "//! Words.\n\n#[test]\nfn words_are_forbidden() {\n    \
         assert!(scaffold::words::is_forbidden(\"forbidden\"));\n}\n",
    ),
    (
        "config/mine/kustomization.yaml",
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- config.yaml\n",
    ),
    (
        "config/mine/config.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: mine\n  namespace: system\n",
    ),
];

const DELETED: &str = ".github/workflows/lint.yml";

fn edit(sandbox: &Sandbox, (path, behind, text): Edit) {
    let old = sandbox.read(path);
    let at = match behind {
        "" => old.len(),
        behind => {
            old.find(behind)
                .unwrap_or_else(|| panic!("{path} has no {behind}"))
                + behind.len()
        }
    };
    let (before, after) = old.split_at(at);
    sandbox.write(path, &format!("{before}{text}{after}"));
}

fn replace(sandbox: &Sandbox, (path, old, new): Edit) {
    let text = sandbox.read(path);
    assert!(text.contains(old), "{path} has no {old}");
    sandbox.write(path, &text.replace(old, new));
}

/// Replaces the two texts of the conflict.
fn resolve(sandbox: &Sandbox) {
    let text = sandbox.read(CONFLICT);
    let [start, end] = ["<<<<<<<", ">>>>>>>"].map(|it| text.find(it).expect("a conflict"));
    let (_, rest) = text[end..].split_once('\n').expect("a line");
    sandbox.write(CONFLICT, &format!("{}{RESOLVED}{rest}", &text[..start]));
}

#[test]
fn an_edited_project_keeps_every_edit_builds_and_passes_its_tests() {
    let _one_at_a_time = compiling();
    let sandbox = project_of(FIRST);
    for one in CODE.iter().chain(FILES) {
        edit(&sandbox, *one);
    }
    let [old, new] = EDITED_LINE;
    for one in REPLACED.iter().chain([&(CONFLICT, old, new)]) {
        replace(&sandbox, *one);
    }
    for (path, text) in ADDED {
        sandbox.write(path, text);
    }
    sandbox.remove(DELETED);
    commit(&sandbox);

    let run = sandbox.kbr("update");
    let error =
        format!("error: these files have edits in lines that kbr changes too: `{CONFLICT}`\n");
    assert!(run.stderr.contains(&error), "{run:?}");
    resolve(&sandbox);

    for (path, _, text) in CODE.iter().chain(FILES).chain(REPLACED) {
        let now = sandbox.read(path);
        assert!(now.contains(text), "{path} has lost {text}:\n{now}");
    }
    for (path, text) in ADDED {
        assert_eq!(sandbox.read(path), text);
    }
    // A marker that the scaffold did not have, and its lines.
    let manifest = sandbox.read("Cargo.toml");
    assert!(
        manifest.contains("    \"kbr-runtime/certificates\",\n"),
        "{manifest}"
    );
    assert!(!sandbox.tree().contains_key(DELETED));
    assert_formatted(&sandbox);
    sandbox.kbr(UP_TO_DATE).success();
    // A name that no golden has: all of them share one target directory.
    sandbox.kbr("edit --project-name updated").success();
    sandbox.kbr("manifests").success();
    check_project(sandbox.path());
    prove("updated", sandbox.path());
}
