// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Log lines on standard error, and panics as log lines.
//!
//! No log files, rotation or export: a container's standard error is collected for it.

use std::backtrace::Backtrace;
use std::io::{self, IsTerminal};
use std::panic;

use tracing::Subscriber;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::{LevelFilter, ParseError};
use tracing_subscriber::fmt::MakeWriter;

use crate::{Flags, LogFormat};

/// Sets up the process's logs as `flags` say: lines on standard error, panics included.
///
/// [`Manager::new`](crate::Manager::new) calls it. Call it yourself to log something before that. Does
/// nothing if the process has a logger already.
pub fn init(flags: &Flags) {
    let terminal = io::stderr().is_terminal();
    let rust_log = std::env::var("RUST_LOG").unwrap_or_default();
    let (filter, problem) = match filter(flags.log_level, &rust_log) {
        Ok(filter) => (filter, None),
        Err(problem) => (flags.log_level.to_string().into(), Some(problem)),
    };
    let format = format(flags.log_format, terminal);
    let subscriber = subscriber(format, terminal, filter, io::stderr);
    if tracing::subscriber::set_global_default(subscriber).is_err() {
        return;
    }
    panic::set_hook(Box::new(log_panic));
    if let Some(problem) = problem {
        tracing::warn!(%problem, "RUST_LOG is not usable and was ignored");
    }
}

/// Text where people read, JSON where programs do, unless a flag says otherwise.
fn format(flag: Option<LogFormat>, terminal: bool) -> LogFormat {
    match (flag, terminal) {
        (Some(format), _) => format,
        (None, true) => LogFormat::Text,
        (None, false) => LogFormat::Json,
    }
}

/// `level` for everything, except for what `rust_log` says otherwise.
///
/// Without `rust_log`, what kube-client logs of each failed request is shown from debug on only:
/// the same error is returned, and then logged by someone who knows what failed.
fn filter(level: LevelFilter, rust_log: &str) -> Result<EnvFilter, ParseError> {
    let refined = if rust_log.is_empty() && level <= LevelFilter::INFO {
        "kube_client::client::builder=off"
    } else {
        rust_log
    };
    EnvFilter::try_new(format!("{level},{refined}"))
}

fn subscriber<W>(
    format: LogFormat,
    color: bool,
    filter: EnvFilter,
    writer: W,
) -> Box<dyn Subscriber + Send + Sync>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(writer)
        .with_ansi(color);
    match format {
        LogFormat::Text => Box::new(builder.finish()),
        LogFormat::Json => Box::new(
            builder
                .json()
                .flatten_event(true)
                .with_span_list(false)
                .finish(),
        ),
    }
}

/// Logs a panic within the span it happened in, with a backtrace if `RUST_BACKTRACE` asks for it.
fn log_panic(info: &panic::PanicHookInfo<'_>) {
    let location = info.location().map(ToString::to_string);
    let message = panic_message(info.payload());
    tracing::error!(location, backtrace = %Backtrace::capture(), "panic: {message}");
}

/// The text given to `panic!`.
pub(crate) fn panic_message(payload: &(dyn std::any::Any + Send)) -> &str {
    if let Some(text) = payload.downcast_ref::<String>() {
        text
    } else {
        payload.downcast_ref::<&str>().unwrap_or(&"no message")
    }
}
