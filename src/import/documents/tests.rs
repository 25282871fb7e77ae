//! What is read from files and folders, and everything that is refused.

use super::*;

const CRD: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {kind: Thing, plural: things}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}}}
";

fn read(given: &[Given]) -> Result<Documents, Vec<Refusal>> {
    super::read(given, &[])
}

fn given(path: &str, files: &[(&str, &str)]) -> Given {
    let file = |(path, text): &(&str, &str)| ((*path).to_owned(), Some((*text).to_owned()));
    Given {
        path: path.to_owned(),
        is_folder: !path.contains('.'),
        files: files.iter().map(file).collect(),
    }
}

/// The messages about one file.
#[track_caller]
fn refused(text: &str) -> String {
    let refusals = read(&[given("a.yaml", &[("a.yaml", text)])]).expect_err("refused");
    crate::error::lines(&refusals)
}

fn other(name: &str) -> String {
    CRD.replace("things", name).replace("Thing", "Other")
}

#[test]
fn every_document_of_a_file_is_read_with_its_line() {
    let text = format!(
        "\u{feff}# First.\n---\n{CRD}--- # second\n{}...\n---\n# nothing\n",
        other("others")
    );
    let found = read(&[given("a.yaml", &[("a.yaml", &text)])]).expect("CRDs");
    let crds = found.crds.iter();
    let places: Vec<_> = crds.map(|it| (it.name(), &*it.file, it.line)).collect();
    assert_eq!(
        places,
        [
            ("things.example.com", "a.yaml", 3),
            ("others.example.com", "a.yaml", 19)
        ]
    );
    assert_eq!(found.notes, Vec::<String>::new());
}

#[test]
fn the_items_of_lists_are_read() {
    let indented = |text: &str| text.replace('\n', "\n  ").trim_end().to_owned();
    let untyped = other("others").replace(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n",
        "",
    );
    for (text, number) in [
        (
            format!(
                "apiVersion: v1\nkind: List\nitems:\n- {}\n- {{kind: ConfigMap}}\n",
                indented(CRD)
            ),
            1,
        ),
        (
            format!(
                "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinitionList\nitems:\n- {}\n- {}\n",
                indented(CRD),
                indented(&untyped)
            ),
            2,
        ),
    ] {
        let found = read(&[given("a.yaml", &[("a.yaml", &text)])]).expect("CRDs");
        assert_eq!(found.crds.len(), number, "{text}");
    }
}

#[test]
fn what_is_no_crd_in_a_folder_is_counted() {
    let patch = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\n";
    let files = [
        ("f/a.yaml", CRD),
        (
            "f/b.yaml",
            "kind: ConfigMap\n---\nkind: ConfigMap\n---\nresources: [a.yaml]\n",
        ),
        ("f/patch.yaml", patch),
        (
            "f/chart.yaml",
            "{{- if .Values.on }}\nkind: Service\n{{- end }}\n",
        ),
    ];
    let found = read(&[given("f", &files)]).expect("CRDs");
    assert_eq!(found.crds.len(), 1);
    assert_eq!(
        found.notes,
        [
            "`f` has no CRD in 2 ConfigMap, 1 documents that are not plain YAML, 1 documents without a kind, \
          1 patches of CRDs: skipped"
        ]
    );
    // A file that is named must have a CRD.
    assert_eq!(
        refused("kind: ConfigMap\n"),
        "`a.yaml` has no CustomResourceDefinition, only 1 ConfigMap"
    );
    assert_eq!(
        refused("# nothing\n"),
        "`a.yaml` has no CustomResourceDefinition"
    );
    assert_eq!(
        refused(patch),
        "`a.yaml:1`: things.example.com: lacks `spec.group`\n`a.yaml:1`: things.example.com: lacks `spec.names.kind`\n`a.yaml:1`: things.example.com: lacks `spec.names.plural`\n`a.yaml:1`: things.example.com: lacks `spec.scope`\n`a.yaml:1`: things.example.com: lacks `spec.versions`"
    );
    let refusals = read(&[given("f", &[])]).expect_err("refused");
    assert_eq!(
        refusals[0].to_string(),
        "`f` has no CustomResourceDefinition"
    );
}

#[test]
fn a_crd_that_is_found_twice_must_be_the_same() {
    let reordered = CRD
        .replace("  scope: Namespaced\n", "")
        .replace("spec:\n", "spec:\n  scope: Namespaced\n");
    let files = [("f/a.yaml", CRD), ("f/b.yaml", &reordered)];
    assert_eq!(read(&[given("f", &files)]).expect("CRDs").crds.len(), 1);
    let wider = CRD.replace("integer", "number");
    let refusals = read(&[given("f", &[("f/a.yaml", CRD), ("f/b.yaml", &wider)])]);
    let refusals = refusals.expect_err("refused");
    assert_eq!(
        refusals[0].to_string(),
        "`f/b.yaml:1`: things.example.com: is another CRD than that in `f/a.yaml:1`, and has the same name"
    );
}

