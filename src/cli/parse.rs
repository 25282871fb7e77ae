//! Parses the command line into a [`Cli`], with checks that clap cannot make itself.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use super::{
    BundleArgs, ChartArgs, Cli, Command, DocsArgs, ManifestsArgs, Mode, Output, UpdateArgs, help,
    hints,
};

impl Cli {
    /// Parses the command line, whose first argument is the program name; fails with clap's usage error.
    pub fn of(args: &[OsString]) -> Result<Self, clap::Error> {
        let cli = Self::try_parse_from(args).map_err(hints::with_hint)?;
        if let Command::Man { command } = &cli.command
            && Self::command_of(command).is_none()
        {
            let message = format!("kbr has no command '{}'", command.join(" "));
            return Err(Self::command().error(ErrorKind::InvalidSubcommand, message));
        }
        if let Command::Help { words } = &cli.command
            && let Some(shown) = help::instead(words)
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
            (
                "--output json",
                self.output == Output::Json && !matches!(self.command, Command::Dev(_)),
            ),
        ];
        let (option, _) = options.into_iter().find(|(_, is_typed)| *is_typed)?;
        if self.command.plans() {
            return None;
        }
        Some(format!(
            "'{option}' can only be used with 'init', 'create', 'delete', 'edit', 'rename', 'update', 'manifests', 'docs', 'chart' and 'bundle'"
        ))
    }

    pub fn mode(&self) -> Mode {
        match &self.command {
            Command::Manifests(ManifestsArgs { check: true, .. })
            | Command::Docs(DocsArgs { check: true })
            | Command::Chart(ChartArgs { check: true })
            | Command::Bundle(BundleArgs { check: true, .. })
            | Command::Update(UpdateArgs { check: true, .. }) => Mode::Check,
            _ if self.dry_run => Mode::DryRun,
            _ => Mode::Apply,
        }
    }
}
