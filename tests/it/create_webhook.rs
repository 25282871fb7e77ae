//! `kbr create webhook`: files, wiring, and what a second webhook adds to the first.

use std::collections::BTreeMap;

use crate::support::{Sandbox, assert_formatted, differences};

/// A project with a kind in three versions.
fn with_versions() -> Sandbox {
    let sandbox = Sandbox::with_project();
    for version in ["v1", "v2", "v3"] {
        let line = format!("create api --group batch --version {version} --kind CronJob");
        sandbox.kbr(&line).success();
    }
    sandbox
}

const FOR: &str = "create webhook --group batch --version v1 --kind CronJob";

/// Runs the command for `CronJob` of `v1`, and returns what it created and what it edited.
fn webhook(sandbox: &Sandbox, options: &str) -> (Vec<String>, Vec<String>) {
    let run = sandbox.kbr(&format!("{FOR} {options}")).success();
    let status = run.status();
    assert_eq!(
        status.last().map(String::as_str),
        Some("Next kbr manifests")
    );
    let of = |word: &str| {
        let paths = status.iter().filter_map(|line| line.strip_prefix(word));
        paths.map(|path| path.trim().to_owned()).collect()
    };
    (of("Created "), of("Edited "))
}

#[track_caller]
fn holds(sandbox: &Sandbox, path: &str, line: &str) {
    let text = sandbox.read(path);
    let found = text.lines().filter(|l| l.trim() == line).count();
    assert_eq!(found, 1, "{line:?} in {path}:\n{text}");
}

/// Every line of `before` still exists, except in PROJECT.
#[track_caller]
fn only_added(before: &BTreeMap<String, String>, sandbox: &Sandbox) {
    for (path, text) in before.iter().filter(|(path, _)| *path != "PROJECT") {
        let now = sandbox.read(path);
        let mut now = now.split_inclusive('\n');
        assert!(
            text.split_inclusive('\n')
                .all(|line| now.any(|other| other == line)),
            "{path} lost a line"
        );
    }
}

#[test]
fn the_first_webhooks_are_wired_in_everywhere() {
    let sandbox = with_versions();
    let (created, edited) = webhook(&sandbox, "--defaulting --programmatic-validation");
    assert_eq!(
        created,
        [
            "config/default/manager_webhook_patch.yaml",
            "config/default/webhook_replacements.yaml",
            "config/network-policy/allow-webhook-traffic.yaml",
            "config/webhook/kustomization.yaml",
            "config/webhook/service.yaml",
            "src/webhook/v1.rs",
            "src/webhook/v1/cronjob_defaulter.rs",
            "src/webhook/v1/cronjob_validator.rs",
            "tests/it/cronjob_v1_defaulter.rs",
            "tests/it/cronjob_v1_validator.rs",
        ]
    );
    assert_eq!(
        edited,
        [
            "Cargo.toml",
            "config/default/kustomization.yaml",
            "config/network-policy/kustomization.yaml",
            "src/lib.rs",
            "src/webhook.rs",
            "tests/it/main.rs",
        ]
    );
    let default = "config/default/kustomization.yaml";
    for (path, line) in [
        ("src/webhook.rs", "pub mod v1;"),
        ("src/webhook/v1.rs", "pub mod cronjob_defaulter;"),
        ("src/webhook/v1.rs", "pub mod cronjob_validator;"),
        ("src/lib.rs", "webhook::v1::cronjob_defaulter::register,"),
        ("src/lib.rs", "webhook::v1::cronjob_validator::register,"),
        ("tests/it/main.rs", "mod cronjob_v1_defaulter;"),
        ("tests/it/main.rs", "mod cronjob_v1_validator;"),
        (
            "config/webhook/kustomization.yaml",
            "- certificates_role.yaml",
        ),
        (
            "config/network-policy/kustomization.yaml",
            "- allow-webhook-traffic.yaml",
        ),
        (default, "- ../webhook"),
        (
            default,
            "- {path: manager_webhook_patch.yaml, target: {kind: Deployment, name: controller-manager}}",
        ),
        (default, "- path: webhook_replacements.yaml"),
        ("config/default/manager_webhook_patch.yaml", "preStop:"),
        ("config/webhook/kustomization.yaml", "- manifests.yaml"),
        (
            "src/webhook/v1/cronjob_defaulter.rs",
            "// +kbr:webhook:mutating=true,\
             failurePolicy=fail,sideEffects=None,groups=batch.example.com,resources=cronjobs,\
             verbs=create;update,versions=v1,name=mcronjob-v1.batch.example.com,\
             admissionReviewVersions=v1",
        ),
        (
            "src/webhook/v1/cronjob_validator.rs",
            "// +kbr:webhook:mutating=false,\
             failurePolicy=fail,sideEffects=None,groups=batch.example.com,resources=cronjobs,\
             verbs=create;update,versions=v1,name=vcronjob-v1.batch.example.com,\
             admissionReviewVersions=v1",
        ),
        (
            "src/webhook/v1/cronjob_validator.rs",
            "const PATH: &str = \"/validate-batch-example-com-v1-cronjob\";",
        ),
    ] {
        holds(&sandbox, path, line);
    }
    let webhooks =
        "  webhooks:\n    defaulting: true\n    validation: true\n    webhookVersion: v1\n";
    assert!(sandbox.read("PROJECT").contains(webhooks));
}

