// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The flags of controller-runtime's logger, so that the Deployment of an operator in Go starts one in Rust.
//!
//! They are not in `--help`: `--log-level` and `--log-format` are this library's own.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::{ArgAction, Args, ValueEnum};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime as Rfc3339};

use super::LogFormat;

/// What these flags say, each in place of the flag of this library.
#[derive(Args, Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Zap {
    /// Text, and debug messages, unless another flag says otherwise.
    #[arg(
        id = "zap-devel",
        long,
        hide = true,
        action = ArgAction::Set,
        default_value_t = false,
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true,
        value_parser = super::boolean
    )]
    devel: bool,

    #[arg(id = "zap-encoder", long, hide = true, value_enum, ignore_case = true)]
    encoder: Option<Encoder>,

    #[arg(id = "zap-log-level", long, hide = true, value_parser = level)]
    level: Option<LevelFilter>,

    /// Errors have no stack traces in Rust, and a panic has one if `RUST_BACKTRACE` is set.
    #[arg(id = "zap-stacktrace-level", long, hide = true, ignore_case = true, value_parser = ["info", "error", "panic"])]
    stacktrace: Option<String>,

    #[arg(
        id = "zap-time-encoding",
        long,
        hide = true,
        value_enum,
        ignore_case = true,
        default_value = "rfc3339nano"
    )]
    time: TimeEncoding,
}

impl Zap {
    /// The level, unless only `--log-level` says it.
    pub fn level(&self) -> Option<LevelFilter> {
        self.level.or(self.devel.then_some(LevelFilter::DEBUG))
    }

    /// The format, unless only `--log-format` or the terminal says it.
    pub fn format(&self) -> Option<LogFormat> {
        let encoder = self.encoder.map(|encoder| match encoder {
            Encoder::Console => LogFormat::Text,
            Encoder::Json => LogFormat::Json,
        });
        encoder.or(self.devel.then_some(LogFormat::Text))
    }

    pub fn time(&self) -> TimeEncoding {
        self.time
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Encoder {
    Console,
    Json,
}

/// How the time of a log line is written.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
pub(crate) enum TimeEncoding {
    /// Seconds since 1970, with a fraction.
    Epoch,
    /// Milliseconds since 1970, with a fraction.
    Millis,
    /// Nanoseconds since 1970.
    #[value(alias = "nanos")]
    Nano,
    Iso8601,
    Rfc3339,
    #[default]
    Rfc3339nano,
}

impl FormatTime for TimeEncoding {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        match self.number(now.unwrap_or_default()) {
            Some(number) => writer.write_str(&number),
            None => Rfc3339.format_time(writer),
        }
    }
}

impl TimeEncoding {
    /// The time as a number; `None` if it is written as RFC 3339 says, which is a form of ISO 8601.
    fn number(self, since_1970: Duration) -> Option<String> {
        match self {
            Self::Epoch => Some(since_1970.as_secs_f64().to_string()),
            Self::Millis => Some((since_1970.as_secs_f64() * 1e3).to_string()),
            Self::Nano => Some(since_1970.as_nanos().to_string()),
            Self::Iso8601 | Self::Rfc3339 | Self::Rfc3339nano => None,
        }
    }
}

/// A level by its name, or as the verbosity of a message in Go: 1 is debug, and more is trace.
fn level(text: &str) -> Result<LevelFilter, String> {
    match (&*text.to_lowercase(), text.parse::<u32>()) {
        ("debug", _) | (_, Ok(1)) => Ok(LevelFilter::DEBUG),
        ("info", _) => Ok(LevelFilter::INFO),
        ("error" | "panic", _) => Ok(LevelFilter::ERROR),
        (_, Ok(2..)) => Ok(LevelFilter::TRACE),
        _ => Err("expected `debug`, `info`, `error`, `panic`, or a number above 0".to_owned()),
    }
}

#[cfg(test)]
mod tests;
