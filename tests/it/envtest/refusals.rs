//! The exact messages when `kbr envtest` refuses something, and that nothing is left in the cache.

use snapbox::str;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::server::{Answer, Server, archive, index, pack, sha512};
use super::{SERVER, User, serve, serve_answer, serve_archive, use_from, with_go};
use crate::support::{Run, names, platform};

const SOURCE: &str = "add `--from-source` to build it with Go";

const MODULES: &str = "Go downloads modules from `go env GOPROXY`, and verifies them with `go env GOSUMDB`: make sure that \
    both are reachable and have that version, or set KUBEBUILDER_ASSETS to a folder that has etcd, \
    kube-apiserver, kubectl";

/// The message after the status lines, with `URL` instead of the server's URL.
fn words(run: &Run, server: &Server) -> String {
    let at = run
        .stderr
        .find("error: ")
        .unwrap_or_else(|| panic!("{}", run.stderr));
    run.stderr[at..].replace(&server.url(), "URL")
}

/// Asserts that `use` from `server` with `rest` fails with exactly that message, and installs nothing.
#[track_caller]
fn refused(server: &Server, rest: &str, text: &str) {
    let user = User::new();
    let run = user.kbr(&use_from(server, rest)).failure();
    assert_eq!(words(&run, server), text);
    assert_eq!(run.stdout, "");
    user.has_nothing();
}

#[test]
fn a_wrong_checksum() {
    let whole = archive("1.37.3", &SERVER);
    let (right, wrong) = (sha512(&whole), "ab".repeat(64));
    refused(
        &serve_answer("1.37.3", &wrong, Answer::ok(whole)),
        "",
        &format!(
            "error: `URL/archive` has the SHA-512 checksum\n       {right}, but the index says\n       \
             {wrong}\n help: run the command again; if it fails again, report it to the \
             maintainers of the index, or {SOURCE}\n"
        ),
    );
}

#[test]
fn a_version_that_the_index_does_not_have() {
    let server = serve("1.37.3");
    for (version, text) in [
        (
            "1.37.4",
            format!(
                "no Kubernetes 1.37.4; its releases of 1.37: 1.37.3\n help: type one of these, or {SOURCE}\n"
            ),
        ),
        (
            "1.37.0",
            format!(
                "no Kubernetes 1.37.0; its releases of 1.37: 1.37.3\n help: type one of these, or {SOURCE}\n"
            ),
        ),
        (
            "1.35",
            format!(
                "no Kubernetes 1.35; it has no release of 1.35\n help: type another version, or {SOURCE}\n"
            ),
        ),
    ] {
        refused(
            &server,
            version,
            &format!("error: the index `URL/index.yaml` has {text}"),
        );
    }
    assert!(server.requests().iter().all(|path| path == "/index.yaml"));
}

#[test]
fn a_platform_that_the_index_does_not_have() {
    let server = Server::start(|url| {
        let text = index("1.37.3", "plan9-mips", "", url);
        vec![("/index.yaml".to_owned(), Answer::ok(text.into_bytes()))]
    });
    let platform = platform();
    refused(
        &server,
        "",
        &format!(
            "error: the index `URL/index.yaml` has no archive of Kubernetes 1.37.3 for {platform}\n \
             help: {SOURCE}\n"
        ),
    );
}

#[test]
fn an_invalid_index() {
    let help = format!(
        "\n help: check that the URL is that of an index of envtest releases, or {SOURCE}\n"
    );
    let page = "<html>".to_owned() + &"word ".repeat(1000);
    for (text, reason) in [
        (
            "releases: {}",
            "error: the index `URL/index.yaml` has no Kubernetes 1.37; it has no release of 1.37",
        ),
        ("other: {}", "missing field `releases`"),
        (
            "releases: {v1.37.3: {x: {selfLink: y}}}",
            "missing field `hash`",
        ),
        (&page, "invalid type: string \"<html>word"),
    ] {
        let index = Answer::ok(text.as_bytes().to_vec());
        let server = Server::start(|_| vec![("/index.yaml".to_owned(), index)]);
        let user = User::new();
        let run = user.kbr(&use_from(&server, "")).failure();
        let words = words(&run, &server);
        assert!(words.contains(reason), "{words}");
        assert!(words.len() < 400, "{words}");
        if !reason.starts_with("error") {
            let start = "error: `URL/index.yaml` is not an index of envtest releases: ";
            assert!(
                words.starts_with(start) && words.ends_with(&help),
                "{words}"
            );
        }
        user.has_nothing();
    }
}

