// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
use std::time::SystemTime;

#[test]
fn a_folder_in_use_stays_and_one_without_a_process_is_removed_after_a_while() {
    let old = SystemTime::now() - 2 * KEPT;
    let age = |folder: &Folder| folder._lock.set_modified(old).unwrap();
    let used = Folder::create().unwrap();
    age(&used);
    let recent = Folder::create().unwrap().path().to_owned();
    let gone = Folder::create().unwrap();
    age(&gone);
    let left = gone.path().to_owned();
    drop(gone);

    let new = Folder::create().unwrap();

    assert!(used.path().exists());
    assert!(new.path().exists());
    assert!(recent.exists());
    assert!(!left.exists());
}

/// Whose logs are kept for a while.
#[test]
fn a_folder_of_an_earlier_process_with_the_same_id_is_left_alone() {
    let first = Folder::create().unwrap();
    let (all, name) = (
        first.path().parent().unwrap(),
        first.path().file_name().unwrap(),
    );
    let number: usize = name
        .to_str()
        .unwrap()
        .rsplit('-')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    for next in 1..5 {
        let taken = all.join(format!("{}-{}", std::process::id(), number + next));
        let _ = fs::create_dir(taken);
    }
    let new = Folder::create().unwrap();
    assert!(new.path().join(LOCK).exists());
}
