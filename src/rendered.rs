//! Which files are as kbr rendered them, and which their owner has edited.
//!
//! PROJECT records a hash of each file as it was rendered. What kbr and cargo add to a file afterwards is no
//! edit: lines above scaffold markers, and the crates of other operators' types. Neither are the line ends of
//! Windows, with which git may check a file out. Pure.

use std::borrow::Cow;
use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use crate::cargo_toml::Manifest;
use crate::layout;
use crate::lock;
use crate::marker::ScaffoldMarker;
use crate::project::Project;

/// The SHA-256 of a text, in hexadecimal.
pub(crate) fn hash(text: &str) -> String {
    format!("{:x}", Sha256::digest(text))
}

/// The text as git stores it, with the line ends of Unix.
pub(crate) fn normalized(text: &str) -> Cow<'_, str> {
    // A single byte is found much faster, and most texts have none.
    if text.contains('\r') && text.contains("\r\n") {
        text.replace("\r\n", "\n").into()
    } else {
        text.into()
    }
}

/// What kbr knows about the files that it has rendered for a project.
#[derive(Debug, Default)]
pub(crate) struct Rendered {
    /// The hashes in PROJECT.
    recorded: BTreeMap<String, String>,
    /// The lines of the scaffold above its markers, each with its file.
    lines: Vec<(String, ScaffoldMarker, String)>,
    /// The crates that cargo has added to the dependencies.
    crates: Vec<String>,
}

impl Rendered {
    pub(crate) fn new(
        project: &Project,
        lines: impl IntoIterator<Item = (String, ScaffoldMarker, String)>,
    ) -> Self {
        Self {
            recorded: project.files.clone(),
            lines: lines.into_iter().collect(),
            crates: project.crates().map(|it| it.name().to_owned()).collect(),
        }
    }

    /// Whether the file is as it was rendered.
    pub(crate) fn is_unedited(&self, path: &str, text: &str) -> bool {
        // There is no way to take the packages of other crates out of a lock file.
        let has_packages = path == lock::PATH && !self.crates.is_empty();
        !has_packages && self.recorded.get(path) == Some(&self.hash(path, text))
    }

    /// The hash that PROJECT records for a file with that text.
    pub(crate) fn hash(&self, path: &str, text: &str) -> String {
        hash(&self.without_additions(path, text))
    }

    /// The text without what kbr and cargo have added to the file; borrowed if they have added nothing.
    pub(crate) fn without_additions<'a>(&self, path: &str, text: &'a str) -> Cow<'a, str> {
        let normal = normalized(text);
        let without_lines = self.lines(path).fold(normal, |text, (marker, line)| {
            match marker.remove(&text, line) {
                Some(without) => without.into(),
                None => text,
            }
        });
        if let Some(mut manifest) = self.manifest(path, &without_lines)
            && manifest.remove(&self.crates)
        {
            return manifest.to_string().into();
        }
        without_lines
    }

    /// `new`, which has just been rendered, with what kbr and cargo have added to the file: the lines and crates
    /// that `text` has, and every line above a marker that `text` does not have.
    pub(crate) fn with_additions(&self, path: &str, new: &str, text: &str) -> String {
        let mut with_lines = new.to_owned();
        for (marker, line) in self.lines(path) {
            if !marker.is_in(text) || marker.remove(text, line).is_some() {
                let inserted = marker.insert(path, &with_lines, line).ok().flatten();
                with_lines = inserted.unwrap_or(with_lines);
            }
        }
        if let Some(mut manifest) = self.manifest(path, &with_lines)
            && let Some(old) = self.manifest(path, text)
            && manifest.add(&self.crates, &old)
        {
            return manifest.to_string();
        }
        with_lines
    }

    /// The lines of the scaffold in a file.
    pub(crate) fn lines(&self, path: &str) -> impl Iterator<Item = (ScaffoldMarker, &str)> {
        let lines = self.lines.iter().filter(move |(of, ..)| of == path);
        lines.map(|(_, marker, line)| (*marker, line.as_str()))
    }

    /// The manifest to which cargo adds crates.
    fn manifest(&self, path: &str, text: &str) -> Option<Manifest> {
        let is_it = path == layout::MANIFEST && !self.crates.is_empty();
        is_it.then(|| text.parse().ok()).flatten()
    }
}