#[test]
fn a_missing_index_or_archive() {
    let help =
        format!("help: check that the URL is that of an index of envtest releases, or {SOURCE}\n");
    let text = format!("error: `URL/index.yaml` answered with HTTP status 404\n {help}");
    refused(&Server::start(|_| Vec::new()), "", &text);
    let text = format!("error: `URL/archive` answered with HTTP status 404\n {help}");
    refused(&serve_answer("1.37.3", "", Answer::status(404)), "", &text);
}

#[test]
fn a_truncated_archive() {
    let mut whole = Answer::ok(archive("1.37.3", &SERVER));
    let hash = sha512(&whole.body);
    whole.body.truncate(whole.length / 2);
    refused(
        &serve_answer("1.37.3", &hash, whole),
        "",
        &format!(
            "error: the download of `URL/archive` was interrupted: Peer disconnected\n \
             help: run the command again, or {SOURCE}\n"
        ),
    );
}

#[test]
fn an_invalid_archive() {
    refused(
        &serve_archive("1.37.3", b"no archive".to_vec()),
        "",
        &format!(
            "error: `URL/archive` is a broken archive: invalid gzip header\n \
             help: report this to the maintainers of the index, or {SOURCE}\n"
        ),
    );
}

#[test]
fn an_archive_without_etcd() {
    let help = format!("\n help: report this to the maintainers of the index, or {SOURCE}\n");
    refused(
        &serve_archive("1.37.3", archive("1.37.3", &["kube-apiserver", "kubectl"])),
        "",
        &format!("error: the archive `URL/archive` has no etcd{help}"),
    );
    // A link is not a binary, and neither is a file below a path of that name.
    let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let files = [
        file("x/etcd", ""),
        file("x/etcd/other", "text"),
        file("x/kube-apiserver", "text"),
        file("x/kubectl", "text"),
    ];
    let server = serve_archive("1.37.3", pack(&files));
    refused(
        &server,
        "",
        &format!("error: the archive `URL/archive` has no etcd{help}"),
    );
}

#[test]
fn a_name_that_leads_out_of_the_folder_is_not_followed() {
    let files = ["../../../../etcd", "/kube-apiserver", "kubectl"];
    let files = files.map(|name| (name.to_owned(), "text".to_owned()));
    let (user, server) = (User::new(), serve_archive("1.37.3", pack(&files)));
    user.kbr(&use_from(&server, "")).success();
    assert_eq!(names(&user.folder("1.37.3")), SERVER);
    assert_eq!(names(user.sandbox.path()), ["data"]);
    assert_eq!(names(&user.data()), ["kubebuilder-envtest"]);
}

#[test]
fn an_unreachable_mirror() {
    let help = "\n help: check the network, HTTPS_PROXY and the URL, or omit `--index`\n";
    let url = serve("1.37.3").url();
    let user = User::new();
    let run = user.kbr(&format!("use --index {url}/index.yaml"));
    run.refused(
        1,
        format!(
            "    Fetching {url}/index.yaml\nerror: could not reach `{url}/index.yaml`: Connection \
             refused (os error 111){help}"
        ),
    );
    user.has_nothing();

    for status in [403, 500, 503] {
        let server = serve_answer("1.37.3", "", Answer::status(status));
        let text = format!("error: could not reach `URL/archive`: HTTP status {status}{help}");
        refused(&server, "", &text);
    }
    for url in ["index.yaml", "ftp://127.0.0.1/", "http://"] {
        let run = user.kbr(&format!("use --index {url}")).failure();
        assert!(
            run.stderr
                .contains(&format!("error: could not reach `{url}`: ")),
            "{}",
            run.stderr
        );
        assert!(run.stderr.ends_with(help), "{}", run.stderr);
    }
}

#[test]
fn an_invalid_version() {
    let user = User::new();
    for line in ["use", "path", "clean"] {
        for version in ["latest", "1", "1.37.0-beta.0", "../x", "1.37.2-linux-amd64"] {
            user.kbr(&format!("{line} {version}")).refused(
                2,
                format!(
                    "error: invalid value '{version}' for '[VERSION]': `{version}` is not a version of \
                     Kubernetes; type a minor such as `1.37`, or a version such as `1.37.2`\n\n\
                     For more information, try '--help'.\n"
                ),
            );
        }
    }
    assert!(!user.cache().exists());
}

