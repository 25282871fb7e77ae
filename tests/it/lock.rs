//! The embedded lock agrees with the emitted manifests, under every project name.

use crate::support::{Sandbox, cargo, compiling};

#[test]
fn cargo_accepts_the_lock_and_does_not_change_it() {
    let _one_at_a_time = compiling();
    for name in ["aaa", "kbr-placeholder2", "lock-of-an-operator", "zzz"] {
        let sandbox = Sandbox::new();
        sandbox
            .kbr(&format!("init --domain example.com --project-name {name}"))
            .success();
        let before = sandbox.read("Cargo.lock");
        for line in [
            "tree --locked --quiet --workspace --depth 0",
            "update --workspace --quiet",
        ] {
            assert!(
                cargo(sandbox.path(), line),
                "the lock of `{name}` does not match its manifests; `tests/tools/refresh-lock` regenerates it"
            );
        }
        assert_eq!(
            sandbox.read("Cargo.lock"),
            before,
            "cargo rewrote the lock of `{name}`"
        );
    }
}
