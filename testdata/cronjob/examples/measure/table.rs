// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! Tables of the figures of several binaries.

use std::fmt::Display;

use crate::cluster::Answers;

/// Prints a line for each binary, and then how each but the first compares with the first.
pub fn print<'a, const N: usize>(
    columns: [&str; N],
    rows: impl Iterator<Item = (impl Display, &'a [f64; N])> + Clone,
) {
    let columns = columns.map(|column| format!("{column:>11}"));
    println!("{}  binary", columns.concat());
    for (name, values) in rows.clone() {
        let cells = values.map(|value| format!("{value:>11.2}"));
        println!("{}  {name}", cells.concat());
    }
    let first = rows.clone().next();
    for (name, values) in rows.skip(1) {
        let pairs = first
            .iter()
            .flat_map(|(_, first)| values.iter().zip(*first));
        let cells = pairs.map(|(value, first)| format!("{:>10.2}x", value / first));
        println!("{}  {name}", cells.collect::<String>());
    }
}

/// Prints how often the API server gave each response for one of `count` objects.
pub fn print_answers(of: &str, answers: &Answers, count: u32) {
    println!("\nResponses of the API server for {of}:");
    for (what, number) in answers {
        println!("{:>11.3}  {what}", number / f64::from(count));
    }
}
