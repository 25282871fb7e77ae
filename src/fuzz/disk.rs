//! The real disk: a command that is refused changes no byte, and none leaves temporary files.
//!
//! kbr runs in this process, so that a panic fails the case; paths that leave the sandbox are never
//! tried, nor commands that download or compile.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path};

use tempfile::TempDir;

use super::folder::folder;
use super::fuzz;
use super::lines::{PROJECTS, line};
use super::random::Random;
use crate::cli::{Cli, Command, Known, Mode, Output};
use crate::commands;
use crate::project::{PROJECT_FILE, Project};
use crate::report::Report;

/// Every file and folder below a folder.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        found.insert(format!("{}/", folder.display()), Vec::new());
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.display().to_string();
            match fs::read_link(&path) {
                Ok(target) => drop(found.insert(name, target.display().to_string().into())),
                Err(_) if path.is_dir() => folders.push(path),
                Err(_) => drop(found.insert(name, fs::read(&path).expect("a file"))),
            }
        }
    }
    found
}

/// A folder with a project that may contain something odd, or an empty one.
fn sandbox(random: &mut Random) -> TempDir {
    let folder = folder();
    if random.one_in(4) {
        return folder;
    }
    let project = &PROJECTS[random.below(PROJECTS.len())].files;
    let odd = random.one_in(2).then(|| random.below(project.len()));
    for (at, (path, text)) in project.iter().enumerate() {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        if odd == Some(at) {
            put_odd(random, &path, text);
        } else {
            fs::write(path, text).expect("a file");
        }
    }
    folder
}

/// Puts something odd in place of a file.
fn put_odd(random: &mut Random, path: &Path, text: &str) {
    match random.below(6) {
        0 => {}
        1 => fs::create_dir(path).expect("a folder"),
        2 => fs::write(path, b"\xff\xfe").expect("a file"),
        #[cfg(unix)]
        3 => std::os::unix::fs::symlink("/etc/hostname", path).expect("a link"),
        _ => fs::write(path, random.mutate(text, &["\n", "mod a;\n"])).expect("a file"),
    }
}

/// Whether the command stays in the sandbox, and starts no other program.
fn is_harmless(cli: &Cli, root: &Path) -> bool {
    let is_below = |dir: &Path| {
        dir.components()
            .all(|part| matches!(part, Component::Normal(_)))
    };
    match &cli.command {
        Command::Init(args) => args.dir.as_deref().is_none_or(is_below),
        Command::Create(_) | Command::Delete(_) | Command::Chart(_) | Command::Bundle(_) => true,
        Command::Manifests(_) | Command::Docs(_) => {
            let text = fs::read_to_string(root.join(PROJECT_FILE)).unwrap_or_default();
            Project::parse(&text).is_ok_and(|project| project.apis().next().is_none())
        }
        // What they read is outside of the sandbox.
        Command::Edit(_)
        | Command::Rename(_)
        | Command::Import(_)
        | Command::Update(_)
        | Command::Dev(_)
        | Command::Envtest(_)
        | Command::Completion { .. }
        | Command::Man { .. }
        | Command::Help { .. }
        | Command::Version => false,
    }
}

#[test]
fn what_is_refused_changes_no_byte() {
    fuzz("what_is_refused", 60, 1000, |random| {
        let folder = sandbox(random);
        let mut cli = loop {
            let line = line(random);
            random.input(&line);
            match Cli::of(&line, &Known::default()) {
                Ok(cli) if is_harmless(&cli, folder.path()) => break cli,
                _ => {}
            }
        };
        cli.directory = Some(folder.path().to_owned());
        cli.output = Output::Json;
        let mode = cli.mode();
        let before = files(folder.path());
        let report = Report::new(&cli);
        let result = commands::run(cli, &report);
        let after = files(folder.path());
        if let Err(error) = &result {
            assert!(!error.to_string().is_empty());
        }
        let is_written = result.is_ok() && mode == Mode::Apply;
        assert!(is_written || before == after, "{result:?}");
        assert!(
            !after
                .keys()
                .any(|path| path.contains(crate::tree::TEMPORARY))
        );
        result.is_ok()
    });
}
