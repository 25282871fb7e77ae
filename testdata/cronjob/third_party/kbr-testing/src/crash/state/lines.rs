// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The difference between two texts, line by line.

/// How many equal lines are shown before and after a difference.
const CONTEXT: usize = 2;

/// The lines that are only in `old`, with `-`, and those that are only in `new`, with `+`, with some lines around them.
/// Empty for equal texts.
pub(super) fn differences(old: &str, new: &str) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let marked = marked(&old, &new);
    let changed: Vec<_> = (0..marked.len())
        .filter(|index| marked[*index].0 != ' ')
        .collect();
    let is_near = |index: usize| {
        changed
            .iter()
            .any(|other| index.abs_diff(*other) <= CONTEXT)
    };
    let mut text = String::new();
    let mut is_shown = true;
    for (index, (mark, line)) in marked.iter().enumerate() {
        let was_shown = is_shown;
        is_shown = is_near(index);
        if is_shown {
            text += &format!("{mark} {line}\n");
        } else if was_shown && !changed.is_empty() {
            text += "  ...\n";
        }
    }
    text
}

/// All lines of both texts, in an order that keeps as many as possible as lines of both.
fn marked<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(char, &'a str)> {
    // How many lines the rests of both texts have in common at most.
    let mut common = vec![vec![0_usize; new.len() + 1]; old.len() + 1];
    for (row, left) in old.iter().enumerate().rev() {
        for (column, right) in new.iter().enumerate().rev() {
            common[row][column] = match left == right {
                true => common[row + 1][column + 1] + 1,
                false => common[row + 1][column].max(common[row][column + 1]),
            };
        }
    }
    let (mut row, mut column, mut marked) = (0, 0, Vec::new());
    loop {
        match (old.get(row), new.get(column)) {
            (Some(left), Some(right)) if left == right => {
                marked.push((' ', *left));
                (row, column) = (row + 1, column + 1);
            }
            (Some(left), right)
                if right.is_none() || common[row + 1][column] >= common[row][column + 1] =>
            {
                marked.push(('-', *left));
                row += 1;
            }
            (_, Some(right)) => {
                marked.push(('+', *right));
                column += 1;
            }
            (_, None) => return marked,
        }
    }
}
