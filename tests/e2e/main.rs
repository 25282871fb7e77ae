//! The golden projects as they are used: release images, deployed with `make deploy` to a real cluster.
//!
//! `cargo test --test e2e` starts the cluster of `tests/tools/cluster`, runs all tests one after the other, and stops it;
//! if it already runs, it is used, and goes on. `-- NAME…` runs those tests whose name contains one of the words, and
//! `-- --list` prints the names. `-- --build NAME…` only compiles these goldens, as the tests do. Needs what that
//! cluster needs: Linux, root and Go; the first run takes about an hour.
#![allow(clippy::print_stdout, reason = "a test program without libtest")]

mod bundles;
mod charts;
mod cluster;
mod deployed;
mod documents;
mod examples;
mod faults;
mod gitops;
#[path = "../support/go_tool.rs"]
mod go_tool;
#[path = "../support/helm.rs"]
mod helm;
mod limits;
mod observed;
mod policies;
mod reviews;
mod versions;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use cluster::Cluster;

/// A test: its name, and what it does.
type Test = (&'static str, fn(&Cluster));

const TESTS: [Test; 24] = [
    ("example_of_cronjob", |cluster| {
        examples::run(cluster, "cronjob")
    }),
    ("example_of_foo", |cluster| examples::run(cluster, "foo")),
    ("example_of_guestbook", |cluster| {
        examples::run(cluster, "guestbook")
    }),
    ("example_of_memcached", |cluster| {
        examples::run(cluster, "memcached")
    }),
    ("example_of_multiversion", |cluster| {
        examples::run(cluster, "multiversion")
    }),
    ("example_of_myjob", |cluster| {
        examples::run(cluster, "myjob")
    }),
    ("make_test_e2e", examples::make_test_e2e),
    ("no_review_fails_during_a_rollout", faults::rollout),
    ("no_review_fails_while_nodes_are_drained", faults::drains),
    (
        "another_replica_leads_after_a_node_is_lost",
        faults::node_is_lost,
    ),
    (
        "another_replica_leads_after_a_node_is_cut_off",
        faults::node_is_cut_off,
    ),
    ("any_user_id_will_do", limits::any_user_id),
    ("no_review_fails_at_the_memory_limit", limits::memory),
    ("refused_pods_are_reported", limits::refused_pods),
    ("a_chart_is_installed_and_changed", charts::helm),
    ("a_bundle_is_installed_as_by_olm", bundles::olm),
    ("flux_deploys_upgrades_and_removes", gitops::by_flux),
    ("argo_cd_deploys_upgrades_and_removes", gitops::by_argo),
    ("metrics_are_scraped", observed::metrics),
    ("policies_apply_without_managers", policies::policies),
    (
        "no_review_fails_while_certificates_are_renewed",
        versions::certificates,
    ),
    (
        "no_review_fails_while_managers_renew_their_own_certificates",
        versions::own_certificates,
    ),
    ("certificates_are_switched", versions::switched_certificates),
    ("no_review_fails_during_an_update", versions::update),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--list") {
        TESTS.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    if let [first, goldens @ ..] = &arguments[..]
        && first == "--build"
    {
        for name in goldens {
            deployed::compile_golden(name);
        }
        return ExitCode::SUCCESS;
    }
    let words: Vec<&String> = arguments
        .iter()
        .filter(|word| !word.starts_with('-'))
        .collect();
    let is_asked = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(*word));
    let tests: Vec<&Test> = TESTS.iter().filter(|(name, _)| is_asked(name)).collect();
    if tests.is_empty() {
        println!("error: no test has such a name: {words:?}; `-- --list` prints the names");
        return ExitCode::FAILURE;
    }
    for (program, package) in [
        ("/usr/bin/memcached", "memcached"),
        ("/bin/busybox", "busybox"),
        ("/usr/bin/curl", "curl"),
        ("/usr/bin/openssl", "openssl"),
    ] {
        if !Path::new(program).exists() {
            println!(
                "error: no {program}, which the tests put into images: apt-get install {package}"
            );
            return ExitCode::FAILURE;
        }
    }
    let has_prometheus = tests.iter().any(|(name, _)| name.contains("metrics"));
    let mut cluster = Cluster::up(has_prometheus);
    let mut failed = Vec::new();
    for (name, test) in tests {
        println!("test {name}");
        let begin = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| test(&cluster)));
        let (word, seconds) = (
            if outcome.is_ok() { "ok" } else { "FAILED" },
            begin.elapsed().as_secs(),
        );
        println!("test {name} ... {word} ({seconds} s)\n");
        if outcome.is_err() {
            cluster.show();
            failed.push(*name);
            cluster = cluster.anew(has_prometheus);
        }
    }
    if failed.is_empty() {
        return ExitCode::SUCCESS;
    }
    println!("failed: {}", failed.join(" "));
    ExitCode::FAILURE
}
