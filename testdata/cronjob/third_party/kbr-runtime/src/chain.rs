// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! An error and its causes in one line.

/// The message of `error` and of all its causes, without those that it already quotes.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        if !text.contains(&message) {
            text.push_str(": ");
            text.push_str(&message);
        }
        cause = error.source();
    }
    text
}
