// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Log lines on standard error, and panics as log lines.
//!
//! No log files, rotation or export: a container's standard error is collected anyway. `otlp` decides
//! what is traced, independently of the log filter.

mod log_limit;

use std::backtrace::Backtrace;
use std::io::{self, IsTerminal};
use std::panic;
use std::sync::OnceLock;

use tracing::Subscriber;
use tracing_subscriber::filter::{FilterExt, FilterFn, LevelFilter, ParseError, filter_fn};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Filter, SubscriberExt};
use tracing_subscriber::{EnvFilter, Layer, Registry, reload};

use crate::flags::zap::TimeEncoding;
use crate::{Flags, LogFormat};
pub(crate) use log_limit::LogLimit;

/// The log filter of this process, if [`init`] has set up its logging.
static FILTER: OnceLock<reload::Handle<EnvFilter, Registry>> = OnceLock::new();

/// A layer that handles spans and messages, with its own filter.
pub(crate) type BoxLayer = Box<dyn Layer<Registry> + Send + Sync>;

/// Sets up the logging of the process according to `flags`: lines on standard error, including panics.
///
/// [`Manager::new`](crate::Manager::new) calls it. Call it yourself to log something earlier. Does
/// nothing if the process already has a logger.
pub fn init(flags: &Flags) {
    let terminal = io::stderr().is_terminal();
    let rust_log = std::env::var("RUST_LOG").unwrap_or_default();
    let level = flags.zap.level().unwrap_or(flags.log_level);
    let (filter, problem) = match filter(level, &rust_log) {
        Ok(filter) => (filter, None),
        Err(problem) => (level.to_string().into(), Some(problem)),
    };
    let format = format(flags.zap.format().or(flags.log_format), terminal);
    let (filter, handle) = reload::Layer::new(filter);
    let layers = vec![lines(
        format,
        flags.zap.time(),
        terminal,
        filter,
        io::stderr,
    )];
    #[cfg(feature = "otlp")]
    let traces = crate::otlp::Traces::from_environment();
    #[cfg(feature = "otlp")]
    let layers = layers.into_iter().chain(traces.layer()).collect();
    if tracing::subscriber::set_global_default(subscriber(layers)).is_err() {
        return;
    }
    // It is set once, with the subscriber.
    let _ = FILTER.set(handle);
    panic::set_hook(Box::new(log_panic));
    if let Some(problem) = problem {
        tracing::warn!(%problem, "RUST_LOG is invalid and was ignored");
    }
    #[cfg(feature = "otlp")]
    traces.keep();
}

/// The current log filter, as directives of [`EnvFilter`]; `None` if logging was not set up here.
pub(crate) fn level() -> Option<String> {
    FILTER.get()?.with_current(ToString::to_string).ok()
}

/// Changes the log filter to `text`: a level as for `--log-level`, or directives of [`EnvFilter`].
///
/// # Errors
///
/// What is wrong with `text`.
pub(crate) fn set_level(text: &str) -> Result<(), String> {
    let wanted = wanted(text)?;
    let filter = FILTER
        .get()
        .ok_or("logging was not set up by kbr-runtime")?;
    filter.reload(wanted).map_err(|error| error.to_string())
}

fn wanted(text: &str) -> Result<EnvFilter, String> {
    let text = text.trim();
    // An empty text, or a word that is not a level, would be read as a target, and turn off all others.
    let is_level = |part: &str| !part.is_empty() && part.parse::<LevelFilter>().is_ok();
    let means = |part: &str| part.contains('=') || is_level(part.trim());
    if !text.contains('[') && !text.split(',').all(means) {
        return Err(format!(
            "`{text}`: give a level such as `debug`, or directives such as `info,kube=debug`"
        ));
    }
    let wanted = match text.parse() {
        Ok(level) => filter(level, ""),
        Err(_) => EnvFilter::try_new(text),
    };
    wanted.map_err(|error| format!("`{text}`: {error}"))
}

/// Text on a terminal, JSON elsewhere, unless a flag sets the format.
fn format(flag: Option<LogFormat>, terminal: bool) -> LogFormat {
    flag.unwrap_or(match terminal {
        true => LogFormat::Text,
        false => LogFormat::Json,
    })
}

/// `level` for everything, except where `rust_log` overrides it.
///
/// Without `rust_log`, kube's own messages about failed requests are shown only at debug and trace: the
/// same error is returned, and then logged by a caller that knows what failed.
fn filter(level: LevelFilter, rust_log: &str) -> Result<EnvFilter, ParseError> {
    let refined = if rust_log.is_empty() && level <= LevelFilter::INFO {
        "kube_client::client::builder=off,kube_runtime::watcher=off"
    } else {
        rust_log
    };
    EnvFilter::try_new(format!("{level},{refined}"))
}

fn subscriber(layers: Vec<BoxLayer>) -> impl Subscriber + Send + Sync {
    tracing_subscriber::registry().with(layers)
}

/// Writes a line to `writer` for everything that passes `filter`.
fn lines(
    format: LogFormat,
    time: TimeEncoding,
    color: bool,
    filter: impl Filter<Registry> + Send + Sync + 'static,
    writer: impl for<'w> MakeWriter<'w> + Send + Sync + 'static,
) -> BoxLayer {
    let filter = filter.and(without_bodies());
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(writer)
        .with_timer(time)
        .with_ansi(color);
    match format {
        LogFormat::Text => lines.with_filter(filter).boxed(),
        // All spans: the object's is not always the innermost.
        LogFormat::Json => lines
            .json()
            .flatten_event(true)
            .with_current_span(false)
            .with_span_list(true)
            .with_filter(filter)
            .boxed(),
    }
}

/// Leaves out, at every level, the messages in which kube logs a response body that it cannot read: it
/// may contain secrets, and a list is a line of megabytes. The error is returned as well.
fn without_bodies() -> FilterFn {
    filter_fn(|metadata| metadata.is_span() || metadata.target() != "kube_client::client")
}

/// Logs a panic within the span in which it happened, with a backtrace if `RUST_BACKTRACE` enables it.
fn log_panic(info: &panic::PanicHookInfo<'_>) {
    let location = info.location().map(ToString::to_string);
    let message = panic_message(info.payload());
    tracing::error!(location, backtrace = %Backtrace::capture(), "panic: {message}");
}

/// The text given to `panic!`.
pub fn panic_message(payload: &(dyn std::any::Any + Send)) -> &str {
    if let Some(text) = payload.downcast_ref::<String>() {
        text
    } else {
        payload.downcast_ref::<&str>().unwrap_or(&"no message")
    }
}

#[cfg(test)]
pub(crate) mod tests;
