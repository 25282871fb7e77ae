// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

#[cfg(feature = "manager")]
#[tokio::test]
async fn a_missing_kubeconfig_is_named() {
    let path = std::path::Path::new("/does/not/exist");

    let error = super::load_config(Some(path)).await.unwrap_err();

    let expected = "could not use the kubeconfig `/does/not/exist`: ";
    assert!(error.to_string().starts_with(expected), "{error}");
}

/// The `User-Agent` with which a manager of this configuration asks.
#[cfg(feature = "manager")]
async fn agent(configure: impl FnOnce(&mut kube::Config)) -> String {
    use std::io::{Read as _, Write as _};

    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let request = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        let length = stream.read(&mut request).unwrap();
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
        stream.write_all(answer).unwrap();
        String::from_utf8_lossy(&request[..length]).into_owned()
    });
    let mut config = kube::Config::new(url.parse().unwrap());
    configure(&mut config);
    let manager = crate::Manager::with_config(crate::Flags::default(), config).unwrap();
    super::ask_readiness(&manager.client()).await.unwrap();
    let request = request.join().unwrap();
    let mut agents = request
        .lines()
        .filter_map(|line| line.strip_prefix("user-agent: "));
    let agent = agents.next().unwrap().to_owned();
    assert_eq!(agents.next(), None);
    agent
}

#[cfg(feature = "manager")]
#[tokio::test]
async fn each_request_names_the_program_unless_the_configuration_does() {
    // The program is the test: `kbr_runtime-` and a hash.
    let own = agent(|_| {}).await;
    let version = concat!(" kbr-runtime/", env!("CARGO_PKG_VERSION"));
    assert!(own.starts_with("kbr_runtime-"), "{own}");
    assert!(own.ends_with(version), "{own}");

    let configured = agent(|config| {
        let agent = "mine".parse().unwrap();
        config.headers.push((http::header::USER_AGENT, agent));
    });
    assert_eq!(configured.await, "mine");
}
