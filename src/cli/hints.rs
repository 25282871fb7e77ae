//! Hints for words of other tools: flags that only kubebuilder has, and commands that kbr calls otherwise.

use std::ffi::OsString;

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::error::either;

/// In each line: a flag, and what to type instead.
const FLAGS: &str = "\
    --fetch-deps: `cargo build` fetches what is missing: omit the flag\n\
    --license-file: type `--owner OWNER` to name the copyright holder, or `--license none` for no header\n\
    --make: kbr runs nothing afterwards: omit the flag, and type `kbr manifests` when the types are written\n\
    --plugins: kbr has no plugins: omit the flag\n\
    --plural: only `kbr create api` and `kbr rename kind` take it; elsewhere the plural comes from PROJECT\n\
    --programmatic-validation: type `--validating` for a policy; `--programmatic-validation` is for a webhook\n\
    --project-version: PROJECT has only one version: omit the flag\n\
    --skip-go-version-check: a project has no Go code: omit the flag\n\
    --ssa: kube supports server-side apply for every type: omit the flag\n\
    --validating: type `--programmatic-validation` for a webhook; `--validating` is for a policy\n\
    --validation: type `--programmatic-validation` for a webhook, or `--validating` for a policy\n\
";

/// Words of kubebuilder, operator-sdk, cargo, helm and kubectl, each with what to type instead, one or more commands
/// separated by `|`. A word that stands after one of kbr's own is a command of that one.
const COMMANDS: [(&str, &str); 24] = [
    ("add new-api api kind", "kbr create api --kind KIND"),
    ("alpha upgrade", "kbr update"),
    ("build", "cargo build --locked|make docker-build"),
    ("controller", "kbr create api --kind KIND --resource=false"),
    (
        "controller-gen crd crds codegen gen generate rbac yaml",
        "kbr manifests",
    ),
    ("deploy apply", "make deploy"),
    ("doc", "kbr docs"),
    ("explain guide topics tutorial", "kbr help topics"),
    ("fmt format", "make fmt"),
    ("helm package", "kbr chart"),
    ("install", "make install"),
    ("lint clippy check", "make lint"),
    ("migrate", "kbr import project GO_DIR DIR"),
    ("mv move", "kbr rename"),
    ("new operator project scaffold", "kbr init --domain DOMAIN"),
    ("olm", "kbr bundle"),
    ("policy", "kbr create policy --kind KIND"),
    ("remove rm del", "kbr delete"),
    ("run serve start watch", "kbr dev"),
    ("setup-envtest", "kbr envtest use"),
    ("test", "make test"),
    ("undeploy", "make undeploy"),
    ("uninstall", "make uninstall"),
    ("webhook", "kbr create webhook --kind KIND"),
];

/// How similar a word must be to a command for that command to be suggested; 1 is equal.
const SIMILAR: f64 = 0.85;

/// What to type in place of a command that does not exist: for a word of another tool, or for one that was misspelt.
pub(super) fn command(parent: &clap::Command, word: &str) -> Option<String> {
    let name = parent.get_name();
    let is_kbr = name == "kbr";
    let typed = word.to_ascii_lowercase();
    let mut known = COMMANDS.iter();
    let other = known.find(|(words, line)| {
        let is_inside = line.starts_with(&format!("kbr {name} "));
        (is_kbr || is_inside) && words.split(' ').any(|it| it == typed)
    });
    if let Some((_, lines)) = other {
        return Some(either(&lines.split('|').collect::<Vec<_>>()));
    }
    let commands: Vec<&str> = parent
        .get_subcommands()
        .map(clap::Command::get_name)
        .collect();
    let nearest = most_similar(&typed, commands.iter().copied(), 1);
    let lines = |names: &[&str]| {
        either(
            &names
                .iter()
                .map(|it| format!("kbr {name} {it}"))
                .collect::<Vec<_>>(),
        )
    };
    match (nearest.first(), is_kbr) {
        (Some(nearest), true) => Some(format!("`kbr {nearest}`")),
        (Some(nearest), false) => Some(lines(&[nearest])),
        (None, true) => None,
        (None, false) => Some(lines(&commands)),
    }
}

/// The names that are similar to a word, the most similar first.
pub(super) fn most_similar<'a>(
    word: &str,
    names: impl Iterator<Item = &'a str>,
    count: usize,
) -> Vec<&'a str> {
    let similar = names.map(|name| (strsim::jaro_winkler(word, name), name));
    let mut near: Vec<_> = similar.filter(|(it, _)| *it > SIMILAR).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    near.into_iter().map(|(_, name)| name).take(count).collect()
}

