//! Lines of `kbr rename`.

use super::{GROUPS, KINDS, Line, VERSIONS};
use crate::fuzz::random::Random;

/// A line that renames something.
pub(super) fn any(random: &mut Random) -> Line {
    match random.below(4) {
        0 => rename_version(random),
        1 => rename_group(random),
        _ => rename_kind(random),
    }
}

fn rename_version(random: &mut Random) -> Line {
    let mut line = Line::of("rename version");
    line.option(random, 1, "--version", VERSIONS);
    line.option(random, 1, "--to", VERSIONS);
    line.option(random, 3, "--group", GROUPS);
    line.option(random, 2, "--kind", "Foo·Foo·Redis·Policy");
    line
}

fn rename_group(random: &mut Random) -> Line {
    let mut line = Line::of("rename group");
    line.option(random, 3, "--group", GROUPS);
    line.option(random, 1, "--to", GROUPS);
    line
}

fn rename_kind(random: &mut Random) -> Line {
    let mut line = Line::of("rename kind");
    line.option(random, 1, "--kind", "Foo·Foo·Redis·Policy");
    line.option(random, 1, "--to", KINDS);
    line.option(random, 3, "--group", GROUPS);
    line.option(random, 5, "--plural", "foos·bars·redises");
    line
}