#[test]
fn the_path_of_a_version_that_is_not_installed() {
    let user = User::new();
    for (version, typed) in [("1.37", ""), ("1.35", " 1.35"), ("1.37.2", " 1.37.2")] {
        user.kbr(&format!("path{typed}")).refused(
            1,
            format!(
                "error: Kubernetes {version} is not installed in `DATA/kubebuilder-envtest/k8s`\n \
                 help: type `kbr envtest use{typed}`\n"
            ),
        );
    }
    assert!(!user.cache().exists());
    user.install("1.37.2", &["kube-apiserver"]);
    user.kbr("path").refused(
        1,
        format!(
            "error: `DATA/kubebuilder-envtest/k8s/1.37.2-{}` has no etcd, kubectl\n \
             help: type `kbr envtest use`\n",
            platform()
        ),
    );
}

#[test]
fn a_folder_of_the_users_that_lacks_a_binary() {
    let user = User::new();
    for (have, line, lacking) in [
        (&["etcd"][..], "path", "kube-apiserver, kubectl"),
        (&["etcd"], "use", "kube-apiserver, kubectl"),
        (
            &SERVER,
            "use --with-controller-manager",
            "kube-controller-manager",
        ),
        (&[], "use", "etcd, kube-apiserver, kubectl"),
    ] {
        let own = user.sandbox.path().join("own");
        let _ = fs::remove_dir_all(&own);
        for name in have {
            user.sandbox.write(&format!("own/{name}"), "");
        }
        let mut command = user.command(line);
        command.env("KUBEBUILDER_ASSETS", &own);
        user.run(command).refused(
            1,
            format!(
                "error: `{}`, which KUBEBUILDER_ASSETS names, has no {lacking}\n help: put them \
                 there, or unset KUBEBUILDER_ASSETS and type `kbr envtest use`\n",
                own.display()
            ),
        );
    }
    assert!(!user.cache().exists());
}

#[test]
fn a_full_disk() {
    // A limit on the size of files makes write(2) itself fail, after it has written some.
    let limited = |user: &User, line: &str, blocks: u32| {
        let mut command = user.start("sh");
        command.args([
            "-c",
            &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" envtest {line}"),
        ]);
        command.arg(env!("CARGO_BIN_EXE_kbr"));
        user.run(command)
    };
    // 40 000 bytes of noise, which does not compress.
    let mut word = 1u32;
    let mut noise = String::new();
    while noise.len() < 40_000 {
        word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        noise.push(char::from(b'!' + (word >> 24) as u8 % 90));
    }
    let files = SERVER.map(|name| (format!("x/{name}"), noise.clone()));
    let user = User::new();
    let large = serve_archive("1.37.3", pack(&files));
    let run = limited(&user, &use_from(&large, ""), 8).failure();
    let text = "error: could not write `DATA/kubebuilder-envtest/WORK/archive.tar.gz`: File too large (os error 27)\n";
    assert_eq!(words(&run, &large), text);
    user.has_nothing();

    // Zeros compress: the archive fits, but its files do not.
    let files = SERVER.map(|name| (format!("x/{name}"), "0".repeat(40_000)));
    let small = serve_archive("1.37.3", pack(&files));
    let run = limited(&user, &use_from(&small, ""), 8).failure();
    let text = "error: could not write `DATA/kubebuilder-envtest/WORK/bin/etcd`: File too large (os error 27)\n";
    assert_eq!(words(&run, &small), text);
    user.has_nothing();
    user.kbr(&use_from(&small, "")).success();
}

#[test]
fn a_cache_that_cannot_be_created() {
    let user = User::new();
    user.sandbox.write("data/kubebuilder-envtest", "");
    let path = "DATA/kubebuilder-envtest";
    user.kbr("use --from-source").refused(
        1,
        format!("error: could not read `{path}/k8s`: Not a directory (os error 20)\n"),
    );
}

#[test]
fn a_missing_go() {
    let user = User::new();
    let mut command = user.command("use --from-source");
    command.env("PATH", user.data());
    let run = user.run(command).failure();
    let at = run.stderr.find("error: ").expect("an error");
    assert_eq!(
        run.stderr[at..],
        *"error: could not start `go`, which builds Kubernetes from source: No such file or directory \
          (os error 2)\n \
          help: install the newest Go from https://go.dev/dl, or set \
          KUBEBUILDER_ASSETS to a folder that has etcd, kube-apiserver, kubectl\n"
    );
    user.has_nothing();
}

