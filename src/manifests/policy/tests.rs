//! What is wrong with policies, and where.

mod mutations;

use serde_json::json;

use super::*;

const FILE: &str = "config/policy/a.yaml";

const HEAD: &str = "\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: a
spec:
  matchConstraints:
    resourceRules:
    - apiGroups: [example.com]
      apiVersions: [v1]
      operations: [CREATE, UPDATE]
      resources: [foos]
";

/// What an expression can use.
const DECLARED: &str = "`object`, `oldObject`, `request`, `namespaceObject`, `authorizer`";

fn kinds() -> Vec<KnownKind> {
    let schema = json!({ "type": "object", "properties": {
        "metadata": { "type": "object" },
        "spec": { "type": "object", "properties": {
            "anything": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
            "dash-ed": { "type": "string" },
            "items": { "type": "array", "items": { "type": "object", "properties": {
                "name": { "type": "string" },
                "count": { "type": "integer" },
            } } },
            "labels": { "type": "object", "additionalProperties": { "type": "string" } },
            "maybe": { "type": "integer", "nullable": true },
            "on": { "type": "boolean" },
            "port": { "x-kubernetes-int-or-string": true },
            "replicas": { "type": "integer" },
            "start": { "type": "string", "format": "date-time" },
            "title": { "type": "string" },
            "weight": { "type": "number" },
        } },
    } });
    vec![KnownKind {
        group: "example.com".to_owned(),
        version: "v1".to_owned(),
        kind: "Foo".to_owned(),
        plural: "foos".to_owned(),
        schema,
    }]
}

/// Everything that is wrong with a file, each as place and message.
fn wrong(text: &str) -> Vec<String> {
    let errors = check(&[(FILE, text)], kinds());
    errors.iter().map(ToString::to_string).collect()
}

/// What is wrong with an expression of a validation: the column in it, and the message.
fn wrong_with(expression: &str) -> Vec<String> {
    let start = "  - expression: >-\n      ";
    let text = format!("{HEAD}  validations:\n{start}{expression}\n");
    let found = wrong(&text).into_iter();
    let place = format!("{FILE}:14:");
    let shown = found.map(|it| {
        let rest = it.strip_prefix(&place).unwrap_or_else(|| panic!("{it}"));
        let (column, message) = rest.split_once(": ").expect("a message");
        let column: usize = column.parse().expect("a column");
        format!("{}: {message}", column - 6)
    });
    shown.collect()
}

const NONE: [&str; 0] = [];

#[test]
fn what_is_right_is_accepted() {
    for expression in [
        "object.spec.replicas <= 3 && object.spec.title.startsWith('a')",
        "object.metadata.name == request.name && object.metadata.labels['a'] != ''",
        "object.metadata.?annotations[?'a/b'].orValue('') != 'true'",
        "oldObject == null || object.spec.maybe == null",
        "object.spec.weight > 1 && object.spec.weight > 1.5 && object.spec.port == 80 || object.spec.port == 'a'",
        "object.spec.items.all(x, x.count > 0 && x.name in ['a', 'b'])",
        "object.spec.items.exists(i, x, i > 0 && x.name == 'a') && object.spec.items[0].count == 1",
        "object.spec.labels.all(k, k.size() > 0 && object.spec.labels[k] != '')",
        "object.spec.anything.more.of.it == 3 && timestamp(object.spec.start) < timestamp('2026-01-01T00:00:00Z')",
        "'system:masters' in request.userInfo.groups ? true : object.spec.on == true",
        "namespaceObject.metadata.labels['a'] == 'b' && request.dryRun",
        "object.metadata.generation > 1 && object.metadata.uid != '' && object.metadata.ownerReferences.all(x, x.controller)",
        "object.metadata.creationTimestamp < timestamp('2026-01-01T00:00:00Z') && object.metadata.managedFields[0].manager == 'a'",
        "namespaceObject.metadata.UID != namespaceObject.metadata.resourceVersion && namespaceObject.status.phase == 'Active'",
        "authorizer.group('').resource('pods').check('get').allowed()",
        "object.spec.dash__dash__ed == '' && has(object.spec.title) && quantity('1').isGreaterThan(quantity('2'))",
        "object.spec.items.map(x, x.count).max() > 2 && object.spec.items.filter(x, x.count > 1).size() == 0",
        "cidr('10.0.0.0/8').containsIP('10.0.0.1') && sets.contains(['a'], ['a']) && object.kind == 'Foo'",
        "object.spec.title.newFunction()",
    ] {
        assert_eq!(wrong_with(expression), NONE, "{expression}");
    }
}

