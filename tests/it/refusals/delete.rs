//! What cannot be deleted, since it does not exist or is still needed.

use snapbox::str;

use super::{misused, refused, told, with_foo};
use crate::support::Sandbox;

/// A project with `Foo` in two versions, of which the first is stored and the hub, and webhooks.
fn converted() -> Sandbox {
    let sandbox = with_foo();
    for line in [
        "create api --kind Foo --version v1 --controller=false",
        "create webhook --kind Foo --conversion --spoke v1 --programmatic-validation",
        "create webhook --group core --version v1 --kind Pod --defaulting",
    ] {
        sandbox.kbr(line).success();
    }
    sandbox
}

#[test]
fn a_missing_type() {
    refused(&Sandbox::with_project(), "delete api --kind Foo");
    refused(
        &converted(),
        "delete controller --group batch --kind Foo --version v2",
    );
    told(str![[r#"
$ kbr delete api --kind Foo
error: `example.com/v1alpha1 Foo` is not in PROJECT
 help: PROJECT has no types: there is nothing to delete

$ kbr delete controller --group batch --kind Foo --version v2
error: `batch.example.com/v2 Foo` is not in PROJECT
 help: PROJECT has `--version v1 --kind Foo`, `--version v1alpha1 --kind Foo`, `--group core --version v1 --kind Pod`
"#]]);
}

#[test]
fn a_version_that_is_still_needed() {
    let sandbox = converted();
    refused(&sandbox, "delete api --kind Foo");
    refused(&sandbox, "delete api --kind Foo --version v1");
    refused(&sandbox, "delete api --group core --version v1 --kind Pod");
    for line in [
        "delete webhook --kind Foo --conversion --spoke v1",
        "delete api --kind Foo --version v1",
        "delete webhook --kind Foo --programmatic-validation",
        "delete api --kind Foo",
    ] {
        sandbox.kbr(line).success();
    }
    told(str![[r#"
$ kbr delete api --kind Foo
error: `example.com/v1alpha1 Foo` is the stored version, and the kind has other versions
       `example.com/v1alpha1 Foo` has webhooks
 help: in PROJECT, move `storage: true` from `v1alpha1` to another version, such as `v1`, and type `kbr manifests`, which says how the objects are migrated; after that, run the command again
 help: type `kbr delete webhook --version v1alpha1 --kind Foo --programmatic-validation --conversion` first

$ kbr delete api --kind Foo --version v1
error: `example.com/v1 Foo` is a spoke of `v1alpha1`
 help: type `kbr delete webhook --version v1alpha1 --kind Foo --conversion --spoke v1` first

$ kbr delete api --group core --version v1 --kind Pod
error: `core/v1 Pod` is not defined in this project: there is no type to delete
 help: type `kbr delete webhook --group core --version v1 --kind Pod --defaulting`
"#]]);
}

#[test]
fn missing_webhooks() {
    let sandbox = converted();
    let webhook = "delete webhook --kind Foo";
    refused(&sandbox, webhook);
    refused(&sandbox, &format!("{webhook} --version v1"));
    refused(&sandbox, &format!("{webhook} --defaulting"));
    refused(&sandbox, &format!("{webhook} --version v1 --conversion"));
    refused(&sandbox, &format!("{webhook} --conversion --spoke v2"));
    misused(&sandbox, &format!("{webhook} --spoke v1"));
    told(str![[r#"
$ kbr delete webhook --kind Foo
error: nothing to do: no webhook is requested
 help: name what to delete; the type has `--programmatic-validation --conversion`

$ kbr delete webhook --kind Foo --version v1
error: nothing to do: no webhook is requested
 help: the type has no webhooks: there is nothing to delete

$ kbr delete webhook --kind Foo --defaulting
error: `example.com/v1alpha1 Foo` has no defaulting webhook
 help: omit `--defaulting`

$ kbr delete webhook --kind Foo --version v1 --conversion
error: `example.com/v1 Foo` is not the hub of a conversion
 help: type `--version v1alpha1`, which is the hub

$ kbr delete webhook --kind Foo --conversion --spoke v2
error: `v2` is not a spoke of `example.com/v1alpha1 Foo`
 help: name some of these after `--spoke`: v1

$ kbr delete webhook --kind Foo --spoke v1
error: the following required arguments were not provided:
  --conversion

Usage: kbr delete webhook --kind <KIND> --conversion --spoke <VERSION>
"#]]);
}

#[test]
fn a_missing_controller() {
    let sandbox = converted();
    let controller = "delete controller --kind Foo";
    refused(&sandbox, &format!("{controller} --version v1"));
    refused(&sandbox, &format!("{controller} --controller-name other"));
    sandbox.kbr(controller).success();
    refused(&sandbox, controller);
    told(str![[r#"
$ kbr delete controller --kind Foo --version v1
error: `example.com/v1 Foo` has no controller named after the kind
 help: type `kbr delete controller --version v1alpha1 --kind Foo`

$ kbr delete controller --kind Foo --controller-name other
error: `example.com/v1alpha1 Foo` has no controller called `other`
 help: type `kbr delete controller --version v1alpha1 --kind Foo`

$ kbr delete controller --kind Foo
error: `example.com/v1alpha1 Foo` has no controller named after the kind
 help: the kind has no controller: there is nothing to delete
"#]]);
}

#[cfg(unix)]
#[test]
fn a_file_that_is_a_link() {
    let sandbox = with_foo();
    let path = sandbox.path().join("src/controller/foo_controller.rs");
    let elsewhere = sandbox.path().join("elsewhere");
    std::fs::rename(&path, &elsewhere).expect("a file");
    std::os::unix::fs::symlink(&elsewhere, &path).expect("a link");
    refused(&sandbox, "delete controller --kind Foo");
    told(str![[r#"
$ kbr delete controller --kind Foo
error: `src/controller/foo_controller.rs` is a symbolic link, which may lead out of the project
 help: move it out of the way, and run the command again
"#]]);
}
