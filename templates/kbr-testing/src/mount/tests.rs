// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::super::folder::Folder;
use super::*;

#[test]
fn the_files_change_and_nothing_old_is_left() {
    let folder = Folder::create().unwrap();
    let mount = folder.path().join("mount");
    for text in ["first", "second", "third"] {
        write(&mount, &[("a", text.to_owned()), ("b", text.to_owned())]).unwrap();

        for name in ["a", "b"] {
            assert_eq!(fs::read_to_string(mount.join(name)).unwrap(), text);
        }
        // Two links, the link `..data`, and the folder that it points to.
        assert_eq!(fs::read_dir(&mount).unwrap().count(), 4);
    }
}
