// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
use clap::Parser;

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    flags: Flags,
}

fn parse(arguments: &[&str]) -> Result<Flags, clap::Error> {
    Cli::try_parse_from(["manager"].iter().chain(arguments)).map(|cli| cli.flags)
}

#[test]
fn an_empty_command_line_gives_the_defaults() {
    let flags = parse(&[]).unwrap();

    assert_eq!(flags, Flags::default());
    assert_eq!(flags.health_probe_bind_address.to_string(), ":8081");
}

#[test]
fn reads_every_flag() {
    let flags = parse(&[
        "--kubeconfig=/tmp/config",
        "--health-probe-bind-address=0",
        "--leader-elect",
        "--leader-election-id=a",
        "--leader-election-namespace=b",
        "--leader-elect-lease-duration=30s",
        "--leader-elect-renew-deadline=20s",
        "--leader-elect-retry-period=500ms",
        "--max-concurrent-reconciles=4",
        "--metrics-bind-address=:8443",
        "--metrics-secure=false",
        "--metrics-cert-path=/tmp/metrics",
        "--metrics-cert-name=b.crt",
        "--metrics-cert-key=b.key",
        "--log-level=debug",
        "--log-format=json",
        "--request-timeout=2m",
        "--graceful-shutdown-timeout=1m30s",
        "--webhook-cert-path=/tmp/certs",
        "--webhook-cert-name=a.crt",
        "--webhook-cert-key=a.key",
        "--webhook-host=127.0.0.1",
        "--webhook-port=8443",
        "--webhook-client-ca=/tmp/ca.crt",
        "--webhook-memory=64",
    ])
    .unwrap();

    assert_eq!(flags.kubeconfig, Some(PathBuf::from("/tmp/config")));
    assert_eq!(flags.health_probe_bind_address, BindAddress::Off);
    assert!(flags.leader_elect);
    assert_eq!(flags.max_concurrent_reconciles, Some(4));
    assert_eq!(flags.leader_election_id.as_deref(), Some("a"));
    assert_eq!(flags.leader_election_namespace.as_deref(), Some("b"));
    let timing = [
        flags.leader_elect_lease_duration,
        flags.leader_elect_renew_deadline,
        flags.leader_elect_retry_period,
    ];
    assert_eq!(timing.map(|time| time.as_millis()), [30_000, 20_000, 500]);
    assert_eq!(flags.metrics_bind_address, BindAddress::Everywhere(8443));
    assert!(!flags.metrics_secure);
    assert_eq!(flags.metrics_cert_path, Some(PathBuf::from("/tmp/metrics")));
    assert_eq!(flags.metrics_cert_name, "b.crt");
    assert_eq!(flags.metrics_cert_key, "b.key");
    assert_eq!(flags.log_level, LevelFilter::DEBUG);
    assert_eq!(flags.log_format, Some(LogFormat::Json));
    assert_eq!(flags.request_timeout, Duration::from_secs(120));
    assert_eq!(flags.graceful_shutdown_timeout, Duration::from_secs(90));
    assert_eq!(flags.webhook_cert_path, Some(PathBuf::from("/tmp/certs")));
    assert_eq!(flags.webhook_cert_name, "a.crt");
    assert_eq!(flags.webhook_cert_key, "a.key");
    assert_eq!(flags.webhook_host, "127.0.0.1");
    assert_eq!(flags.webhook_port, 8443);
    let authorities = Some(PathBuf::from("/tmp/ca.crt"));
    assert_eq!(flags.webhook_client_ca, authorities);
    assert_eq!(flags.webhook_memory, 64);
}

#[test]
fn refuses_invalid_values() {
    for argument in [
        "--health-probe-bind-address=8081",
        "--metrics-bind-address=8443",
        "--metrics-secure=maybe",
        "--log-level=loud",
        "--log-format=xml",
        "--graceful-shutdown-timeout=soon",
        "--graceful-shutdown-timeout=-5s",
        "--webhook-port=https",
        "--webhook-memory=15",
    ] {
        assert!(parse(&[argument]).is_err(), "{argument}");
    }
}

#[test]
fn a_flag_of_go_may_have_its_value() {
    assert!(parse(&["--leader-elect=true"]).unwrap().leader_elect);
    assert!(parse(&["--leader-elect=T"]).unwrap().leader_elect);
    assert!(!parse(&["--leader-elect=false"]).unwrap().leader_elect);
    let flags = parse(&["--zap-devel", "--leader-elect"]).unwrap();
    assert!(flags.leader_elect && flags != Flags::default());
}