#[test]
fn later_webhooks_and_spokes_only_add_files_and_lines() {
    let sandbox = with_versions();
    webhook(&sandbox, "--defaulting");
    let edit = |path: &str| {
        let text = sandbox.read(path);
        sandbox.write(path, &format!("{text}// by hand\n"));
    };
    for (options, new, edited) in [
        (
            "--programmatic-validation",
            &[
                "src/webhook/v1/cronjob_validator.rs",
                "tests/it/cronjob_v1_validator.rs",
            ][..],
            &["src/lib.rs", "src/webhook/v1.rs", "tests/it/main.rs"][..],
        ),
        (
            "--conversion --spoke v2",
            &[
                "src/webhook/v2.rs",
                "src/webhook/v2/cronjob_converter.rs",
                "tests/it/cronjob_v2_converter.rs",
            ],
            &[
                "Cargo.toml",
                "src/lib.rs",
                "src/webhook.rs",
                "tests/it/main.rs",
            ],
        ),
        (
            "--conversion --spoke v3",
            &[
                "src/webhook/v3.rs",
                "src/webhook/v3/cronjob_converter.rs",
                "tests/it/cronjob_v3_converter.rs",
            ],
            &["src/lib.rs", "src/webhook.rs", "tests/it/main.rs"],
        ),
    ] {
        edit("src/lib.rs");
        edit("src/webhook/v1/cronjob_defaulter.rs");
        let before = sandbox.tree();
        assert_eq!(
            webhook(&sandbox, options),
            (
                new.iter().map(ToString::to_string).collect(),
                edited.iter().map(ToString::to_string).collect()
            )
        );
        only_added(&before, &sandbox);
    }
    let hub = "    conversion: true\n    defaulting: true\n    spoke:\n    - v2\n    - v3\n    \
               validation: true\n";
    assert!(sandbox.read("PROJECT").contains(hub));
}

#[test]
fn the_order_of_the_commands_does_not_matter() {
    let at_once = with_versions();
    webhook(
        &at_once,
        "--conversion --spoke v3,v2 --programmatic-validation --defaulting",
    );
    at_once
        .kbr("create webhook --group core --version v1 --kind Pod --defaulting")
        .success();
    let later = with_versions();
    later
        .kbr("create webhook --group core --version v1 --kind Pod --defaulting")
        .success();
    for options in [
        "--conversion --spoke v3",
        "--programmatic-validation",
        "--conversion --spoke v2",
        "--defaulting",
    ] {
        webhook(&later, options);
    }
    assert_eq!(differences(&at_once.tree(), &later.tree()), [""; 0]);
}

#[test]
fn a_conversion_alone_lists_no_manifests() {
    let sandbox = with_versions();
    let (created, _) = webhook(&sandbox, "--conversion --spoke v2 --spoke v3");
    assert!(
        !created.contains(&"src/webhook/v1.rs".to_owned()),
        "{created:?}"
    );
    let listed = || {
        sandbox
            .read("config/webhook/kustomization.yaml")
            .contains("manifests.yaml")
    };
    assert!(!listed());
    sandbox
        .kbr("create webhook --group batch --version v3 --kind CronJob --defaulting")
        .success();
    assert!(listed());
    holds(&sandbox, "src/webhook/v3.rs", "pub mod cronjob_converter;");
    holds(&sandbox, "src/webhook/v3.rs", "pub mod cronjob_defaulter;");
    let converter = sandbox.read("src/webhook/v2/cronjob_converter.rs");
    assert!(converter.contains("\nuse api::{v1, v2};\n"), "{converter}");
}

