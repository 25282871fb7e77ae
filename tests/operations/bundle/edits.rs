//! What becomes of the bundle when its owner edits it, and when the project changes.

use serde_json::json;

use super::{Bundle, IMAGE};
use crate::support::{assert_same, commit, git};

const BASE: &str = "config/manifests/clusterserviceversion.yaml";

const KNOWN_BY_THE_OWNER: &str = "\
# Mine.
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  annotations:
    capabilities: Seamless Upgrades
    categories: Application Runtime
spec:
  displayName: CronJobs of our own
  description: Runs Jobs at times.
  maturity: stable
  minKubeVersion: 1.33.0
  icon:
  - base64data: PHN2Zy8+
    mediatype: image/svg+xml
  keywords: [cron, job]
  links:
  - name: Source code
    url: https://example.com/cronjob
  maintainers:
  - name: Jane Doe
    email: jane@example.com
  provider:
    name: Example
    url: https://example.com
  replaces: cronjob.v1.2.2
  customresourcedefinitions:
    owned:
    - name: cronjobs.batch.tutorial.kubebuilder.io
      version: v1
      kind: CronJob
      displayName: Scheduled Job
      resources:
      - kind: Job
        name: \"\"
        version: v1
      specDescriptors:
      - path: schedule
        displayName: When
      - path: jobTemplate.spec
        displayName: The Job
    required:
    - name: others.example.com
      version: v1
      kind: Other
";

#[test]
fn what_only_the_owner_knows_stays() {
    let bundle = Bundle::of("cronjob");
    let project = &bundle.project;
    let fresh = project.read(BASE);
    assert!(fresh.contains("This file is yours"), "{fresh}");
    project.write(BASE, KNOWN_BY_THE_OWNER);
    project.kbr("bundle --version 1.2.4").success();
    project.edit("config/manager/manager.yaml", "replicas: 2", "replicas: 3");
    let run = project.kbr("bundle --version 1.3.0 --image registry.example.com/operator:v1.3.0");
    run.success();
    project.kbr("bundle --check").success();
    assert_eq!(project.read(BASE), KNOWN_BY_THE_OWNER);
    // With the checks of OperatorHub.
    let findings = bundle.findings(&["--object_validate", "--operatorhub_validate"]);
    // The first takes each rule for `events` for one of their removed version.
    let known = ["Migrate the API(s) for events", "validator is deprecated"];
    for finding in findings.lines() {
        assert!(known.iter().any(|it| finding.contains(it)), "{finding}");
    }

    let version = bundle.service_version();
    assert_eq!(version["metadata"]["name"], "cronjob.v1.3.0");
    let annotations = &version["metadata"]["annotations"];
    assert_eq!(annotations["capabilities"], "Seamless Upgrades");
    assert_eq!(annotations["categories"], "Application Runtime");
    assert_eq!(
        annotations["containerImage"],
        "registry.example.com/operator:v1.3.0"
    );
    assert!(annotations["alm-examples"].is_string());
    let spec = &version["spec"];
    let own: serde_json::Value = serde_saphyr::from_str(KNOWN_BY_THE_OWNER).expect("YAML");
    for (key, value) in own["spec"].as_object().expect("a map") {
        if key != "customresourcedefinitions" {
            assert_eq!(spec[key], *value, "{key}");
        }
    }
    assert_eq!(
        spec["install"]["spec"]["deployments"][0]["spec"]["replicas"],
        3
    );
    let definitions = &spec["customresourcedefinitions"];
    assert_eq!(definitions["required"][0]["kind"], "Other");
    let owned = &definitions["owned"][0];
    assert_eq!(owned["displayName"], "Scheduled Job");
    assert_eq!(
        owned["resources"],
        json!([{ "kind": "Job", "name": "", "version": "v1" }])
    );
    let descriptors = owned["specDescriptors"].as_array().expect("descriptors");
    let of_field = |path: &str| {
        descriptors
            .iter()
            .find(|it| it["path"] == path)
            .expect("a field")
    };
    assert_eq!(of_field("schedule")["displayName"], "When");
    assert!(of_field("schedule")["description"].is_string());
    assert_eq!(of_field("jobTemplate.spec")["displayName"], "The Job");
    assert_eq!(of_field("suspend")["displayName"], "Suspend");
}

