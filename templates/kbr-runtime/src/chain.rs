// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The causes of an error, and their messages in one line.

use std::error::Error;
use std::iter::successors;

/// `error` and its causes, down to the first.
pub(crate) fn causes<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    successors(Some(error), |&error| error.source())
}

/// The messages of `error` and of all its causes, without those that are already quoted. For a response of
/// the API server it is the server's message, and not all fields of its status.
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = String::new();
    for error in causes(error) {
        let message = error.to_string();
        match error.downcast_ref() {
            Some(kube::Error::Api(status)) if !status.message.is_empty() => {
                text = text.replace(&message, &status.message);
                append(&mut text, &status.message);
                return text;
            }
            _ => append(&mut text, &message),
        }
    }
    text
}

fn append(text: &mut String, message: &str) {
    if !text.contains(message) {
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(message);
    }
}

#[cfg(test)]
mod tests;