#[test]
fn what_is_wrong_is_refused_with_its_place() {
    for (expression, problem) in [
        (
            "namespaceObject.metadata.uid == ''",
            "26: `namespaceObject.metadata` has no field `uid`",
        ),
        (
            "namespaceObject.kind == ''",
            "17: `namespaceObject` has no field `kind`",
        ),
        (
            "object.spec.replica > 3",
            "13: `object.spec` has no field `replica` (did you mean `replicas`?)",
        ),
        (
            "object.spec.items.all(x, x.nam == 'a')",
            "28: `x` has no field `nam` (did you mean `name`?)",
        ),
        (
            "object.spec.replicas == '3'",
            "22: `object.spec.replicas` is an integer and the text is a string: they are never equal",
        ),
        (
            "object.spec.title > 3",
            "19: `object.spec.title` is a string and the constant is an integer: `>` needs values of the same type",
        ),
        (
            "object.spec.title + 1 == 'a'",
            "19: `object.spec.title` is a string and the constant is an integer: `+` needs values of the same type",
        ),
        (
            "object.spec.title && true",
            "1: `object.spec.title` is a string, but must be true or false beside `&&`",
        ),
        (
            "!object.spec.replicas",
            "2: `object.spec.replicas` is an integer, but must be true or false after `!`",
        ),
        (
            "object.spec.title.name == ''",
            "19: `object.spec.title` is a string, which has no field `name`",
        ),
        (
            "object.spec.items.name == ''",
            "19: `object.spec.items` is a list: write `[0]` for its first element, or `.all(x, …)` or `.exists(x, …)`",
        ),
        (
            "object.spec.replicas.all(x, x > 1)",
            "22: `object.spec.replicas` is an integer, not a list or a map",
        ),
        (
            "object.spec.replicas.startsWith('a')",
            "22: `object.spec.replicas` is an integer, which has no `startsWith`",
        ),
        (
            "object.spec.title.startswith('a')",
            "19: there is no function `startswith` (did you mean `startsWith`?)",
        ),
        (
            "3 in object.spec.items.map(x, x.name)",
            "3: the constant is an integer, but the result of `map` has a string in it",
        ),
        (
            "object.spec.items['a'].count == 1",
            "18: `object.spec.items` is a list, which a string cannot index",
        ),
    ] {
        assert_eq!(wrong_with(expression), [problem], "{expression}");
    }
}

#[test]
fn names_and_results_that_the_api_server_would_refuse() {
    let undeclared =
        |name: &str| format!("1: `{name}` is not declared: an expression can use {DECLARED}");
    for (expression, problem) in [
        ("request.user == ''", "9: `request` has no field `user`"),
        (
            "has(object)",
            "1: `has` needs a field, such as `has(object.spec)`; for a key of a map, write `'key' in map`",
        ),
        (
            "object.spec.on",
            "1: the API server does not know that this is true or false: write `== true` after it",
        ),
        (
            "'a'",
            "1: the expression is a string, but must be true or false",
        ),
        ("variables.a == 1", &undeclared("variables")),
        ("params.a == 1", &undeclared("params")),
        (
            "objet.spec == null",
            &undeclared("objet").replace("declared", "declared (did you mean `object`?)"),
        ),
        (
            "Object{spec: 1} == null",
            "1: `Object` can be created only in mutations",
        ),
        (
            "object.spec.replicas = 3",
            "22: `=` is not CEL: equality is `==`",
        ),
        (
            "object.spec.replicas >",
            "23: a value is expected, not the end",
        ),
    ] {
        assert_eq!(wrong_with(expression), [problem], "{expression}");
    }
}

#[test]
fn the_place_is_found_however_an_expression_is_written() {
    for (written, line, column) in [
        ("expression: object.spec.nope == 1", 13, 29),
        (
            "expression: 'object.spec.title == '''' && object.spec.nope == 1'",
            13,
            59,
        ),
        (
            r#"expression: "object.spec.title == \"\" && object.spec.nope == 1""#,
            13,
            59,
        ),
        (
            "expression: >-\n      object.spec.title == '' &&\n      object.spec.nope == 1",
            15,
            19,
        ),
        (
            "expression: |\n      object.spec.title == '' &&\n\n        object.spec.nope == 1",
            16,
            21,
        ),
        (
            "expression: object.spec.title == '' &&\n      object.spec.nope == 1",
            14,
            19,
        ),
        (
            "{message: 'expression: object', \"expression\": object.spec.nope == 1}",
            13,
            63,
        ),
        (
            "# expression: object.spec.nope == 1\n    expression: object.spec.nope == 1",
            14,
            29,
        ),
    ] {
        let text = format!("{HEAD}  validations:\n  - {written}\n");
        let problem = format!("{FILE}:{line}:{column}: `object.spec` has no field `nope`");
        assert_eq!(wrong(&text), [problem], "{written}");
    }
}

#[test]
fn variables_have_types_once_they_are_declared() {
    let with = |variables: &str, expression: &str| {
        wrong(&format!(
            "{HEAD}  variables:\n{variables}  validations:\n  - expression: {expression}\n"
        ))
    };
    let count = "  - name: count\n    expression: object.spec.replicas\n";
    assert_eq!(with(count, "variables.count > 1"), NONE);
    let two = format!("{count}  - name: more\n    expression: variables.count + 1\n");
    assert_eq!(with(&two, "variables.more > 1"), NONE);
    let problem = format!("{FILE}:16:27: `variables` has no field `cont` (did you mean `count`?)");
    assert_eq!(with(count, "variables.cont > 1"), [problem]);
    let later = "  - name: a\n    expression: variables.b\n  - name: b\n    expression: '1'\n";
    let problem =
        format!("{FILE}:14:17: `variables` is not declared: an expression can use {DECLARED}");
    assert_eq!(with(later, "variables.b == 1"), [problem]);
    let problem = format!(
        "{FILE}:16:33: `variables.count` is an integer and the text is a string: they are never equal"
    );
    assert_eq!(with(count, "variables.count == 'a'"), [problem]);
}

