//! Lines of `kbr create`.

use super::{BOOLEANS, GROUPS, KINDS, Line, VERSIONS};
use crate::fuzz::random::Random;

/// A line of `kbr create api`.
pub(super) fn api(random: &mut Random) -> Line {
    let mut line = Line::of("create api");
    line.option(random, 1, "--kind", KINDS);
    line.option(random, 4, "--group", GROUPS);
    line.option(random, 2, "--version", VERSIONS);
    line.option(random, 8, "--group-module", "foo·crew_a·type·A");
    line.option(random, 5, "--plural", "foos·bars·sheep·redises·on");
    for option in ["--resource", "--controller", "--namespaced"] {
        line.option(random, 4, option, BOOLEANS);
    }
    line.flag(random, 3, "--force");
    external(random, &mut line);
    image(random, &mut line);
    line
}

/// A type that runs an image, in one of four cases.
fn image(random: &mut Random, line: &mut Line) {
    if !random.one_in(4) {
        return;
    }
    line.option(random, 1, "--image", "a·example.com/a:1·A·");
    line.option(random, 2, "--image-port", "80·0");
    line.option(random, 3, "--image-command", "a,-b=\"c\"·{{a}}·,");
    line.option(random, 3, "--run-as-user", "1001·0");
    line.option(random, 6, "--controller-name", "other·foo");
}

/// A type of another operator, in one of eight cases.
fn external(random: &mut Random, line: &mut Line) {
    if !random.one_in(8) {
        return;
    }
    let path = "cert_manager::v1::Certificate·a::B";
    line.option(random, 1, "--group", "cert-manager·cert-manager.io");
    line.option(random, 1, "--external-api-path", path);
    line.option(random, 1, "--external-api-crd", "crds.yaml·PROJECT·none");
    line.option(random, 2, "--external-api-domain", "io·example.com");
    line.option(random, 4, "--external-api-module", "a@1·a");
}

/// A line of `kbr create policy`.
pub(super) fn policy(random: &mut Random) -> Line {
    let mut line = Line::of("create policy");
    line.option(random, 1, "--kind", "Foo·Foo·Redis·Policy·Pod·Namespace");
    line.option(random, 2, "--group", GROUPS);
    line.option(random, 2, "--version", VERSIONS);
    line.flag(random, 2, "--mutating");
    line.flag(random, 2, "--validating");
    line.flag(random, 3, "--force");
    external(random, &mut line);
    line
}

/// A line of `kbr create webhook`.
pub(super) fn webhook(random: &mut Random) -> Line {
    let mut line = Line::of("create webhook");
    line.option(random, 1, "--kind", "Foo·Foo·Redis·Policy·Pod·Deployment");
    line.option(random, 2, "--group", GROUPS);
    line.option(random, 2, "--version", VERSIONS);
    line.flag(random, 2, "--defaulting");
    line.flag(random, 2, "--programmatic-validation");
    line.flag(random, 3, "--conversion");
    line.option(random, 3, "--spoke", "v1·v1alpha1·v1,v2·v2beta3");
    line.option(random, 6, "--defaulting-path", "/a·/mutate-x·/a/b.c");
    line.option(random, 6, "--validation-path", "/a·/validate-x");
    line.flag(random, 3, "--force");
    external(random, &mut line);
    line
}
