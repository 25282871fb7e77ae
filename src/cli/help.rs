//! `kbr --help`, `kbr help`: an overview that fits a terminal, what clap prints for a command, and errors for what is neither
//! a command nor a topic of the guide.

use std::fmt::Write as _;

use clap::error::ErrorKind;

use super::{Cli, hints};
use crate::error::{either, join};
use crate::guide::{Chapter, every_chapter, synonyms, topic};

/// The commands of `kbr --help`, by what they are for.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Start", &["init", "import"]),
    ("Change", &["create", "delete", "rename", "edit", "update"]),
    ("Generate", &["manifests", "docs", "chart", "bundle"]),
    ("Run", &["dev", "envtest"]),
];

/// The last group: the first command is explained, and the others share a line.
const ABOUT_KBR: [&str; 4] = ["help", "man", "completion", "version"];

/// What `kbr help topics` prints: the topics of the guide.
pub(super) const TOPICS: &str = "topics";

/// The commands in groups, and how to learn more.
pub(super) fn overview(kbr: &clap::Command) -> String {
    let styles = kbr.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let about = |name: &str| {
        let command = kbr.find_subcommand(name);
        let about = command.and_then(clap::Command::get_about);
        about.map(ToString::to_string).unwrap_or_default()
    };
    let mut text = String::new();
    // Writing to a string cannot fail.
    let mut line = |group: &str, name: &str, about: &str| {
        let _ = writeln!(
            text,
            "{header}{group:<10}{header:#}{literal}{name:<11}{literal:#}{about}"
        );
    };
    for (group, names) in GROUPS {
        for (at, name) in names.iter().enumerate() {
            line(if at == 0 { group } else { "" }, name, &about(name));
        }
    }
    let [help, others @ ..] = ABOUT_KBR;
    line("Learn", help, &about(help));
    let others = join(&others, ", ", ToString::to_string);
    line("", &others, "");
    let _ = write!(
        text,
        "\n{header}Options{header:#}   -C DIR, --dry-run, --diff, --verbose, --color WHEN, --output json, -h\n\
         `kbr help COMMAND` explains each; `kbr help {TOPICS}` lists the guide's chapters"
    );
    text
}

/// What to print instead of a chapter of the guide, unless `words` is a topic.
///
/// clap treats the help of a command as an error, which is printed to stdout and ends with code 0.
pub(super) fn instead(words: &[String]) -> Option<clap::Error> {
    let is_list = matches!(words, [word] if word == TOPICS);
    if is_list || Chapter::named(words).is_some() {
        return None;
    }
    if let [topic, more @ ..] = words
        && Chapter::of(topic).is_some()
    {
        let message = format!("unexpected argument '{}' found", more.first()?);
        let mut help = Cli::command_of(&["help".to_owned()])?;
        return Some(help.error(ErrorKind::UnknownArgument, message));
    }
    if Cli::command_of(words).is_some() {
        let line = ["kbr"].into_iter().chain(words.iter().map(String::as_str));
        return Cli::kbr()
            .try_get_matches_from(line.chain(["--help"]))
            .err();
    }
    let typed = words.join(" ");
    let commands: Vec<String> = near(&typed)
        .iter()
        .map(|name| format!("kbr help {name}"))
        .collect();
    let near = match &commands[..] {
        [] => String::new(),
        commands => format!(": type {}", either(commands)),
    };
    let message = format!(
        "kbr has no command and no topic '{typed}'{near}\n\n`kbr help {TOPICS}` lists the chapters of the guide"
    );
    Some(Cli::kbr().error(ErrorKind::InvalidSubcommand, message))
}

/// The error for `kbr man` of a command that does not exist.
pub(super) fn unknown_command(kbr: &clap::Command, words: &[String]) -> clap::Error {
    let parent = hints::last_command(kbr, words.iter().map(String::as_str));
    let mut known = kbr;
    let is_unknown = |word: &&String| match known.find_subcommand(word) {
        Some(command) => {
            known = command;
            false
        }
        None => true,
    };
    let unknown = words.iter().find(is_unknown).map_or("", String::as_str);
    let names = parent.get_subcommands().map(clap::Command::get_name);
    let near = hints::most_similar(unknown, names, 1).pop().map(|name| {
        let before = match parent.get_name() {
            "kbr" => String::new(),
            parent => format!("{parent} "),
        };
        format!(": type `kbr man {before}{name}`")
    });
    let message = format!(
        "kbr has no command '{}'{}",
        words.join(" "),
        near.unwrap_or_default()
    );
    kbr.clone().error(ErrorKind::InvalidSubcommand, message)
}

/// At most three commands and topics for a word that is neither: those with similar names, then chapters that have the
/// word most often.
fn near(typed: &str) -> Vec<String> {
    const COUNT: usize = 3;
    let typed = typed.to_lowercase();
    let kbr = Cli::kbr();
    let commands = kbr.get_subcommands().map(|it| it.get_name().to_owned());
    let topics = every_chapter().map(|chapter| chapter.topic.to_owned());
    let others = synonyms().map(str::to_owned);
    let names: Vec<String> = commands.chain(topics).chain(others).collect();
    let of_other_tools = hints::command(&kbr, &typed);
    let of_other_tools = of_other_tools.as_deref().and_then(|line| {
        let line = line.trim_matches('`').strip_prefix("kbr ")?;
        line.split(' ').next()
    });
    let all = names.len();
    let similar = hints::most_similar(&typed, names.iter().map(String::as_str), all);
    let mut mentions: Vec<(usize, &str)> = every_chapter()
        .map(|chapter| (chapter.mentions(&typed), chapter.topic))
        .filter(|(count, _)| *count > 0 && typed.len() > 2)
        .collect();
    mentions.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let found = similar.into_iter().map(topic);
    let mut near: Vec<String> = Vec::new();
    let found = of_other_tools.into_iter().chain(found);
    for name in found.chain(mentions.into_iter().map(|(_, topic)| topic)) {
        if near.len() < COUNT && !near.iter().any(|it| it == name) {
            near.push(name.to_owned());
        }
    }
    near
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_topic_has_the_name_of_a_command() {
        for chapter in every_chapter() {
            let command = Cli::command_of(&[chapter.topic.to_owned()]);
            assert!(command.is_none(), "{}", chapter.topic);
            assert_ne!(chapter.topic, TOPICS);
        }
    }

    #[test]
    fn similar_names_and_chapters_with_the_word_are_suggested() {
        for (typed, name) in [
            ("webhok", "webhooks"),
            ("manifest", "manifests"),
            ("cel", "policies"),
            ("kustomise", "deploying"),
        ] {
            let near = near(typed);
            assert!(near.iter().any(|it| it == name), "{typed}: {near:?}");
            assert!(near.len() <= 3, "{typed}: {near:?}");
        }
        assert_eq!(near("xyz"), [""; 0]);
    }

    #[test]
    fn the_overview_has_each_command_once() {
        let kbr = Cli::kbr();
        let others = ["dev", "envtest"].into_iter().chain(ABOUT_KBR);
        let mut planning: Vec<&str> = others.chain(super::super::PLANNING).collect();
        let groups = GROUPS.iter().flat_map(|(_, names)| names.iter().copied());
        let mut shown: Vec<&str> = groups.chain(ABOUT_KBR).collect();
        let mut all: Vec<&str> = kbr.get_subcommands().map(clap::Command::get_name).collect();
        shown.sort_unstable();
        all.sort_unstable();
        assert_eq!(shown, all);
        planning.sort_unstable();
        assert_eq!(
            planning, all,
            "each command plans changes, or is known not to"
        );
    }
}