/// Replaces clap's own suggestion in the usage error with our hint, if there is one.
pub(super) fn with_hint(mut error: Error, kbr: &clap::Command, args: &[OsString]) -> Error {
    let hint = match error.kind() {
        ErrorKind::UnknownArgument => flag(&error),
        ErrorKind::InvalidSubcommand => {
            let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand)
            else {
                return error;
            };
            let words = args.iter().skip(1).filter_map(|arg| arg.to_str());
            let hint = command(last_command(kbr, words), typed);
            let hint = hint.map(|line| with_next(kbr, args, typed, line));
            error.remove(ContextKind::SuggestedSubcommand);
            error.remove(ContextKind::Suggested);
            hint.map(|line| format!("type {line}"))
        }
        _ => None,
    };
    if let Some(hint) = hint {
        // The usage would show the argument that clap suggests.
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::Usage);
        let suggested = ContextValue::StyledStrs(vec![hint.into()]);
        error.insert(ContextKind::Suggested, suggested);
    }
    error
}

/// The same with the word after the unknown one, if it is a command: `kbr bundle` for `generate bundle`, and
/// `kbr delete api` for `remove api`.
fn with_next(kbr: &clap::Command, args: &[OsString], word: &str, line: String) -> String {
    let at = args.iter().rposition(|arg| *arg == word);
    let next = at.and_then(|at| args.get(at + 1)?.to_str());
    let Some(next) = next else {
        return line;
    };
    let meant = line
        .trim_matches('`')
        .strip_prefix("kbr ")
        .map(str::to_owned);
    let inner = meant.as_ref().and_then(|name| kbr.find_subcommand(name));
    if let (Some(meant), Some(_)) = (&meant, inner.and_then(|it| it.find_subcommand(next))) {
        return format!("`kbr {meant} {next}`");
    }
    match kbr.find_subcommand(next) {
        Some(_) => format!("`kbr {next}`"),
        None => line,
    }
}

/// The hint for a flag that only kubebuilder has.
fn flag(error: &Error) -> Option<String> {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let mut hints = FLAGS.lines().filter_map(|line| line.split_once(": "));
    let hint = hints.find(|(flag, _)| *flag == typed.as_str());
    hint.map(|(_, hint)| hint.to_owned())
}

/// The last command that the words name, without those after it and without options and their values.
pub(super) fn last_command<'a>(
    kbr: &'a clap::Command,
    words: impl Iterator<Item = &'a str>,
) -> &'a clap::Command {
    let mut command = kbr;
    let mut words = words;
    while let Some(word) = words.next() {
        if ["-C", "--color", "--output"].contains(&word) {
            words.next();
        } else if let Some(inner) = command.find_subcommand(word) {
            command = inner;
        } else if !word.starts_with('-') {
            break;
        }
    }
    command
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn each_word_of_another_tool_is_listed_once_and_is_no_command() {
        let kbr = Cli::command();
        let words = COMMANDS.iter().flat_map(|(words, _)| words.split(' '));
        let mut words: Vec<&str> = words.collect();
        for word in &words {
            assert!(kbr.find_subcommand(word).is_none(), "{word}");
        }
        words.sort_unstable();
        let count = words.len();
        words.dedup();
        assert_eq!(words.len(), count);
    }

    #[test]
    fn only_a_near_word_is_suggested() {
        let kbr = Cli::command();
        for (word, line) in [
            ("generate", Some("`kbr manifests`")),
            ("manifest", Some("`kbr manifests`")),
            ("creat", Some("`kbr create`")),
            ("Init", Some("`kbr init`")),
            ("frobnicate", None),
            ("kubectl", None),
        ] {
            assert_eq!(command(&kbr, word).as_deref(), line, "{word}");
        }
        let create = kbr.find_subcommand("create").expect("a command");
        for (word, line) in [
            (
                "controller",
                Some("`kbr create api --kind KIND --resource=false`"),
            ),
            ("kind", Some("`kbr create api --kind KIND`")),
            ("webhooks", Some("`kbr create webhook`")),
            (
                "deploy",
                Some("`kbr create api` or `kbr create webhook` or `kbr create policy`"),
            ),
        ] {
            assert_eq!(command(create, word).as_deref(), line, "{word}");
        }
    }
}