#[test]
fn messages_and_annotations_are_strings() {
    let text = format!(
        "{HEAD}  matchConditions:\n  - name: a\n    expression: object.spec.on\n  validations:\n  \
         - expression: 'true'\n    messageExpression: object.spec.replicas + 1\n  auditAnnotations:\n  \
         - key: a\n    valueExpression: object.spec.title\n"
    );
    assert_eq!(
        wrong(&text),
        [
            format!(
                "{FILE}:14:17: the API server does not know that this is true or false: write `== true` after it"
            ),
            format!("{FILE}:17:24: the expression is an integer, but must be a string"),
            format!(
                "{FILE}:20:22: the API server does not know that this is a string: write `string(…)` around it"
            ),
        ]
    );
}

#[test]
fn only_objects_that_exist_are_used() {
    let only = |operation: &str, expression: &str| {
        let head = HEAD.replace("CREATE, UPDATE", operation);
        wrong(&format!(
            "{head}  validations:\n  - expression: {expression}\n"
        ))
    };
    let problem = format!(
        "{FILE}:13:24: `object` is null: with only `DELETE` in `operations`, the object is `oldObject`"
    );
    assert_eq!(only("DELETE", "object.spec.on == true"), [problem]);
    let problem = format!(
        "{FILE}:13:27: `oldObject` is null: with only `CREATE` in `operations`, there is no old object"
    );
    assert_eq!(only("CREATE", "oldObject.spec.on == true"), [problem]);
    assert_eq!(only("'*'", "oldObject.spec.on == object.spec.on"), NONE);
}

#[test]
fn kinds_that_are_not_known_have_any_field() {
    for (group, resource) in [("''", "pods"), ("'*'", "'*'"), ("other.com", "bars")] {
        let head = HEAD.replace("example.com", group).replace("foos", resource);
        let text = format!("{head}  validations:\n  - expression: object.anything == 1\n");
        assert_eq!(wrong(&text), NONE, "{group}");
    }
    let head = HEAD.replace("foos", "fos");
    let problem = format!(
        "{FILE}:11:7: `example.com/v1` has no resource `fos`: the policy would do nothing; did you mean `foos`?"
    );
    assert_eq!(wrong(&head), [problem]);
}

#[test]
fn the_fields_of_a_policy_are_those_of_kubernetes() {
    let problem =
        format!("{FILE}:12:3: a ValidatingAdmissionPolicy has no field `spec.validation`");
    assert_eq!(wrong(&format!("{HEAD}  validation: []\n")), [problem]);
    let problem = format!(
        "{FILE}:14:5: a ValidatingAdmissionPolicy has no field `spec.validations[].mesage`"
    );
    let text = format!("{HEAD}  validations:\n  - expression: 'true'\n    mesage: a\n");
    assert_eq!(wrong(&text), [problem]);
    let found = wrong(&format!("{HEAD}  validations: 3\n"));
    let start = format!("{FILE}:2:1: this is no ValidatingAdmissionPolicy: ");
    assert!(found[0].starts_with(&start), "{found:?}");
    let old = HEAD.replace("/v1\n", "/v1beta1\n");
    let problem = format!(
        "{FILE}:2:1: the `apiVersion` of the ValidatingAdmissionPolicy is `admissionregistration.k8s.io/v1beta1`, \
         which kbr does not know"
    );
    assert_eq!(wrong(&old), [problem]);
    let found = wrong("a: [\n");
    assert!(found[0].contains("this is not YAML"), "{found:?}");
}

#[test]
fn a_binding_names_a_policy() {
    let binding = |name: &str| {
        format!(
            "{HEAD}---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\n\
             metadata: {{name: a}}\nspec:\n  policyName: {name}\n  validationActions: [Deny]\n"
        )
    };
    assert_eq!(wrong(&binding("a")), NONE);
    let problem = format!(
        "{FILE}:17:3: the binding is for the ValidatingAdmissionPolicy `b`, which is not in config/policy: it would \
         do nothing"
    );
    assert_eq!(wrong(&binding("b")), [problem]);
}

proptest::proptest! {
    #![proptest_config(crate::fuzz::random::properties())]

    #[test]
    fn no_text_causes_a_panic(
        text in ".{0,60}",
        code in "[a-zé:0-9 .,'\"\\\\(){}\\[\\]?!&|=<>+*/%\n-]{0,60}",
    ) {
        for text in [text, code] {
            for before in ["", "  validations:\n  - expression: ", "---\n"] {
                let _ = wrong(&format!("{HEAD}{before}{text}"));
                let _ = wrong(&format!("{before}{text}"));
            }
        }
    }
}
