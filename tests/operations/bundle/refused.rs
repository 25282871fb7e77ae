//! What `kbr bundle` does not accept, and what it warns of.

use super::{Bundle, IMAGE};
use crate::support::goldens::check_out;
use crate::support::{Sandbox, assert_same};

/// Asserts that the command fails with these words and changes nothing.
#[track_caller]
fn refuse(project: &Sandbox, line: &str, words: &[&str]) {
    let before = project.tree();
    let error = project.kbr(line).failure().stderr;
    for word in words {
        assert!(error.contains(word), "no {word} in {error}");
    }
    assert_same(&before, &project.tree());
}

fn project(name: &str) -> Sandbox {
    let project = Sandbox::new();
    check_out(name, project.path());
    project
}

const DEFAULT: &str = "config/default/kustomization.yaml";

/// Adds an object to `config/default`.
fn add(project: &Sandbox, text: &str) {
    project.edit(DEFAULT, "- ../rbac\n", "- ../rbac\n- extra.yaml\n");
    project.write("config/default/extra.yaml", text);
}

#[test]
fn a_version_that_exists_is_refused_unless_nothing_changes() {
    let bundle = Bundle::of("foo");
    let project = &bundle.project;
    project.kbr("bundle --version 1.2.3").success();
    project.edit("config/manager/manager.yaml", "replicas: 2", "replicas: 3");
    for line in ["bundle --version 1.2.3", "bundle --version 1.2.3 --dry-run"] {
        refuse(
            project,
            line,
            &[
                "a bundle for version `1.2.3` exists",
                "type the next version after `--version`",
            ],
        );
    }
    refuse(project, "bundle --version 1.2.3 --check", &["out of date"]);
    project.kbr("bundle").success();
    project.kbr("bundle --version 1.2.4-rc.1").success();
    assert_eq!(
        bundle.service_version()["metadata"]["name"],
        "foo.v1.2.4-rc.1"
    );
}

#[test]
fn a_version_that_is_no_semantic_version_is_refused() {
    let project = project("foo");
    let before = project.tree();
    for (version, why) in [
        ("1.2", "is not a semantic version"),
        ("v1.2.3", "is not a semantic version"),
        ("01.2.3", "is not a semantic version"),
        ("", "is not a semantic version"),
        ("1.2.3+build", "has build metadata"),
        ("1.2.3-RC1", "cannot be a part of the name of an object"),
        ("1.2.3-a-prerelease-that-is-much-too-long", "is too long"),
    ] {
        let error = project
            .run(&["bundle", "--version", version])
            .refused_with(2);
        assert!(
            error.contains(why) && error.contains("--version"),
            "{version}: {error}"
        );
    }
    assert_same(&before, &project.tree());
    project.edit(
        "Cargo.toml",
        "version = \"0.1.0\"",
        "version = \"0.1.0+dirty\"",
    );
    refuse(
        &project,
        "bundle",
        &[
            "`Cargo.toml`: `0.1.0+dirty` has build metadata",
            "kbr bundle --version VERSION",
        ],
    );
    project.kbr("bundle --version 0.1.0").success();
}

#[test]
fn an_image_that_no_cluster_can_pull_is_reported() {
    let project = project("foo");
    let run = project.kbr("bundle").success();
    let words = "the image of the manager is `controller:latest`";
    assert!(
        run.stderr.contains(words) && run.stderr.contains("kbr bundle --image IMAGE"),
        "{}",
        run.stderr
    );
    let run = project.kbr(&format!("bundle --image {IMAGE}")).success();
    assert!(!run.stderr.contains(words), "{}", run.stderr);
    // Otherwise the image of the bundle stays.
    let stays = format!("the image of the manager is still `{IMAGE}`");
    let run = project.kbr("bundle --version 0.2.0").success();
    assert!(run.stderr.contains(&stays), "{}", run.stderr);
    let run = project.kbr(&format!("bundle --version 0.3.0 --image {IMAGE}"));
    assert!(!run.success().stderr.contains(&stays));
    refuse_usage(&project, "bundle --image a:b:c");
}

#[track_caller]
fn refuse_usage(project: &Sandbox, line: &str) {
    let before = project.tree();
    let words: Vec<&str> = line.split(' ').collect();
    project.run(&words).refused_with(2);
    assert_same(&before, &project.tree());
}

#[test]
fn an_admission_policy_is_left_out() {
    let project = project("foo");
    let of = "--group samplecontroller --version v1alpha1 --kind Foo --validating";
    project.kbr(&format!("create policy {of}")).success();
    let run = project.kbr("bundle").success();
    let warning = "OLM installs no admission policies: the bundle leaves out `config/policy/";
    assert!(run.stderr.contains(warning), "{}", run.stderr);
    project.kbr(&format!("delete policy {of}")).success();
    let run = project.kbr("bundle").success();
    assert!(!run.stderr.contains("admission policies"), "{}", run.stderr);
}