#[test]
fn a_go_that_is_too_old() {
    for (version, toolchain, or) in [
        ("1.20.14", "", ""),
        (
            "1.25.9",
            "local",
            ", or set GOTOOLCHAIN=auto, which is `local` now, so that `go` fetches it",
        ),
        (
            "1.25.9",
            "go1.25.9",
            ", or set GOTOOLCHAIN=auto, which is `go1.25.9` now, so that `go` fetches it",
        ),
    ] {
        let user = User::new();
        let path = with_go(&user, version, toolchain, "exit 3");
        let mut command = user.command("use 1.37.3 --from-source");
        command.env("PATH", path);
        let run = user.run(command).failure();
        let at = run.stderr.find("error: ").expect("an error");
        assert_eq!(
            run.stderr[at..],
            format!(
                "error: Kubernetes 1.37.3 needs Go 1.26.0, but `go` is {version}\n help: install Go \
                 1.26.0 or newer from https://go.dev/dl{or}\n"
            )
        );
        user.has_nothing();
    }
}

#[test]
fn a_minor_without_a_known_patch() {
    let user = User::new();
    user.kbr("use 1.29 --from-source").refused(
        1,
        "error: kbr does not know a patch release of Kubernetes 1.29 to build from source\n \
         help: name an exact version, such as `kbr envtest use 1.29.1 --from-source`\n",
    );
    user.has_nothing();
}

/// The real Go, without a network.
#[test]
fn an_unreachable_module_proxy() {
    let user = User::new();
    for (proxy, why) in [
        ("off", "module lookup disabled by GOPROXY=off".to_owned()),
        (
            "http://127.0.0.1:1",
            "Get \"http://127.0.0.1:1/k8s.io/kubernetes/@v/v1.37.2.info\": dial tcp 127.0.0.1:1: \
             connect: connection refused"
                .to_owned(),
        ),
    ] {
        let mut command = user.command("use --from-source");
        command
            .env("GOPROXY", proxy)
            .env("GOFLAGS", "-mod=vendor")
            .env("GOTOOLCHAIN", "local");
        let run = user.run(command).failure();
        let at = run.stderr.find("error: ").expect("an error");
        assert_eq!(
            run.stderr[at..],
            format!(
                "error: `go mod download k8s.io/kubernetes@v1.37.2` failed:\n       \
                 k8s.io/kubernetes@v1.37.2: {why}\n help: {MODULES}\n"
            )
        );
        user.has_nothing();
    }
}

#[test]
fn a_build_that_fails() {
    let user = User::new();
    let fails = "echo cmp >&2; echo 'go: downloading x v1.0.0' >&2; \
                 i=0; while [ $i -lt 50 ]; do i=$((i+1)); echo \"line $i\" >&2; done; exit 1";
    let full = "echo 'link: write: no space left on device' >&2; exit 1";
    let lines: String = (11..=50)
        .map(|line| format!("       line {line}\n"))
        .collect();
    for (build, output, help) in [
        (fails, lines, MODULES),
        (
            full,
            "       link: write: no space left on device\n".to_owned(),
            "the disk of `DATA/kubebuilder-envtest/WORK` is full: the build needs about 6 GB; free \
             some space, or set XDG_DATA_HOME to a folder on another disk",
        ),
    ] {
        let mut command = user.command("use --from-source");
        command.env("PATH", with_go(&user, "1.26.1", "local", build));
        let run = user.run(command).failure();
        let at = run.stderr.find("error: ").expect("an error");
        assert_eq!(
            run.stderr[at..],
            format!("error: `go build go.etcd.io/etcd/server/v3` failed:\n{output} help: {help}\n")
        );
        user.has_nothing();
    }
}

#[test]
fn a_folder_that_is_not_writable() {
    let user = User::new();
    let data = user.data();
    fs::set_permissions(&data, fs::Permissions::from_mode(0o555)).expect("the mode");
    let may_anyway = fs::create_dir(data.join("try")).is_ok();
    if may_anyway {
        // root may write everywhere.
        fs::remove_dir(data.join("try")).expect("the folder");
    } else {
        user.kbr("use --from-source").refused(1, str![]);
    }
    fs::set_permissions(&data, fs::Permissions::from_mode(0o755)).expect("the mode");
    assert_eq!(names(&data), [""; 0]);
}