#[test]
fn a_converter_names_every_field_that_was_scaffolded() {
    let sandbox = Sandbox::with_project();
    for line in [
        "create api --group batch --version v1 --kind Cache --image cache:1",
        "create api --group batch --version v2 --kind Cache --controller=false",
        "create webhook --group batch --version v1 --kind Cache --conversion --spoke v2",
    ] {
        sandbox.kbr(line).success();
    }
    let converter = sandbox.read("src/webhook/v2/cache_converter.rs");
    for part in [
        "    let v1::CacheSpec { size, image } = spec;\n    v2::CacheSpec { foo: value }\n",
        "    let v2::CacheSpec { foo: value } = spec;\n    v1::CacheSpec { size, image }\n",
    ] {
        assert!(converter.contains(part), "{part}: {converter}");
    }
    assert!(!converter.contains(".."), "{converter}");
}

#[test]
fn a_webhook_has_no_policy_until_its_owner_writes_one() {
    let sandbox = Sandbox::with_project();
    sandbox
        .kbr("create webhook --group core --version v1 --kind Pod --defaulting --programmatic-validation")
        .success();
    let defaulter = sandbox.read("src/webhook/v1/pod_defaulter.rs");
    let validator = sandbox.read("src/webhook/v1/pod_validator.rs");
    // It does not even look at the object.
    assert!(
        defaulter.contains("        _object: &mut Object,\n"),
        "{defaulter}"
    );
    assert!(validator.contains("\n    Vec::new()\n}\n"), "{validator}");
}

#[test]
fn a_webhook_of_a_core_type_warns_and_excludes_the_operators_namespace() {
    let sandbox = Sandbox::with_project();
    let line = "create webhook --group core --version v1 --kind Pod --defaulting";
    let run = sandbox.kbr(line).success();
    let warning = "Warning `core/v1 Pod` is Kubernetes' own: while this operator is down, nobody can write one, except in the namespaces that the \
                   marker's `namespaceSelector` excludes, including the operator's own";
    assert!(run.status().contains(&warning.to_owned()), "{}", run.stderr);
    holds(
        &sandbox,
        "src/webhook/v1/pod_defaulter.rs",
        "// +kbr:webhook:mutating=true,failurePolicy=fail,sideEffects=None,\
         groups=\"\",resources=pods,verbs=create;update,versions=v1,name=mpod-v1.core.example.com,\
         admissionReviewVersions=v1,\
         namespaceSelector=\"kubernetes.io/metadata.name notin (kube-system,sandbox-system)\",\
         matchConditions={\"not-of-the-system: !(object != null ? object : oldObject).spec.?priorityClassName.orValue('').startsWith('system-')\"}",
    );
    holds(
        &sandbox,
        "src/webhook/v1/pod_defaulter.rs",
        "type Object = k8s_openapi::api::core::v1::Pod;",
    );
    let resource = "- core: true\n  group: core\n  kind: Pod\n  plural: pods\n  version: v1\n  \
                    webhooks:\n    defaulting: true\n    webhookVersion: v1\n";
    assert!(sandbox.read("PROJECT").contains(resource));
    let before = sandbox.tree();
    sandbox
        .kbr("create webhook --group core --version v1 --kind Pod --programmatic-validation")
        .success();
    only_added(&before, &sandbox);
    sandbox
        .kbr("create webhook --group apps --version v1 --kind Deployment --programmatic-validation")
        .success();
    let deployment = sandbox.read("src/webhook/v1/deployment_validator.rs");
    for part in [
        "\"/validate-apps-v1-deployment\"",
        "groups=apps,resources=deployments,",
        "name=vdeployment-v1.apps.example.com,",
        "type Object = k8s_openapi::api::apps::v1::Deployment;\n",
    ] {
        assert!(deployment.contains(part), "{part}: {deployment}");
    }
}

#[test]
fn a_kubernetes_group_is_known_by_kubebuilders_short_name() {
    let [short, full] = ["networking", "networking.k8s.io"].map(|group| {
        let sandbox = Sandbox::with_project();
        let line = format!("create webhook --group {group} --version v1 --kind Ingress");
        sandbox.kbr(&format!("{line} --defaulting")).success();
        sandbox
            .kbr(&format!("{line} --programmatic-validation"))
            .success();
        sandbox.tree()
    });
    assert_eq!(differences(&full, &short), [""; 0]);
}

#[test]
fn the_projects_own_type_takes_precedence_over_kubernetes_own() {
    let sandbox = with_versions();
    let run = sandbox.kbr(&format!("{FOR} --defaulting")).success();
    assert!(!run.stderr.contains("Warning"), "{}", run.stderr);
    assert!(!sandbox.read("PROJECT").contains("core: true"));
}

