//! What is wrong with mutations, and where.

use super::{FILE, HEAD, NONE, wrong};

fn mutating(mutation: &str) -> Vec<String> {
    let head = HEAD.replace("Validating", "Mutating");
    wrong(&format!("{head}  mutations:\n{mutation}"))
}

#[test]
fn objects_that_a_mutation_creates_fit_the_schema() {
    let apply = |expression: &str| {
        mutating(&format!(
            "  - patchType: ApplyConfiguration\n    applyConfiguration:\n      expression: >-\n        \
             {expression}\n"
        ))
    };
    for expression in [
        "Object{metadata: Object.metadata{annotations: {'a': request.userInfo.username}}}",
        "Object{spec: Object.spec{items: [Object.spec.items{name: 'a', count: 1}], port: 80}}",
        "object.spec.on == true ? Object{} : Object{spec: Object.spec{replicas: object.spec.replicas + 1}}",
    ] {
        assert_eq!(apply(expression), NONE, "{expression}");
    }
    for (expression, column, problem) in [
        (
            "Object{spec: Object.spec{replica: 1}}",
            26,
            "`Object.spec` has no field `replica` (did you mean `replicas`?)",
        ),
        (
            "Object{spec: Object.spec{replicas: '1'}}",
            26,
            "`replicas` of `Object.spec` is an integer, not a string",
        ),
        (
            "Object{spec: Object.sepc{}}",
            14,
            "`Object` has no field `sepc` (did you mean `spec`?)",
        ),
        (
            "Object{spec: Object.metadata{}}",
            14,
            "this object must be `Object.spec`, not `Object.metadata`",
        ),
        (
            "Foo{}",
            1,
            "`Foo` cannot be created: write `Object{…}`, `Object.spec{…}` for a field of it, or `JSONPatch{…}`",
        ),
        (
            "[JSONPatch{op: 'remove'}]",
            1,
            "the expression is a list, but must be an `Object{…}`",
        ),
    ] {
        let problem = format!("{FILE}:16:{}: {problem}", column + 8);
        assert_eq!(apply(expression), [problem], "{expression}");
    }
}

#[test]
fn operations_of_a_patch_have_four_fields() {
    let patch = |expression: &str| {
        mutating(&format!(
            "  - patchType: JSONPatch\n    jsonPatch:\n      expression: >-\n        {expression}\n"
        ))
    };
    let right = "[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('a/b'), value: 'c'}]";
    assert_eq!(patch(right), NONE);
    let problem =
        format!("{FILE}:16:20: `JSONPatch` has the fields `op`, `path`, `from` and `value`");
    assert_eq!(patch("[JSONPatch{pth: ''}]"), [problem]);
    let problem = format!(
        "{FILE}:16:9: the expression is `JSONPatch`, but must be a list of `JSONPatch{{…}}`"
    );
    assert_eq!(patch("JSONPatch{op: 'add'}"), [problem]);
    let problem = format!("{FILE}:13:5: `patchType` cannot be `Merge`");
    assert_eq!(mutating("  - patchType: Merge\n"), [problem]);
    let problem = format!("{FILE}:13:5: this mutation has no `jsonPatch.expression`");
    assert_eq!(mutating("  - patchType: JSONPatch\n"), [problem]);
}
