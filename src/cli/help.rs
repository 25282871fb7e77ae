//! `kbr help`: what clap prints for a command, and an error for what is neither a command nor a topic.

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use super::Cli;
use crate::guide::{CHAPTERS, Chapter, topics};

/// What to print instead of a chapter of the guide, unless `words` is a topic.
///
/// clap treats the help of a command as an error, which is printed to stdout and ends with code 0.
pub fn instead(words: &[String]) -> Option<clap::Error> {
    if let [topic, more @ ..] = words
        && Chapter::of(topic).is_some()
    {
        let message = format!("unexpected argument '{}' found", more.first()?);
        let mut help = Cli::command_of(&["help".to_owned()])?;
        return Some(help.error(ErrorKind::UnknownArgument, message));
    }
    if Cli::command_of(words).is_some() {
        let line = ["kbr"].into_iter().chain(words.iter().map(String::as_str));
        return Cli::try_parse_from(line.chain(["--help"])).err();
    }
    let typed = words.join(" ");
    let near = near(&typed).map(|name| format!(": did you mean '{name}'?"));
    let message = format!(
        "kbr has no command and no topic '{typed}'{}\n\nTopics:\n{}",
        near.unwrap_or_default(),
        topics().trim_end()
    );
    Some(Cli::command().error(ErrorKind::InvalidSubcommand, message))
}

/// The command or topic with the most similar name, if one is similar.
fn near(typed: &str) -> Option<String> {
    let kbr = Cli::command();
    let commands = kbr.get_subcommands().map(clap::Command::get_name);
    let names = commands.chain(CHAPTERS.iter().map(|chapter| chapter.topic));
    let similar = names.map(|name| (strsim::jaro_winkler(typed, name), name));
    let nearest = similar.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (nearest.0 > 0.8).then(|| nearest.1.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_topic_has_the_name_of_a_command() {
        for chapter in CHAPTERS {
            let command = Cli::command_of(&[chapter.topic.to_owned()]);
            assert!(command.is_none(), "{}", chapter.topic);
        }
    }

    #[test]
    fn a_similar_name_is_suggested() {
        for (typed, name) in [
            ("webhok", "webhooks"),
            ("first", "first-operator"),
            ("manifest", "manifests"),
        ] {
            assert_eq!(near(typed).as_deref(), Some(name));
        }
        assert_eq!(near("xyz"), None);
    }
}
