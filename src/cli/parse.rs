//! Parses the command line into a [`Cli`], with checks that clap cannot make itself, and hints for flags of
//! kubebuilder that kbr does not have. What `kbr help` prints for a command comes from clap as well.

use std::ffi::OsString;
use std::iter;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser};

use super::{Cli, Command, DocsArgs, ManifestsArgs, Mode, Output, UpdateArgs};
use crate::guide::{CHAPTERS, Chapter, topics};

impl Cli {
    /// Parses the command line, whose first argument is the program name; fails with clap's usage error.
    pub fn of(args: &[OsString]) -> Result<Self, clap::Error> {
        let matches = Self::command().try_get_matches_from(args);
        let matches = matches.map_err(with_hint)?;
        let names = iter::successors(matches.subcommand(), |(_, inner)| inner.subcommand());
        let names: Vec<&str> = names.map(|(name, _)| name).collect();
        let name = names.join(" ");
        let cli = Self::from_arg_matches(&matches);
        let cli = cli.map_err(|error| error.format(&mut Self::command()))?;
        let cli = Self { name, ..cli };
        if let Command::Man { command } = &cli.command
            && Self::command_of(command).is_none()
        {
            let message = format!("kbr has no command '{}'", command.join(" "));
            return Err(Self::command().error(ErrorKind::InvalidSubcommand, message));
        }
        if let Command::Help { words } = &cli.command
            && let Some(shown) = instead(words)
        {
            return Err(shown);
        }
        match cli.misuse() {
            Some(message) => Err(Self::command().error(ErrorKind::ArgumentConflict, message)),
            None => Ok(cli),
        }
    }

    /// clap's description of a command, such as `create api`, or of kbr itself if `words` is empty.
    pub fn command_of(words: &[String]) -> Option<clap::Command> {
        let mut kbr = Self::command();
        kbr.build();
        words
            .iter()
            .try_fold(kbr, |command, word| command.find_subcommand(word).cloned())
    }

    /// Checks what clap cannot: it parses global options independently of the command.
    fn misuse(&self) -> Option<String> {
        if self.dry_run && self.mode() == Mode::Check {
            return Some("the argument '--check' cannot be used with '--dry-run'".to_owned());
        }
        let options = [
            ("--dry-run", self.dry_run),
            ("--diff", self.diff),
            ("--output json", self.output == Output::Json),
        ];
        let (option, _) = options.into_iter().find(|(_, is_typed)| *is_typed)?;
        if self.command.plans() {
            return None;
        }
        Some(format!(
            "'{option}' can only be used with 'init', 'create', 'delete', 'edit', 'rename', 'update', 'manifests' and 'docs'"
        ))
    }

    pub fn mode(&self) -> Mode {
        match &self.command {
            Command::Manifests(ManifestsArgs { check: true, .. })
            | Command::Docs(DocsArgs { check: true })
            | Command::Update(UpdateArgs { check: true, .. }) => Mode::Check,
            _ if self.dry_run => Mode::DryRun,
            _ => Mode::Apply,
        }
    }
}

/// Replaces clap's own suggestion in the usage error with our hint, if there is one.
fn with_hint(mut error: clap::Error) -> clap::Error {
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg)
        && let Some(hint) = hint(typed)
    {
        // The usage would show the argument that clap suggests.
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::Usage);
        let hint = ContextValue::StyledStrs(vec![hint.into()]);
        error.insert(ContextKind::Suggested, hint);
    }
    error
}

/// The hint for a flag of kubebuilder.
fn hint(flag: &str) -> Option<&'static str> {
    Some(match flag {
        "--fetch-deps" => "`cargo build` fetches what is missing: omit the flag",
        "--license-file" => {
            "type `--owner OWNER` to name the copyright holder, or `--license none` for no header"
        }
        "--make" => {
            "kbr runs nothing afterwards: omit the flag, and type `kbr manifests` when the types are written"
        }
        "--plugins" => "kbr has no plugins: omit the flag",
        "--plural" => {
            "only `kbr create api` and `kbr rename kind` take it; elsewhere the plural comes from PROJECT"
        }
        "--project-version" => "PROJECT has only one version: omit the flag",
        "--skip-go-version-check" => "a project has no Go code: omit the flag",
        "--ssa" => "kube supports server-side apply for every type: omit the flag",
        "--validation" => "type `--programmatic-validation` after `kbr create webhook`",
        _ => return None,
    })
}

/// What to print instead of a chapter of the guide, unless `words` is a topic.
///
/// clap treats the help of a command as an error, which is printed to stdout and ends with code 0.
fn instead(words: &[String]) -> Option<clap::Error> {
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