#[test]
fn the_bundle_is_written_once() {
    let bundle = Bundle::of("multiversion");
    let project = &bundle.project;
    git(project, "init --quiet");
    commit(project);
    let listed = git(project, "ls-files bundle bundle.Dockerfile");
    assert!(listed.contains("bundle/manifests/"), "git ignores it");
    let before = project.tree();
    for line in [
        "bundle",
        "bundle --check",
        "update --check",
        "manifests --help",
    ] {
        project.kbr(line).success();
    }
    // The version and the image are those that the bundle has.
    project
        .kbr(&format!("bundle --version 1.2.3 --image {IMAGE}"))
        .success();
    assert_same(&before, &project.tree());
}

#[test]
fn a_renamed_project_keeps_the_version_and_the_image_of_its_bundle() {
    let bundle = Bundle::of("foo");
    let project = &bundle.project;
    project.kbr("edit --project-name bar").success();
    project.kbr("bundle").success();
    let renamed = bundle.read("bundle/manifests/bar.clusterserviceversion.yaml");
    assert_eq!(renamed["metadata"]["name"], "bar.v1.2.3");
    assert_eq!(renamed["metadata"]["annotations"]["containerImage"], IMAGE);
    assert!(!project.path().join(bundle.path()).exists());
    assert_eq!(bundle.findings(&[]), "");
    project.kbr("bundle --check").success();
}

#[test]
fn a_bundle_that_is_out_of_date_fails_the_check() {
    let bundle = Bundle::of("foo");
    let project = &bundle.project;
    project.edit(
        "config/samples/samplecontroller_v1alpha1_foo.yaml",
        "foo-sample",
        "another",
    );
    let before = project.tree();
    let error = project.kbr("bundle --check").failure().stderr;
    assert!(
        error.contains(&format!("`{}`", bundle.path())) && error.contains("type `kbr bundle`"),
        "{error}"
    );
    assert_same(&before, &project.tree());
    project.kbr("bundle").success();
    project.kbr("bundle --check").success();
    assert!(project.read(&bundle.path()).contains("another"));
}

#[test]
fn edits_are_merged_with_what_changes() {
    let bundle = Bundle::of("foo");
    let project = &bundle.project;
    git(project, "init --quiet");
    commit(project);
    let mine = "  com.redhat.openshift.versions: v4.20\n";
    let annotations = "bundle/metadata/annotations.yaml";
    project.write(annotations, &(project.read(annotations) + mine));
    project.edit(
        &bundle.path(),
        "kind: ClusterServiceVersion\n",
        "kind: ClusterServiceVersion\n# Mine.\n",
    );
    commit(project);
    for version in ["1.2.4", "1.2.5"] {
        project
            .kbr(&format!("bundle --version {version}"))
            .success();
        let text = project.read(&bundle.path());
        assert!(text.contains("# Mine.\n"), "{text}");
        assert_eq!(bundle.service_version()["spec"]["version"], version);
        assert!(project.read(annotations).ends_with(mine));
        commit(project);
    }
    assert_eq!(bundle.findings(&[]), "");
}

#[test]
fn without_git_an_edited_file_stays_and_the_new_one_is_beside_it() {
    let bundle = Bundle::of("foo");
    let project = &bundle.project;
    project.edit(
        &bundle.path(),
        "kind: ClusterServiceVersion\n",
        "kind: ClusterServiceVersion\n# Mine.\n",
    );
    let mine = project.read(&bundle.path());
    let run = project.kbr("bundle --version 1.2.4").success();
    let beside = format!("{}.kbr-new", bundle.path());
    assert!(
        run.stderr
            .contains(&format!("copy what is new from `{beside}`")),
        "{}",
        run.stderr
    );
    assert_eq!(project.read(&bundle.path()), mine);
    assert!(project.read(&beside).contains("version: \"1.2.4\""));
}
