// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The server as seen by clients without a token. Clients with tokens are in the tests of the project
//! `manager`.

use super::*;
use crate::BindAddress;
use crate::certificate::tests::{Mount, Pair};
use http::header::CONTENT_TYPE;
use kube::Client;
use kube::client::Body as RequestBody;
use std::net::{SocketAddr, TcpListener};

fn config() -> Config {
    crate::client::install_tls_provider();
    Config::new("http://127.0.0.1:1".parse().unwrap())
}

/// Flags of a server at a free port.
fn flags() -> (Flags, SocketAddr) {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    let flags = Flags {
        metrics_bind_address: BindAddress::Host(address.to_string()),
        ..Flags::default()
    };
    (flags, address)
}

/// The status, type and body of a response; the certificate is not checked.
async fn ask(method: &str, server: &str, path: &str) -> (StatusCode, String, String) {
    let mut config = Config::new(server.parse().unwrap());
    config.accept_invalid_certs = true;
    config.default_retry = false;
    let client = Client::try_from(config).unwrap();
    let request = Request::builder().method(method).uri(path);
    let answer = client.send(request.body(RequestBody::empty()).unwrap());
    let (head, body) = answer.await.unwrap().into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let content_type = head.headers.get(CONTENT_TYPE);
    let content_type = content_type.map_or("", |value| value.to_str().unwrap());
    let body = String::from_utf8(body.to_vec()).unwrap();
    (head.status, content_type.to_owned(), body)
}

fn error(flags: &Flags) -> String {
    let error = start(flags, &config(), &Metrics::new()).err();
    error.unwrap().to_string()
}

#[tokio::test]
async fn without_an_address_there_is_no_server() {
    let server = start(&Flags::default(), &config(), &Metrics::new()).unwrap();
    assert!(server.0.is_none());
}

#[tokio::test]
async fn anyone_may_read_metrics_that_are_not_secure() {
    let (mut flags, address) = flags();
    flags.metrics_secure = false;
    let server = start(&flags, &config(), &Metrics::new()).unwrap();
    let url = format!("http://{address}");

    let (status, content_type, body) = ask("GET", &url, "/metrics").await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(content_type, TEXT);
    assert!(body.contains("\nprocess_cpu_seconds_total "), "{body}");
    assert_eq!(ask("GET", &url, "/").await.0, StatusCode::NOT_FOUND);
    let posted = ask("POST", &url, "/metrics").await;
    assert_eq!(posted.0, StatusCode::METHOD_NOT_ALLOWED);

    server.stop().await;
    TcpListener::bind(address).unwrap();
}

#[cfg(feature = "native-histograms")]
#[tokio::test]
async fn a_scraper_that_asks_for_protobuf_gets_it() {
    let (mut flags, address) = flags();
    flags.metrics_secure = false;
    let _server = start(&flags, &config(), &Metrics::new()).unwrap();
    let config = Config::new(format!("http://{address}").parse().unwrap());
    let client = Client::try_from(config).unwrap();
    let request = Request::get("/metrics").header(http::header::ACCEPT, native::PROTOBUF);
    let answer = client.send(request.body(RequestBody::empty()).unwrap());
    let (head, body) = answer.await.unwrap().into_parts();
    let body = body.collect().await.unwrap().to_bytes();

    assert_eq!(head.status, StatusCode::OK);
    assert_eq!(head.headers[CONTENT_TYPE], native::PROTOBUF);
    // The length of a family, its name as field 1, and that name's length.
    assert_eq!(body[1..3], [0x0a, 34]);
}

#[tokio::test]
async fn a_client_without_a_token_gets_nothing_over_https() {
    let (flags, address) = flags();
    let _server = start(&flags, &config(), &Metrics::new()).unwrap();
    let url = format!("https://{address}");

    let (status, _, body) = ask("GET", &url, "/metrics").await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    assert_eq!(
        body,
        "a bearer token that the API server accepts is required\n"
    );
    assert_eq!(ask("GET", &url, "/").await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_port_that_is_taken_is_an_error_that_names_the_flag() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let flags = Flags {
        metrics_bind_address: BindAddress::Host(address.to_string()),
        ..Flags::default()
    };
    let expected = format!(
        "could not listen on `{address}` for the metrics; give another `--metrics-bind-address`, \
         or 0 for none: "
    );
    assert!(error(&flags).starts_with(&expected), "{}", error(&flags));
}

#[tokio::test]
async fn a_missing_certificate_is_an_error_that_names_the_flag() {
    let (mut flags, _) = flags();
    flags.metrics_cert_path = Some("/nowhere".into());
    assert_eq!(
        error(&flags),
        "`--metrics-cert-path` `/nowhere` is not a folder: give the folder of the certificate, or omit the flag to generate one at startup"
    );

    let mut mount = Mount::new();
    let folder = mount.folder.display().to_string();
    flags.metrics_cert_path = Some(mount.folder.clone());
    let missing = error(&flags);
    let expected = format!(
        "`--metrics-cert-name` `tls.crt` is not a file in `{folder}`: give the name of the certificate \
         there"
    );
    assert_eq!(missing, expected);

    mount.swap(&Pair::new());
    flags.metrics_cert_key = "key".to_owned();
    let missing = error(&flags);
    assert!(
        missing.starts_with("`--metrics-cert-key` `key` is not a file in "),
        "{missing}"
    );

    flags.metrics_cert_key = "tls.key".to_owned();
    mount.swap_files("no certificate", "no key");
    let missing = error(&flags);
    let expected = "`--metrics-cert-path` has no usable certificate: ";
    assert!(missing.starts_with(expected), "{missing}");
}

#[tokio::test]
async fn a_certificate_that_changes_is_shown_to_the_next_connection() {
    let (mut flags, address) = flags();
    let (mut mount, first, second) = (Mount::new(), Pair::new(), Pair::new());
    mount.swap(&first);
    flags.metrics_cert_path = Some(mount.folder.clone());
    let metrics = Metrics::new();
    let _server = start(&flags, &config(), &metrics).unwrap();
    // Whether a client that trusts only this certificate is answered.
    let shows = async |pair: &Pair| {
        let mut config = Config::new(format!("https://{address}").parse().unwrap());
        config.root_cert = Some(vec![pair.der.to_vec()]);
        config.default_retry = false;
        let client = Client::try_from(config).unwrap();
        let request = Request::get("/metrics").body(RequestBody::empty());
        client.send(request.unwrap()).await.is_ok()
    };
    assert!(shows(&first).await);
    assert!(!shows(&second).await);

    mount.swap(&second);
    let start = std::time::Instant::now();
    while !shows(&second).await {
        assert!(start.elapsed() < Duration::from_secs(30));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }

    assert!(!shows(&first).await);
    let text = metrics.text().unwrap();
    assert!(
        text.contains("certwatcher_read_certificate_total 2"),
        "{text}"
    );
}

#[tokio::test]
async fn the_log_level_page_is_not_public() {
    let (mut flags, address) = flags();
    flags.metrics_secure = false;
    let _server = start(&flags, &config(), &Metrics::new()).unwrap();
    let answer = ask("PUT", &format!("http://{address}"), "/log-level").await;
    assert_eq!(answer.0, StatusCode::NOT_FOUND);
}
