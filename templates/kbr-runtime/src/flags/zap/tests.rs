// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
use clap::Parser;

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    zap: Zap,
}

fn parse(arguments: &[&str]) -> Result<Zap, clap::Error> {
    Cli::try_parse_from(["manager"].iter().chain(arguments)).map(|cli| cli.zap)
}

#[test]
fn a_level_has_the_meaning_that_it_has_in_go() {
    for (value, expected) in [
        ("debug", LevelFilter::DEBUG),
        ("info", LevelFilter::INFO),
        ("error", LevelFilter::ERROR),
        ("panic", LevelFilter::ERROR),
        ("1", LevelFilter::DEBUG),
        ("500", LevelFilter::TRACE),
        ("INFO", LevelFilter::INFO),
    ] {
        let zap = parse(&["--zap-log-level", value]).unwrap();
        assert_eq!(zap.level(), Some(expected), "{value}");
    }
    for value in ["0", "-1", "warning", ""] {
        parse(&[&format!("--zap-log-level={value}")]).unwrap_err();
    }
}

#[test]
fn development_means_text_and_debug_unless_a_flag_says_otherwise() {
    let zap = parse(&["--zap-devel"]).unwrap();
    assert_eq!(
        (zap.level(), zap.format()),
        (Some(LevelFilter::DEBUG), Some(LogFormat::Text))
    );
    let zap = parse(&[
        "--zap-devel=true",
        "--zap-encoder=json",
        "--zap-log-level=error",
    ])
    .unwrap();
    assert_eq!(
        (zap.level(), zap.format()),
        (Some(LevelFilter::ERROR), Some(LogFormat::Json))
    );
    let zap = parse(&["--zap-devel=false", "--zap-stacktrace-level=panic"]).unwrap();
    assert_eq!((zap.level(), zap.format()), (None, None));
    let zap = parse(&["--zap-encoder=console"]).unwrap();
    assert_eq!(zap.format(), Some(LogFormat::Text));
}

#[test]
fn flags_of_the_operators_own_may_have_any_name() {
    #[derive(Debug, Parser)]
    struct Own {
        #[command(flatten)]
        manager: crate::Flags,
        #[arg(long)]
        level: u8,
        #[arg(long)]
        time: u8,
        #[arg(long)]
        devel: u8,
        #[arg(long)]
        encoder: u8,
        #[arg(long)]
        stacktrace: u8,
    }
    let own = ["level", "time", "devel", "encoder", "stacktrace"].map(|it| format!("--{it}=7"));
    let line = ["manager", "--zap-log-level=debug"].map(str::to_owned);
    let read = Own::try_parse_from(line.into_iter().chain(own)).unwrap();
    assert_eq!(read.manager.zap.level(), Some(LevelFilter::DEBUG));
    let own = [
        read.level,
        read.time,
        read.devel,
        read.encoder,
        read.stacktrace,
    ];
    assert_eq!(own, [7; 5]);
}

#[test]
fn a_time_is_a_number_or_a_timestamp() {
    let time = Duration::from_millis(1_500);
    for (value, expected) in [
        ("epoch", Some("1.5")),
        ("millis", Some("1500")),
        ("nano", Some("1500000000")),
        ("iso8601", None),
        ("rfc3339", None),
        ("rfc3339nano", None),
    ] {
        let zap = parse(&["--zap-time-encoding", value]).unwrap();
        assert_eq!(zap.time().number(time).as_deref(), expected, "{value}");
    }
    assert_eq!(parse(&[]).unwrap().time().number(time), None);
}
