//! The changes for new policies, and which policies are refused; tested on values.

use crate::commands::tests::Bench;

fn with_foo() -> Bench {
    Bench::new().after("create api --kind Foo")
}

#[test]
fn the_first_policy_adds_what_deploys_it_and_no_certificate() {
    assert_eq!(
        with_foo().changes("create policy --kind Foo --validating"),
        [
            "create config/policy/kustomization.yaml",
            "create config/policy/name_references.yaml",
            "create config/policy/v1alpha1_foo_validating.yaml",
            "create tests/it/foo_v1alpha1_validating_policy.rs",
            "insert config/default/kustomization.yaml: - ../policy",
            "insert config/policy/kustomization.yaml: - v1alpha1_foo_validating.yaml",
            "insert tests/it/main.rs: mod foo_v1alpha1_validating_policy;",
        ]
    );
}

#[test]
fn a_second_policy_adds_only_its_own_files() {
    let bench = with_foo().after("create policy --kind Foo --validating");
    assert_eq!(
        bench.changes("create policy --kind Foo --mutating"),
        [
            "create config/policy/v1alpha1_foo_mutating.yaml",
            "create tests/it/foo_v1alpha1_mutating_policy.rs",
            "insert config/policy/kustomization.yaml: - v1alpha1_foo_mutating.yaml",
            "insert tests/it/main.rs: mod foo_v1alpha1_mutating_policy;",
        ]
    );
}

#[test]
fn crdgen_prints_a_type_of_kubernetes_only_with_a_policy() {
    let crdgen = |bench: &Bench| bench.text("api/src/bin/crdgen.rs").to_owned();
    let bench =
        with_foo().after("create webhook --group core --version v1 --kind Pod --defaulting");
    let before = crdgen(&bench);
    assert!(!before.contains("Pod"), "{before}");
    let with = bench.after("create policy --group core --version v1 --kind Pod --validating");
    assert!(crdgen(&with).contains("schemas::<k8s_openapi::api::core::v1::Pod>("));
    let without = with.after("delete policy --group core --version v1 --kind Pod --validating");
    assert_eq!(crdgen(&without), before);
}

#[test]
fn force_writes_the_files_of_a_policy_again() {
    let mut bench = with_foo().after("create policy --kind Foo --validating");
    let file = "config/policy/v1alpha1_foo_validating.yaml";
    bench.edit(file, "# mine\n");
    let line = "create policy --kind Foo --validating";
    assert_eq!(bench.refused(line), ["policy-exists"]);
    let after = bench.after(&format!("{line} --force"));
    assert_eq!(after.text(file), with_foo().after(line).text(file));
}

#[test]
fn a_policy_that_no_kustomization_lists_causes_a_warning() {
    let mut bench = with_foo().after("create policy --kind Foo --validating");
    let warnings = |bench: &Bench| {
        let wanted = bench.desired("manifests").expect("no refusal");
        let all = wanted.warnings.into_iter();
        all.filter(|it| it.contains("config/policy"))
            .collect::<Vec<_>>()
    };
    assert_eq!(warnings(&bench), Vec::<String>::new());
    let kustomization = "config/policy/kustomization.yaml";
    let line = "- v1alpha1_foo_validating.yaml\n";
    let without = bench.text(kustomization).replace(line, "");
    bench.files.insert(kustomization.to_owned(), without);
    assert_eq!(
        warnings(&bench),
        [format!(
            "nothing deploys `config/policy/v1alpha1_foo_validating.yaml`: list it below `resources:` of `{kustomization}`"
        )]
    );
    // As after `kbr delete policy`, which keeps an edited file.
    bench.files.remove(kustomization);
    assert_eq!(
        warnings(&bench),
        [
            "nothing deploys `config/policy/v1alpha1_foo_validating.yaml`: delete it, or list it in a kustomization that `config/default` lists"
        ]
    );
}