#[test]
fn a_kind_whose_group_is_the_domain_has_webhooks_too() {
    let sandbox = Sandbox::with_project();
    sandbox.kbr("create api --kind Foo").success();
    sandbox
        .kbr("create webhook --kind Foo --defaulting")
        .success();
    let text = sandbox.read("src/webhook/v1alpha1/foo_defaulter.rs");
    for part in [
        "\"/mutate-example-com-v1alpha1-foo\"",
        "name=mfoo-v1alpha1.example.com,",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_typed_path_is_once_in_the_code_and_in_project_and_is_kept() {
    let sandbox = with_versions();
    let options = "--defaulting --defaulting-path /a/b.c --programmatic-validation \
                   --validation-path /v";
    webhook(&sandbox, options);
    let fresh = sandbox.tree();
    let defaulter = "src/webhook/v1/cronjob_defaulter.rs";
    assert_eq!(fresh[defaulter].matches("/a/b.c").count(), 1);
    assert!(fresh[defaulter].contains("const PATH: &str = \"/a/b.c\";"));
    assert!(fresh["PROJECT"].contains("    defaultingPath: /a/b.c\n"));
    assert!(fresh["PROJECT"].contains("    validationPath: /v\n"));
    webhook(&sandbox, "--defaulting --programmatic-validation --force");
    assert_eq!(differences(&fresh, &sandbox.tree()), [""; 0]);
    webhook(&sandbox, "--defaulting --defaulting-path /c --force");
    assert!(sandbox.read(defaulter).contains("\"/c\""));
    assert!(sandbox.read("PROJECT").contains("    defaultingPath: /c\n"));
}

#[test]
fn force_rewrites_the_files_and_duplicates_no_line() {
    let sandbox = with_versions();
    let all = "--defaulting --programmatic-validation --conversion --spoke v2,v3";
    webhook(&sandbox, all);
    let fresh = sandbox.tree();
    for path in [
        "src/webhook/v1/cronjob_defaulter.rs",
        "src/webhook/v2/cronjob_converter.rs",
        "tests/it/cronjob_v1_validator.rs",
    ] {
        sandbox.write(path, "edited\n");
    }
    webhook(&sandbox, &format!("{all} --force"));
    assert_eq!(differences(&fresh, &sandbox.tree()), [""; 0]);
    // Files of other webhooks, and files that webhooks share, are not rewritten.
    sandbox.write("src/webhook/v3/cronjob_converter.rs", "edited\n");
    sandbox.write("config/webhook/service.yaml", "# edited\n");
    webhook(&sandbox, "--conversion --spoke v2 --defaulting --force");
    assert_eq!(
        sandbox.read("src/webhook/v3/cronjob_converter.rs"),
        "edited\n"
    );
    assert_eq!(sandbox.read("config/webhook/service.yaml"), "# edited\n");
}

#[test]
fn repeating_a_command_that_was_interrupted_before_it_wrote_project_finishes_it() {
    let sandbox = with_versions();
    let before = sandbox.read("PROJECT");
    let all = "--defaulting --programmatic-validation --conversion --spoke v2";
    webhook(&sandbox, all);
    let but_project = |sandbox: &Sandbox| {
        let mut tree = sandbox.tree();
        tree.remove("PROJECT").expect("PROJECT");
        tree
    };
    let after = but_project(&sandbox);
    std::fs::remove_file(sandbox.path().join("tests/it/cronjob_v1_validator.rs")).expect("a file");
    sandbox.write("PROJECT", &before);
    webhook(&sandbox, all);
    assert_eq!(differences(&after, &but_project(&sandbox)), [""; 0]);
}

#[test]
fn emitted_code_is_formatted_however_long_the_names_are() {
    for (domain, group, version, options) in [
        ("example.com", "batch", "v1", ""),
        (
            "a-domain.of-many-letters.and-of-labels.example.com",
            "a-group-of-many-letters",
            "v100alpha100",
            "",
        ),
        (
            "example.com",
            "a-group-of-many-letters.and-of-labels.so-that-a-path-of-modules-is-as-long-as-a-line",
            "v1",
            "--multigroup",
        ),
    ] {
        let sandbox = Sandbox::new();
        sandbox
            .kbr(&format!(
                "init --domain {domain} --project-name a {options}"
            ))
            .success();
        for length in [1, 5, 10, 15, 20, 25, 32, 45, 59] {
            let kind = format!("K{}", "i".repeat(length - 1));
            for version in [version, "v2"] {
                let name = format!("--group {group} --version {version} --kind {kind}");
                sandbox.kbr(&format!("create api {name}")).success();
            }
            let name = format!("--group {group} --version {version} --kind {kind}");
            sandbox
                .kbr(&format!(
                    "create webhook {name} --defaulting --programmatic-validation --conversion --spoke v2"
                ))
                .success();
        }
        sandbox
            .kbr(
                "create webhook --group autoscaling --version v2 --kind HorizontalPodAutoscaler \
                 --defaulting --programmatic-validation",
            )
            .success();
        assert_formatted(&sandbox);
    }
}