#[test]
fn files_that_cannot_be_read_are_refused() {
    let template = format!("{{{{- if .Values.crds }}}}\n{CRD}{{{{- end }}}}\n");
    assert_eq!(
        refused(&template),
        "`a.yaml:1` is a Helm template, not YAML: `{{` has no meaning there"
    );
    let labels = CRD.replace(
        "metadata: {name: things.example.com}",
        "metadata:\n  name: things.example.com\n  labels:\n    {{- include \"labels\" . | nindent 4 }}",
    );
    assert_eq!(
        refused(&labels),
        "`a.yaml:6` is a Helm template, not YAML: `{{` has no meaning there"
    );
    let name = CRD.replace("things.example.com", "\"{{ .Release.Name }}.example.com\"");
    assert!(refused(&name).contains("is a Helm template: its name contains `{{`"));
    // Braces in a text are data.
    let text = CRD.replace(
        "{type: integer}",
        "{type: string, description: 'as in {{ .Values }}'}",
    );
    assert!(read(&[given("a.yaml", &[("a.yaml", &text)])]).is_ok());

    let broken = format!(
        "---\n# One.\n---\n{}",
        CRD.replace("plural: things}", "plural: things")
    );
    assert!(
        refused(&broken).starts_with("`a.yaml:10` is not YAML: "),
        "{}",
        refused(&broken)
    );
    let twice = CRD.replace(
        "  scope: Namespaced\n",
        "  scope: Namespaced\n  scope: Cluster\n",
    );
    assert!(
        refused(&twice).contains("is not YAML: "),
        "{}",
        refused(&twice)
    );

    let cycle = CRD.replace("{type: integer}", "&a {type: array, items: *a}");
    assert!(
        refused(&cycle).contains("is nested more than 128 levels deep"),
        "{}",
        refused(&cycle)
    );
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        bomb += &format!("a{level}: &a{level} [{aliases}]\n");
    }
    assert!(
        refused(&(bomb + CRD))
            .ends_with("repeats YAML anchors so often that it would not fit into memory")
    );

    let binary = Given {
        path: "a.yaml".to_owned(),
        is_folder: false,
        files: vec![("a.yaml".to_owned(), None)],
    };
    let refusals = read(&[binary]).expect_err("refused");
    assert_eq!(refusals[0].to_string(), "`a.yaml:1` is not UTF-8");
}

#[test]
fn anchors_and_merge_keys_are_resolved() {
    let text = CRD.replace(
        "{size: {type: integer}}",
        "{size: &size {type: integer, maximum: 3}, other: {<<: *size, maximum: 4}}",
    );
    let found = read(&[given("a.yaml", &[("a.yaml", &text)])]).expect("a CRD");
    let fields = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
    assert_eq!(
        found.crds[0].crd.pointer(fields).expect("fields")["other"],
        serde_json::json!({ "type": "integer", "maximum": 4 })
    );
}

#[test]
fn a_crd_that_no_server_would_store_is_refused() {
    for (from, to, expected) in [
        (
            "apiextensions.k8s.io/v1\n",
            "apiextensions.k8s.io/v1beta1\n",
            "is of the version `apiextensions.k8s.io/v1beta1`, and only `apiextensions.k8s.io/v1` can be read",
        ),
        (
            "name: things.example.com",
            "name: other.example.com",
            "is `other.example.com`, and must be named `things.example.com`, after its plural and its group",
        ),
        (
            "scope: Namespaced",
            "scope: Global",
            "is `scope: Global`, and must be `Cluster` or `Namespaced`",
        ),
        (
            "storage: true",
            "storage: false",
            "has 0 versions with `storage: true`, and exactly one is stored",
        ),
        (
            "served: true",
            "served: 'yes'",
            "is `v1: served: \"yes\"`, and must be true or false",
        ),
        (
            "    served: true\n",
            "",
            "is `v1`, and must be a version with `served`",
        ),
        (
            "  scope:",
            "  preserveUnknownFields: true\n  scope:",
            "is `spec.preserveUnknownFields: true`, and must be false in v1",
        ),
        (
            "openAPIV3Schema",
            "openapi",
            "lacks `schema.openAPIV3Schema`",
        ),
    ] {
        let text = CRD.replace(from, to);
        assert_ne!(text, CRD);
        let refused = refused(&text);
        assert!(
            refused.ends_with(expected) && !refused.contains('\n'),
            "{refused}"
        );
    }
    let long = "x".repeat(3_000_000);
    let text = CRD.replace(
        "{type: integer}",
        &format!("{{type: integer, description: {long}}}"),
    );
    assert!(refused(&text).ends_with("bytes as JSON, and an API server stores at most 1.5 MiB"));
}

#[test]
fn keywords_without_effect_are_removed_and_told() {
    let text = CRD.replace(
        "{type: integer}",
        "{type: integer, const: 3, nullable: null}",
    );
    let found = read(&[given("a.yaml", &[("a.yaml", &text)])]).expect("a CRD");
    assert_eq!(
        found.notes,
        ["`things.example.com`: v1 `spec.size` has the keyword `const`, which API servers ignore"]
    );
    let plain = read(&[given("a.yaml", &[("a.yaml", CRD)])]).expect("a CRD");
    assert_eq!(found.crds[0].crd, plain.crds[0].crd);
}

/// A schema of `spec.field`, and what is wrong with it; a test tries the same on an API server.
#[derive(serde::Deserialize)]
struct Row {
    schema: Value,
    /// Nothing if API servers accept it.
    refused: Option<String>,
}

#[test]
fn schemas_that_no_server_accepts_are_refused() {
    let rows: Vec<Row> = serde_yaml::from_str(include_str!("schemas.yaml")).expect("the table");
    assert!(rows.len() > 50);
    for Row { schema, refused } in rows {
        let mut root = serde_json::json!({
            "type": "object", "properties": { "spec": { "type": "object", "properties": { "field": schema } } },
        });
        if let Some(whole) = schema.get("whole") {
            root = whole.clone();
        }
        let found = structural::check(&mut root).refused;
        let found: Vec<String> = found
            .iter()
            .map(|(path, reason)| format!("{path}: {reason}"))
            .collect();
        let expected: Vec<String> = refused.into_iter().collect();
        assert_eq!(found, expected, "{schema}");
    }
}
