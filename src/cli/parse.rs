//! Parses the command line into a [`Cli`], with checks that clap cannot make itself.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches};

use crate::error::join;
use crate::names::Kind;

use super::{
    BundleArgs, ChartArgs, Cli, Command, DocsArgs, ManifestsArgs, Mode, Output, PLANNING,
    UpdateArgs, help, hints,
};

/// The global options of commands that plan changes.
const OF_PLANS: [&str; 4] = ["dry_run", "diff", "verbose", "output"];

impl Cli {
    /// Parses the command line, whose first argument is the program name; fails with clap's usage error, in which a word
    /// that is no kind is corrected to one of `kinds`, those of PROJECT.
    pub fn of(args: &[OsString], kinds: &[String]) -> Result<Self, clap::Error> {
        let mut kbr = match kinds {
            [] => Self::kbr(),
            kinds => with_kinds(Self::kbr(), kinds),
        };
        let parsed = kbr.clone().try_get_matches_from(args);
        let parsed = parsed.map_err(|error| hints::with_hint(error, &kbr, args))?;
        let cli = Self::from_arg_matches(&parsed).map_err(|error| error.format(&mut kbr))?;
        if let Command::Man { command } = &cli.command
            && Self::command_of(command).is_none()
        {
            return Err(help::unknown_command(&kbr, command));
        }
        if let Command::Help { words } = &cli.command
            && let Some(shown) = help::instead(words)
        {
            return Err(shown);
        }
        match cli.misuse() {
            Some(message) => Err(kbr.error(ErrorKind::ArgumentConflict, message)),
            None => Ok(cli),
        }
    }

    /// clap's description of kbr: a help that fits a terminal, and in that of each command only options that it accepts.
    pub fn kbr() -> clap::Command {
        let kbr = Self::command();
        let others = kbr.get_subcommands().map(clap::Command::get_name);
        let others: Vec<String> = others
            .filter(|name| !PLANNING.contains(name))
            .map(str::to_owned)
            .collect();
        let options = kbr.get_arguments();
        let hidden: Vec<clap::Arg> = options
            .filter(|option| OF_PLANS.contains(&option.get_id().as_str()))
            .map(|option| option.clone().hide(true))
            .collect();
        let overview = help::overview(&kbr);
        let kbr = kbr.help_template("{about-with-newline}\n{usage-heading} {usage}{after-help}");
        others.iter().fold(kbr.after_help(overview), |kbr, name| {
            let refused = hidden.iter().filter(|option| {
                // `kbr dev` has JSON of its own.
                name != "dev" || option.get_id() != "output"
            });
            let refused: Vec<clap::Arg> = refused.cloned().collect();
            kbr.mut_subcommand(name, |command| command.args(refused))
        })
    }

    /// clap's description of a command, such as `create api`, or of kbr itself if `words` is empty.
    pub fn command_of(words: &[String]) -> Option<clap::Command> {
        let mut kbr = Self::kbr();
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
            ("--verbose", self.verbose),
            (
                "--output json",
                self.output == Output::Json && !matches!(self.command, Command::Dev(_)),
            ),
        ];
        let (option, _) = options.into_iter().find(|(_, is_typed)| *is_typed)?;
        if self.command.plans() {
            return None;
        }
        let (last, commands) = PLANNING.split_last()?;
        let commands = join(commands, ", ", |command| format!("'{command}'"));
        Some(format!(
            "'{option}' can only be used with {commands} and '{last}'"
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

/// The description of a command, in which each option `--kind` corrects a word that is no kind to one of these.
fn with_kinds(command: clap::Command, kinds: &[String]) -> clap::Command {
    let names: Vec<String> = command
        .get_subcommands()
        .map(|it| it.get_name().to_owned())
        .collect();
    let command = names.iter().fold(command, |command, name| {
        command.mut_subcommand(name, |inner| with_kinds(inner, kinds))
    });
    if !command
        .get_arguments()
        .any(|option| option.get_id() == "kind")
    {
        return command;
    }
    let kinds = kinds.to_vec();
    let parser = move |text: &str| Kind::among(text, &kinds);
    command.mut_arg("kind", |option| option.value_parser(parser))
}

/// The folder that a command line names with `-C`, which may have been refused.
pub fn directory(args: &[OsString]) -> PathBuf {
    let mut words = args.iter().skip(1);
    let named = words.find_map(|word| {
        let rest = word.to_str()?.strip_prefix("-C")?;
        Some(rest.trim_start_matches('=').to_owned())
    });
    match named {
        Some(rest) if !rest.is_empty() => rest.into(),
        Some(_) => words.next().map(PathBuf::from).unwrap_or_default(),
        None => PathBuf::new(),
    }
}