#[test]
fn a_kind_without_a_sample_is_reported() {
    let project = project("multiversion");
    project.remove("config/samples/batch_v1_cronjob.yaml");
    let run = project.kbr("bundle").success();
    let warning = "`config/samples/` has no sample of CronJob in version v1";
    assert!(run.stderr.contains(warning), "{}", run.stderr);
    assert!(!run.stderr.contains("version v2"), "{}", run.stderr);
}

#[test]
fn webhooks_that_olm_cannot_call_as_they_are_meant_are_refused() {
    refuse(
        &project("scaffold"),
        "bundle",
        &[
            "has `namespaceSelector`, which OLM does not support",
            "`objectSelector` is possible",
        ],
    );
    const WEBHOOKS: &str = "config/webhook/manifests.yaml";
    let long = "v".repeat(40) + ".batch.tutorial.kubebuilder.io";
    for (from, to, words) in [
        (
            "  - name: unless-deleted\n",
            "  - name: of-the-owner\n",
            "has `matchConditions`",
        ),
        (
            "    - batch.tutorial.kubebuilder.io\n",
            "    - \"*\"\n",
            "has `groups=*`",
        ),
        (
            "    service:\n      name: webhook-service\n      namespace: system\n      path: /mutate-batch-tutorial-kubebuilder-io-v1-cronjob\n",
            "    url: https://example.com\n",
            "has `url`",
        ),
        (
            "mcronjob-v1.batch.tutorial.kubebuilder.io",
            &long,
            "is too long for OLM, which makes it a label of at most 63 characters",
        ),
    ] {
        let project = project("cronjob");
        let text = project.read(WEBHOOKS);
        assert!(text.contains(from), "{text}");
        project.write(WEBHOOKS, &text.replacen(from, to, 1));
        refuse(&project, "bundle", &[words, "kbr manifests"]);
    }
}

#[test]
fn a_conversion_in_a_namespaced_project_is_refused() {
    let project = project("multiversion");
    project.edit("PROJECT", "projectName:", "namespaced: true\nprojectName:");
    refuse(
        &project,
        "bundle",
        &["OLM installs conversion webhooks only for operators that watch the whole cluster"],
    );
}

#[test]
fn objects_that_olm_does_not_install_are_refused() {
    let kind = project("foo");
    add(
        &kind,
        "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: a\n  namespace: system\n",
    );
    refuse(
        &kind,
        "bundle",
        &[
            "`config/default/extra.yaml` has an object of the kind `Job`, which OLM does not install",
        ],
    );

    let elsewhere = project("namespaced");
    add(
        &elsewhere,
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: kube-system\n",
    );
    refuse(
        &elsewhere,
        "bundle",
        &["in the namespace `kube-system`, and OLM installs a bundle in one namespace"],
    );

    let binding = |role: &str, others: &str| {
        format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata:\n  name: a\nroleRef:\n  \
             apiGroup: rbac.authorization.k8s.io\n  kind: ClusterRole\n  name: {role}\nsubjects:\n- kind: ServiceAccount\n  \
             name: controller-manager\n  namespace: system\n{others}"
        )
    };
    let role = project("foo");
    add(&role, &binding("view", ""));
    refuse(
        &role,
        "bundle",
        &["binds `view`, and OLM needs the rules of the operator's own roles"],
    );

    let subjects = project("foo");
    add(
        &subjects,
        &binding("manager-role", "- kind: User\n  name: jane\n"),
    );
    refuse(
        &subjects,
        "bundle",
        &["binds `foo-manager-role` to the operator and to others"],
    );
}

#[test]
fn a_file_that_is_no_service_version_is_refused() {
    let bundle = Bundle::of("foo");
    let base = "config/manifests/clusterserviceversion.yaml";
    for path in [base, &bundle.path()] {
        let before = bundle.project.read(path);
        for (text, why) in [
            ("a: b: c\n", ":1` is not YAML: "),
            ("", "it is not one document"),
            ("kind: Deployment\n", "it has another `kind`"),
            (
                "kind: ClusterServiceVersion\nspec: 1\n",
                "`spec` is not a map",
            ),
        ] {
            bundle.project.write(path, text);
            refuse(&bundle.project, "bundle", &[&format!("`{path}"), why]);
        }
        bundle.project.write(path, &before);
    }
    bundle
        .project
        .edit(&bundle.path(), "version: \"1.2.3\"", "version: next");
    refuse(
        &bundle.project,
        "bundle",
        &["`next` is not a semantic version"],
    );
}

#[test]
fn a_project_without_manifests_says_what_to_type() {
    let project = project("cronjob");
    project.remove("config/webhook/manifests.yaml");
    refuse(
        &project,
        "bundle",
        &[
            "config/webhook/manifests.yaml: no such file",
            "type `kbr manifests`",
        ],
    );
}

#[test]
fn a_bundle_that_is_too_large_for_olm_is_refused() {
    let project = project("foo");
    project.add_large_crd();
    let words = [
        "a ConfigMap of at most 1048576",
        "type `kbr manifests --max-desc-len 0`, then `kbr bundle`",
    ];
    refuse(&project, "bundle --version 1.2.3", &words);
}
