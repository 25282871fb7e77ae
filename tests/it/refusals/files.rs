//! Files that are in the way, or are not what they must be.

use std::fs;
use std::process::{Command, Stdio};

use snapbox::str;

use super::{refused, told, with_foo};
use crate::support::{COMPILING, Run, Sandbox, assert_same};

#[test]
fn init_over_other_files() {
    let sandbox = Sandbox::new();
    sandbox.write("Makefile", "all:\n");
    sandbox.write("src/main.rs", "fn main() {}\n");
    let line = "init --domain example.com --project-name sandbox";
    refused(&sandbox, line);
    fs::remove_file(sandbox.path().join("Makefile")).expect("the file is removed");
    fs::remove_file(sandbox.path().join("src/main.rs")).expect("the file is removed");
    sandbox.kbr(line).success();
    told(str![[r#"
$ kbr init --domain example.com --project-name sandbox
error: `Makefile` already exists with different content
       `src/main.rs` already exists with different content
 help: move it out of the way, and run the command again
"#]]);
}

/// kbr reads all folders that it writes to, so it reports every file that is in the way.
#[test]
fn init_over_every_file_that_kbr_emits() {
    let emitted = Sandbox::with_project();
    for line in [
        "create api --kind Foo",
        "create webhook --kind Foo --defaulting",
    ] {
        emitted.kbr(line).success();
    }
    let sandbox = Sandbox::new();
    for (path, _) in emitted.tree() {
        if path != "PROJECT" {
            sandbox.write(&path, "mine\n");
        }
    }
    refused(&sandbox, "init --domain example.com --project-name sandbox");
    told(str![[r#"
$ kbr init --domain example.com --project-name sandbox
error: `.clippy.toml` already exists with different content
       `.dockerignore` already exists with different content
       `.github/dependabot.yml` already exists with different content
       `.github/workflows/kbr.yml` already exists with different content
       `.github/workflows/lint.yml` already exists with different content
       `.github/workflows/test-e2e.yml` already exists with different content
       `.github/workflows/test.yml` already exists with different content
       `AGENTS.md` already exists with different content
       `Cargo.lock` already exists with different content
       `Cargo.toml` already exists with different content
       `Dockerfile` already exists with different content
       `Makefile` already exists with different content
       `api/Cargo.toml` already exists with different content
       `api/src/bin/crdgen.rs` would be generated, but the existing file was not written by kbr
       `api/src/lib.rs` already exists with different content
       `config/default/kustomization.yaml` already exists with different content
       `config/default/manager_metrics_patch.yaml` already exists with different content
       `config/default/metrics_replacements.yaml` already exists with different content
       `config/default/metrics_service.yaml` already exists with different content
       `config/default/name_references.yaml` already exists with different content
       `config/grafana/kustomization.yaml` already exists with different content
       `config/grafana/objects.json` already exists with different content
       `config/grafana/operator.json` already exists with different content
       `config/manager/kustomization.yaml` already exists with different content
       `config/manager/manager.yaml` already exists with different content
       `config/manager/pod_disruption_budget.yaml` already exists with different content
       `config/metrics-certificate/certificate.yaml` already exists with different content
       `config/metrics-certificate/issuer.yaml` already exists with different content
       `config/metrics-certificate/issuer_names.yaml` already exists with different content
       `config/metrics-certificate/kustomization.yaml` already exists with different content
       `config/metrics-certificate/manager_patch.yaml` already exists with different content
       `config/metrics-certificate/monitor_patch.yaml` already exists with different content
       `config/network-policy/allow-metrics-traffic.yaml` already exists with different content
       `config/network-policy/kustomization.yaml` already exists with different content
       `config/prometheus/kustomization.yaml` already exists with different content
       `config/prometheus/monitor.yaml` already exists with different content
       `config/prometheus/rules.yaml` already exists with different content
       `config/rbac/kustomization.yaml` already exists with different content
       `config/rbac/leader_election_role.yaml` already exists with different content
       `config/rbac/leader_election_role_binding.yaml` already exists with different content
       `config/rbac/metrics_auth_role.yaml` already exists with different content
       `config/rbac/metrics_auth_role_binding.yaml` already exists with different content
       `config/rbac/metrics_reader_role.yaml` already exists with different content
       `config/rbac/role.yaml` would be generated, but the existing file was not written by kbr
       `config/rbac/role_binding.yaml` already exists with different content
       `config/rbac/service_account.yaml` already exists with different content
       `deny.toml` already exists with different content
       `examples/run-local.rs` already exists with different content
       `hack/delete.sh` already exists with different content
       `hack/deploy.sh` already exists with different content
       `hack/forget-version.sh` already exists with different content
       `hack/test-e2e.sh` already exists with different content
       `src/controller.rs` already exists with different content
       `src/lib.rs` already exists with different content
       `src/main.rs` already exists with different content
       `src/webhook.rs` already exists with different content
       `tests/crash.rs` already exists with different content
       `tests/it/main.rs` already exists with different content
       `tests/it/manifests.rs` already exists with different content
       `tests/rbac.rs` already exists with different content
       `third_party/kbr-runtime/.rustfmt.toml` already exists with different content
       `third_party/kbr-runtime/Cargo.toml` already exists with different content
       `third_party/kbr-runtime/LICENSE` already exists with different content
       `third_party/kbr-runtime/README.md` already exists with different content
       `third_party/kbr-runtime/SHA256SUMS` already exists with different content
       `third_party/kbr-runtime/src/action.rs` already exists with different content
       `third_party/kbr-runtime/src/address.rs` already exists with different content
       `third_party/kbr-runtime/src/api_server.rs` already exists with different content
       `third_party/kbr-runtime/src/api_server/body.rs` already exists with different content
       `third_party/kbr-runtime/src/api_server/throttled.rs` already exists with different content
       `third_party/kbr-runtime/src/backoff.rs` already exists with different content
       `third_party/kbr-runtime/src/cache.rs` already exists with different content
       `third_party/kbr-runtime/src/cache/entry.rs` already exists with different content
       `third_party/kbr-runtime/src/cache/guard.rs` already exists with different content
       `third_party/kbr-runtime/src/cache/shared.rs` already exists with different content
       `third_party/kbr-runtime/src/cache/store.rs` already exists with different content
       `third_party/kbr-runtime/src/certificate.rs` already exists with different content
       `third_party/kbr-runtime/src/certificate/validity.rs` already exists with different content
       `third_party/kbr-runtime/src/chain.rs` already exists with different content
       `third_party/kbr-runtime/src/checks.rs` already exists with different content
       `third_party/kbr-runtime/src/client.rs` already exists with different content
       `third_party/kbr-runtime/src/clock.rs` already exists with different content
       `third_party/kbr-runtime/src/clock/boot_time.rs` already exists with different content
       `third_party/kbr-runtime/src/conditions.rs` already exists with different content
       `third_party/kbr-runtime/src/controller.rs` already exists with different content
       `third_party/kbr-runtime/src/controller/run.rs` already exists with different content
       `third_party/kbr-runtime/src/diff.rs` already exists with different content
       `third_party/kbr-runtime/src/election.rs` already exists with different content
       `third_party/kbr-runtime/src/election/candidate.rs` already exists with different content
       `third_party/kbr-runtime/src/election/record.rs` already exists with different content
       `third_party/kbr-runtime/src/error.rs` already exists with different content
       `third_party/kbr-runtime/src/events.rs` already exists with different content
       `third_party/kbr-runtime/src/exit.rs` already exists with different content
       `third_party/kbr-runtime/src/flags.rs` already exists with different content
       `third_party/kbr-runtime/src/flags/zap.rs` already exists with different content
       `third_party/kbr-runtime/src/gate.rs` already exists with different content
       `third_party/kbr-runtime/src/guide.rs` already exists with different content
       `third_party/kbr-runtime/src/guide/caches.md` already exists with different content
       `third_party/kbr-runtime/src/guide/controller-runtime.md` already exists with different content
       `third_party/kbr-runtime/src/guide/errors.md` already exists with different content
       `third_party/kbr-runtime/src/guide/finalizers.md` already exists with different content
       `third_party/kbr-runtime/src/guide/kube-rs.md` already exists with different content
       `third_party/kbr-runtime/src/guide/metrics.md` already exists with different content
       `third_party/kbr-runtime/src/guide/owned-objects.md` already exists with different content
       `third_party/kbr-runtime/src/guide/reconcile.md` already exists with different content
       `third_party/kbr-runtime/src/guide/replicas.md` already exists with different content
       `third_party/kbr-runtime/src/guide/status.md` already exists with different content
       `third_party/kbr-runtime/src/guide/testing.md` already exists with different content
       `third_party/kbr-runtime/src/guide/webhooks.md` already exists with different content
       `third_party/kbr-runtime/src/guide_links.md` already exists with different content
       `third_party/kbr-runtime/src/handle.rs` already exists with different content
       `third_party/kbr-runtime/src/handle/answer.rs` already exists with different content
       `third_party/kbr-runtime/src/handle/applied.rs` already exists with different content
       `third_party/kbr-runtime/src/handle/apply.rs` already exists with different content
       `third_party/kbr-runtime/src/handle/declared.rs` already exists with different content
       `third_party/kbr-runtime/src/handle/delete.rs` already exists with different content
       `third_party/kbr-runtime/src/handle/finalizer.rs` already exists with different content
       `third_party/kbr-runtime/src/handle/names.rs` already exists with different content
       `third_party/kbr-runtime/src/handle/patch.rs` already exists with different content
       `third_party/kbr-runtime/src/handle/status.rs` already exists with different content
       `third_party/kbr-runtime/src/handle/takeover.rs` already exists with different content
       `third_party/kbr-runtime/src/health.rs` already exists with different content
       `third_party/kbr-runtime/src/hold.rs` already exists with different content
       `third_party/kbr-runtime/src/http_server.rs` already exists with different content
       `third_party/kbr-runtime/src/http_server/metered.rs` already exists with different content
       `third_party/kbr-runtime/src/http_server/peer.rs` already exists with different content
       `third_party/kbr-runtime/src/internal.rs` already exists with different content
       `third_party/kbr-runtime/src/issuer.rs` already exists with different content
       `third_party/kbr-runtime/src/issuer/authority.rs` already exists with different content
       `third_party/kbr-runtime/src/key.rs` already exists with different content
       `third_party/kbr-runtime/src/lib.rs` already exists with different content
       `third_party/kbr-runtime/src/lock.rs` already exists with different content
       `third_party/kbr-runtime/src/logging.rs` already exists with different content
       `third_party/kbr-runtime/src/logging/log_limit.rs` already exists with different content
       `third_party/kbr-runtime/src/manager.rs` already exists with different content
       `third_party/kbr-runtime/src/manager/add_task.txt` already exists with different content
       `third_party/kbr-runtime/src/manager/faults.rs` already exists with different content
       `third_party/kbr-runtime/src/manager/lifecycle.rs` already exists with different content
       `third_party/kbr-runtime/src/manager/plan.rs` already exists with different content
       `third_party/kbr-runtime/src/metrics.rs` already exists with different content
       `third_party/kbr-runtime/src/metrics/controllers.rs` already exists with different content
       `third_party/kbr-runtime/src/metrics/native.rs` already exists with different content
       `third_party/kbr-runtime/src/metrics/process.rs` already exists with different content
       `third_party/kbr-runtime/src/metrics/requests.rs` already exists with different content
       `third_party/kbr-runtime/src/metrics/watches.rs` already exists with different content
       `third_party/kbr-runtime/src/metrics/webhooks.rs` already exists with different content
       `third_party/kbr-runtime/src/metrics_server.rs` already exists with different content
       `third_party/kbr-runtime/src/metrics_server/access.rs` already exists with different content
       `third_party/kbr-runtime/src/metrics_server/answers.rs` already exists with different content
       `third_party/kbr-runtime/src/namespaces.rs` already exists with different content
       `third_party/kbr-runtime/src/otlp.rs` already exists with different content
       `third_party/kbr-runtime/src/otlp/collector.rs` already exists with different content
       `third_party/kbr-runtime/src/owned_error.rs` already exists with different content
       `third_party/kbr-runtime/src/pause.rs` already exists with different content
       `third_party/kbr-runtime/src/plan.rs` already exists with different content
       `third_party/kbr-runtime/src/plan/report.rs` already exists with different content
       `third_party/kbr-runtime/src/plan/requests.rs` already exists with different content
       `third_party/kbr-runtime/src/plan/write.rs` already exists with different content
       `third_party/kbr-runtime/src/probes.rs` already exists with different content
       `third_party/kbr-runtime/src/problem.rs` already exists with different content
       `third_party/kbr-runtime/src/queue.rs` already exists with different content
       `third_party/kbr-runtime/src/random.rs` already exists with different content
       `third_party/kbr-runtime/src/reading.rs` already exists with different content
       `third_party/kbr-runtime/src/reading/place.rs` already exists with different content
       `third_party/kbr-runtime/src/reading/skeleton.rs` already exists with different content
       `third_party/kbr-runtime/src/reconciler.rs` already exists with different content
       `third_party/kbr-runtime/src/referenced.rs` already exists with different content
       `third_party/kbr-runtime/src/restless.rs` already exists with different content
       `third_party/kbr-runtime/src/retry.rs` already exists with different content
       `third_party/kbr-runtime/src/running.rs` already exists with different content
       `third_party/kbr-runtime/src/signals.rs` already exists with different content
       `third_party/kbr-runtime/src/target.rs` already exists with different content
       `third_party/kbr-runtime/src/thread.rs` already exists with different content
       `third_party/kbr-runtime/src/warnings.rs` already exists with different content
       `third_party/kbr-runtime/src/watch.rs` already exists with different content
       `third_party/kbr-runtime/src/watch/unreadable.rs` already exists with different content
       `third_party/kbr-runtime/src/webhook.rs` already exists with different content
       `third_party/kbr-runtime/src/webhook/admission.rs` already exists with different content
       `third_party/kbr-runtime/src/webhook/admission/mutating.rs` already exists with different content
       `third_party/kbr-runtime/src/webhook/admission/request.rs` already exists with different content
       `third_party/kbr-runtime/src/webhook/admission/status.rs` already exists with different content
       `third_party/kbr-runtime/src/webhook/admission/validating.rs` already exists with different content
       `third_party/kbr-runtime/src/webhook/admission_request.rs` already exists with different content
       `third_party/kbr-runtime/src/webhook/conversion.rs` already exists with different content
       `third_party/kbr-runtime/src/webhook/conversion/carry.rs` already exists with different content
       `third_party/kbr-runtime/src/webhook/conversion/carry/annotation.rs` already exists with different content
       `third_party/kbr-runtime/src/webhook/conversion/carry/object.rs` already exists with different content
       `third_party/kbr-runtime/src/webhook/conversion/carry/part.rs` already exists with different content
       `third_party/kbr-runtime/src/webhook/conversion/copy_fields.rs` already exists with different content
       `third_party/kbr-runtime/src/webhook/conversion/difference.rs` already exists with different content
       `third_party/kbr-runtime/src/webhook/conversion/mapping.rs` already exists with different content
       `third_party/kbr-runtime/src/webhook/conversion/measure.rs` already exists with different content
       `third_party/kbr-runtime/src/webhook/conversion/schema.rs` already exists with different content
       `third_party/kbr-runtime/src/webhook/conversion/schema/part.rs` already exists with different content
       `third_party/kbr-runtime/src/webhook/conversion/shallow.rs` already exists with different content
       `third_party/kbr-runtime/src/webhook/field.rs` already exists with different content
       `third_party/kbr-runtime/src/webhook/field/path.rs` already exists with different content
       `third_party/kbr-runtime/src/webhook/patch.rs` already exists with different content
       `third_party/kbr-runtime/src/webhook/review.rs` already exists with different content
       `third_party/kbr-runtime/src/webhook/server.rs` already exists with different content
       `third_party/kbr-runtime/src/webhook/server/http.rs` already exists with different content
       `third_party/kbr-runtime/src/webhook/server/weight.rs` already exists with different content
       `third_party/kbr-runtime/src/webhook/watchdog.rs` already exists with different content
       `third_party/kbr-runtime/src/workers.rs` already exists with different content
       `third_party/kbr-testing/.rustfmt.toml` already exists with different content
       `third_party/kbr-testing/Cargo.toml` already exists with different content
       `third_party/kbr-testing/LICENSE` already exists with different content
       `third_party/kbr-testing/README.md` already exists with different content
       `third_party/kbr-testing/SHA256SUMS` already exists with different content
       `third_party/kbr-testing/src/assets.rs` already exists with different content
       `third_party/kbr-testing/src/audit.rs` already exists with different content
       `third_party/kbr-testing/src/builder.rs` already exists with different content
       `third_party/kbr-testing/src/control_plane.rs` already exists with different content
       `third_party/kbr-testing/src/conversions.rs` already exists with different content
       `third_party/kbr-testing/src/crash.rs` already exists with different content
       `third_party/kbr-testing/src/crash/change.rs` already exists with different content
       `third_party/kbr-testing/src/crash/created.rs` already exists with different content
       `third_party/kbr-testing/src/crash/differs.rs` already exists with different content
       `third_party/kbr-testing/src/crash/kinds.rs` already exists with different content
       `third_party/kbr-testing/src/crash/life.rs` already exists with different content
       `third_party/kbr-testing/src/crash/moment.rs` already exists with different content
       `third_party/kbr-testing/src/crash/options.rs` already exists with different content
       `third_party/kbr-testing/src/crash/predecessor.rs` already exists with different content
       `third_party/kbr-testing/src/crash/proxy.rs` already exists with different content
       `third_party/kbr-testing/src/crash/run.rs` already exists with different content
       `third_party/kbr-testing/src/crash/stage.rs` already exists with different content
       `third_party/kbr-testing/src/crash/state.rs` already exists with different content
       `third_party/kbr-testing/src/crash/state/lines.rs` already exists with different content
       `third_party/kbr-testing/src/development.rs` already exists with different content
       `third_party/kbr-testing/src/development/apply.rs` already exists with different content
       `third_party/kbr-testing/src/development/objects.rs` already exists with different content
       `third_party/kbr-testing/src/development/pause.rs` already exists with different content
       `third_party/kbr-testing/src/development/rights.rs` already exists with different content
       `third_party/kbr-testing/src/development/writes.rs` already exists with different content
       `third_party/kbr-testing/src/error.rs` already exists with different content
       `third_party/kbr-testing/src/external.rs` already exists with different content
       `third_party/kbr-testing/src/failure.rs` already exists with different content
       `third_party/kbr-testing/src/fault_proxy.rs` already exists with different content
       `third_party/kbr-testing/src/fault_proxy/faults.rs` already exists with different content
       `third_party/kbr-testing/src/fault_proxy/passing.rs` already exists with different content
       `third_party/kbr-testing/src/folder.rs` already exists with different content
       `third_party/kbr-testing/src/grants.rs` already exists with different content
       `third_party/kbr-testing/src/http_proxy.rs` already exists with different content
       `third_party/kbr-testing/src/install.rs` already exists with different content
       `third_party/kbr-testing/src/keys.rs` already exists with different content
       `third_party/kbr-testing/src/kubelet.rs` already exists with different content
       `third_party/kbr-testing/src/kubelet/automatic.rs` already exists with different content
       `third_party/kbr-testing/src/kubelet/status.rs` already exists with different content
       `third_party/kbr-testing/src/least_privilege.rs` already exists with different content
       `third_party/kbr-testing/src/lib.rs` already exists with different content
       `third_party/kbr-testing/src/metrics.rs` already exists with different content
       `third_party/kbr-testing/src/mount.rs` already exists with different content
       `third_party/kbr-testing/src/namespaces.rs` already exists with different content
       `third_party/kbr-testing/src/operator.rs` already exists with different content
       `third_party/kbr-testing/src/policies.rs` already exists with different content
       `third_party/kbr-testing/src/port.rs` already exists with different content
       `third_party/kbr-testing/src/roles.rs` already exists with different content
       `third_party/kbr-testing/src/samples.rs` already exists with different content
       `third_party/kbr-testing/src/server.rs` already exists with different content
       `third_party/kbr-testing/src/serving.rs` already exists with different content
       `third_party/kbr-testing/src/suite.rs` already exists with different content
       `third_party/kbr-testing/src/test_target.rs` already exists with different content
       `third_party/kbr-testing/src/thread.rs` already exists with different content
       `third_party/kbr-testing/src/unreadable.rs` already exists with different content
       `third_party/kbr-testing/src/values.rs` already exists with different content
       `third_party/kbr-testing/src/values/numbers.rs` already exists with different content
       `third_party/kbr-testing/src/values/texts.rs` already exists with different content
       `third_party/kbr-testing/src/webhooks.rs` already exists with different content
 help: move it out of the way, and run the command again
"#]]);
}

#[test]
fn build_output_below_a_folder_of_the_project_is_not_read() {
    let sandbox = Sandbox::with_project();
    let marker = "// +kbr:rbac:no\n";
    sandbox.write("src/target/mod.rs", marker);
    assert!(
        sandbox
            .kbr("manifests")
            .failure()
            .stderr
            .contains("src/target/mod.rs:1:1")
    );
    sandbox.write("src/target/CACHEDIR.TAG", "");
    sandbox.kbr("manifests").success();
}

#[test]
fn init_keeps_what_a_fresh_repository_has_and_says_so() {
    let sandbox = Sandbox::new();
    for path in ["README.md", "LICENSE", ".gitignore"] {
        sandbox.write(path, "mine\n");
    }
    sandbox.write(".git/HEAD", "ref: refs/heads/main\n");
    sandbox.write("notes/todo.txt", "nothing\n");
    let run = sandbox
        .kbr("init --domain example.com --project-name sandbox")
        .success();
    for path in ["README.md", "LICENSE", ".gitignore"] {
        assert!(
            run.status().contains(&format!("Kept {path}")),
            "{}",
            run.stderr
        );
        assert_eq!(sandbox.read(path), "mine\n");
    }
    assert_eq!(sandbox.read("notes/todo.txt"), "nothing\n");
}

#[test]
fn create_api_over_other_files() {
    let sandbox = Sandbox::with_project();
    let (types, controller) = (
        "api/src/v1alpha1/foo_types.rs",
        "src/controller/foo_controller.rs",
    );
    sandbox.write(types, "// mine\n");
    let line = "create api --kind Foo";
    refused(&sandbox, line);
    sandbox.write(controller, "// mine\n");
    refused(&sandbox, line);
    let crdgen = sandbox.read("api/src/bin/crdgen.rs");
    sandbox.write("api/src/bin/crdgen.rs", "// mine\n");
    refused(&sandbox, line);
    refused(&sandbox, &format!("{line} --force"));
    sandbox.write("api/src/bin/crdgen.rs", &crdgen);
    sandbox.kbr(&format!("{line} --force")).success();
    told(str![[r#"
$ kbr create api --kind Foo
error: `api/src/v1alpha1/foo_types.rs` already exists with different content
 help: move it out of the way, or add `--force` to overwrite it

$ kbr create api --kind Foo
error: `api/src/v1alpha1/foo_types.rs` already exists with different content
       `src/controller/foo_controller.rs` already exists with different content
 help: move it out of the way, or add `--force` to overwrite it

$ kbr create api --kind Foo
error: `api/src/bin/crdgen.rs` would be generated, but the existing file was not written by kbr
       `api/src/v1alpha1/foo_types.rs` already exists with different content
       `src/controller/foo_controller.rs` already exists with different content
 help: move it out of the way, and run the command again

$ kbr create api --kind Foo --force
error: `api/src/bin/crdgen.rs` would be generated, but the existing file was not written by kbr
 help: move it out of the way, and run the command again
"#]]);
}

#[test]
fn files_that_only_the_first_kind_creates_can_be_overwritten_too() {
    let sandbox = Sandbox::with_project();
    sandbox.write("api/src/v1alpha1.rs", "// mine\n");
    sandbox.write("config/crd/kustomization.yaml", "# mine\n");
    let line = "create api --kind Foo";
    refused(&sandbox, line);
    sandbox.kbr(&format!("{line} --force")).success();
    assert_same(&with_foo().tree(), &sandbox.tree());
    told(str![[r#"
$ kbr create api --kind Foo
error: `api/src/v1alpha1.rs` already exists with different content
       `config/crd/kustomization.yaml` already exists with different content
 help: move it out of the way, or add `--force` to overwrite it
"#]]);
}

#[test]
fn an_edited_role_does_not_prevent_another_version() {
    let sandbox = with_foo();
    sandbox.write("config/rbac/foo_admin_role.yaml", "# mine\n");
    sandbox
        .kbr("create api --kind Foo --version v1 --controller=false")
        .success();
    assert_eq!(sandbox.read("config/rbac/foo_admin_role.yaml"), "# mine\n");
}

#[test]
fn manifests_over_a_role_that_is_not_ours() {
    let sandbox = Sandbox::with_project();
    sandbox.write("config/rbac/role.yaml", "kind: ClusterRole\n");
    for line in ["manifests", "manifests --check"] {
        refused(&sandbox, line);
    }
    told(str![[r#"
$ kbr manifests
error: `config/rbac/role.yaml` would be generated, but the existing file was not written by kbr
 help: move it out of the way, and run the command again

$ kbr manifests --check
error: `config/rbac/role.yaml` would be generated, but the existing file was not written by kbr
 help: move it out of the way, and run the command again
"#]]);
}

#[test]
fn something_else_where_a_file_or_a_folder_must_be() {
    let sandbox = Sandbox::new();
    let line = "init --domain example.com --project-name sandbox";
    sandbox.write("config", "a file\n");
    sandbox.write("Cargo.toml/file", "in a folder\n");
    fs::write(sandbox.path().join("README.md"), b"\xff\xfe").expect("a file");
    refused(&sandbox, line);
    told(str![[r#"
$ kbr init --domain example.com --project-name sandbox
error: `Cargo.toml` is a folder
       `README.md` is not a text file
       `config` is a file, but kbr needs a folder there
 help: move it out of the way, and run the command again
"#]]);
}

#[cfg(unix)]
#[test]
fn links_are_not_followed_out_of_the_project() {
    let outside = Sandbox::new();
    outside.write("file", "not yours\n");
    let link = |sandbox: &Sandbox, path: &str, target: &str| {
        let target = outside.path().join(target);
        std::os::unix::fs::symlink(target, sandbox.path().join(path)).expect("a link");
    };
    let sandbox = Sandbox::new();
    for (path, target) in [
        ("Makefile", "file"),
        ("api", ""),
        ("config", ""),
        ("README.md", "gone"),
    ] {
        link(&sandbox, path, target);
    }
    let init = "init --domain example.com --project-name sandbox";
    refused(&sandbox, init);
    let sandbox = Sandbox::with_project();
    fs::rename(sandbox.path().join("config"), outside.path().join("config")).expect("it moves");
    link(&sandbox, "config", "config");
    let before = outside.tree();
    refused(&sandbox, "create api --kind Foo");
    refused(&sandbox, "manifests");
    assert_same(&before, &outside.tree());
    told(str![[r#"
$ kbr init --domain example.com --project-name sandbox
error: `Makefile` is a symbolic link, which may lead out of the project
       `README.md` is a symbolic link, which may lead out of the project
       `api` is a symbolic link, which may lead out of the project
       `config` is a symbolic link, which may lead out of the project
 help: move it out of the way, and run the command again

$ kbr create api --kind Foo
error: `config` is a symbolic link, which may lead out of the project
 help: move it out of the way, and run the command again

$ kbr manifests
error: `config` is a symbolic link, which may lead out of the project
 help: move it out of the way, and run the command again
"#]]);
}

#[cfg(unix)]
#[test]
fn an_edited_file_that_is_a_link() {
    let sandbox = Sandbox::with_project();
    let lib = sandbox.path().join("src/lib.rs");
    fs::rename(&lib, sandbox.path().join("real.rs")).expect("it moves");
    std::os::unix::fs::symlink("../real.rs", &lib).expect("a link");
    refused(&sandbox, "create api --kind Foo");
    told(str![[r#"
$ kbr create api --kind Foo
error: `src/lib.rs` is a symbolic link, which may lead out of the project
 help: move it out of the way, and run the command again
"#]]);
}

#[test]
fn manifests_that_are_out_of_date() {
    let sandbox = Sandbox::with_project();
    sandbox.kbr("manifests --check").success();
    sandbox.module("a", "// +kbr:rbac:groups=a,resources=b,verbs=get\n");
    refused(&sandbox, "manifests --check");
    sandbox.kbr("manifests").success();
    sandbox.kbr("manifests --check").success();
    fs::remove_file(sandbox.path().join("config/rbac/role.yaml")).expect("the file is removed");
    refused(&sandbox, "manifests --check");
    told(str![[r#"
$ kbr manifests --check
error: 1 of the generated files is out of date: `config/rbac/role.yaml`
 help: type `kbr manifests`, and commit what it writes

$ kbr manifests --check
error: 1 of the generated files is out of date: `config/rbac/role.yaml`
 help: type `kbr manifests`, and commit what it writes
"#]]);
}

#[test]
fn a_missing_cargo() {
    let sandbox = with_foo();
    let before = sandbox.tree();
    let run: Run = Command::new(env!("CARGO_BIN_EXE_kbr"))
        .arg("manifests")
        .current_dir(sandbox.path())
        .env("PATH", "")
        .stdin(Stdio::null())
        .output()
        .expect("kbr runs")
        .into();
    let text = format!(
        "{COMPILING}error: could not start `cargo`: No such file or directory (os error 2)\n \
         help: install Rust from https://rustup.rs, and make sure that `cargo` is on PATH\n"
    );
    run.refused(1, text);
    assert_same(&before, &sandbox.tree());
}

/// Errors of the compiler are distinguished from a crash of the compiled program.
#[cfg(unix)]
#[test]
fn types_that_do_not_compile_and_a_crdgen_that_crashes() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = with_foo();
    let before = sandbox.tree();
    let bin = Sandbox::new();
    let path = format!("{}:/usr/bin:/bin", bin.path().display());
    for (cargo, text) in [
        (
            "exit 101",
            "error: `cargo run --bin crdgen` failed: see cargo's messages above\n \
             help: fix the errors above, and run the command again\n",
        ),
        (
            "kill -ABRT $$",
            "error: `cargo run --bin crdgen` was killed by a signal\n \
             help: if its stack overflowed, a type that derives `KubeSchema` contains itself\n",
        ),
    ] {
        bin.write("cargo", &format!("#!/bin/sh\n{cargo}\n"));
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(bin.path().join("cargo"), mode).expect("a mode");
        let run: Run = Command::new(env!("CARGO_BIN_EXE_kbr"))
            .arg("manifests")
            .current_dir(sandbox.path())
            .env("PATH", &path)
            .stdin(Stdio::null())
            .output()
            .expect("kbr runs")
            .into();
        run.refused(1, format!("{COMPILING}{text}"));
    }
    assert_same(&before, &sandbox.tree());
}

#[test]
fn everything_in_the_way_is_reported_at_once() {
    let sandbox = Sandbox::with_project();
    sandbox.write("src/controller.rs", "");
    sandbox.write("api/src/v1alpha1.rs", "mine\n");
    fs::remove_file(sandbox.path().join("src/lib.rs")).expect("the file is removed");
    refused(&sandbox, "create api --kind Foo");
    told(str![[r#"
$ kbr create api --kind Foo
error: `api/src/v1alpha1.rs` already exists with different content
       `src/controller.rs` has no line `// +kbr:scaffold:modules`, where `pub mod foo_controller;` belongs
       `src/lib.rs` does not exist, but `controller::foo_controller::register,` belongs in it
 help: move it out of the way, or add `--force` to overwrite it
 help: in `src/controller.rs`, put this line back where `pub mod foo_controller;` belongs: `// +kbr:scaffold:modules`
 help: restore the file from version control, and run the command again
"#]]);
}
