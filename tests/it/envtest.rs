//! `kbr envtest` against a server on loopback that serves an index and archives.
//!
//! The binaries here are shell scripts: these tests check where files come from and where they are put.
//! No test needs a network, and none uses the cache of the user who runs it.

mod refusals;
mod server;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{Run, Sandbox, names, platform};
use server::{Answer, Server, archive, index, script, sha512};

const SERVER: [&str; 3] = ["etcd", "kube-apiserver", "kubectl"];

/// A user with a cache of their own.
struct User {
    sandbox: Sandbox,
}

impl User {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        fs::create_dir(sandbox.path().join("data")).expect("a folder");
        Self { sandbox }
    }

    fn data(&self) -> PathBuf {
        self.sandbox.path().join("data")
    }

    fn cache(&self) -> PathBuf {
        self.data().join("kubebuilder-envtest")
    }

    fn folder(&self, version: &str) -> PathBuf {
        let name = format!("{version}-{}", platform());
        self.cache().join("k8s").join(name)
    }

    /// `program` as this user starts it, without the environment of the user who runs the tests.
    fn start(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.sandbox.path());
        command.env("HOME", self.sandbox.path());
        command.env("XDG_DATA_HOME", self.data());
        for name in [
            "KUBEBUILDER_ASSETS",
            "ALL_PROXY",
            "all_proxy",
            "HTTPS_PROXY",
            "https_proxy",
            "HTTP_PROXY",
            "http_proxy",
            "NO_PROXY",
            "no_proxy",
        ] {
            command.env_remove(name);
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn command(&self, line: &str) -> Command {
        let mut command = self.start(env!("CARGO_BIN_EXE_kbr"));
        command.arg("envtest").args(line.split_whitespace());
        command
    }

    fn kbr(&self, line: &str) -> Run {
        self.run(self.command(line))
    }

    fn run(&self, mut command: Command) -> Run {
        self.plain(command.output().expect("it runs").into())
    }

    /// The run with `DATA` instead of this user's data folder in its messages, and `WORK` instead of a work folder.
    fn plain(&self, mut run: Run) -> Run {
        let data = self.data().display().to_string();
        let mut words = run.stderr.replace(&data, "DATA");
        while let Some(at) = words.find("kbr-work-") {
            words.replace_range(at..at + "kbr-work-XXXXXX".len(), "WORK");
        }
        run.stderr = words;
        run
    }

    /// Writes a version's folder without kbr.
    fn install(&self, version: &str, binaries: &[&str]) {
        fs::create_dir_all(self.folder(version)).expect("a folder");
        for name in binaries {
            fs::write(self.folder(version).join(name), script(name, "0")).expect("a file");
        }
    }

    /// Asserts that the cache only has the lock file that every writer leaves.
    #[track_caller]
    fn has_nothing(&self) {
        assert_eq!(names(&self.cache()), ["kbr.lock"]);
    }

    /// Asserts that the version's folder has these files, each of them complete, and that nothing else is left.
    #[track_caller]
    fn has(&self, version: &str, files: &[(&str, &str)]) {
        assert_eq!(names(&self.cache()), ["k8s", "kbr.lock"]);
        let folder = self.folder(version);
        let expected: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
        assert_eq!(names(&folder), expected);
        for (name, version) in files {
            let path = folder.join(name);
            assert_eq!(
                fs::read_to_string(&path).expect("text"),
                script(name, version)
            );
        }
    }
}

/// Serves one version: its index at `/index.yaml`, and its archive at `/archive`.
fn serve(version: &str) -> Server {
    serve_archive(version, archive(version, &SERVER))
}

fn serve_archive(version: &str, archive: Vec<u8>) -> Server {
    let hash = sha512(&archive);
    serve_answer(version, &hash, Answer::ok(archive))
}

fn serve_answer(version: &str, hash: &str, answer: Answer) -> Server {
    Server::start(|url| {
        let index = index(version, &platform(), hash, &format!("{url}/archive"));
        vec![
            ("/index.yaml".to_owned(), Answer::ok(index.into_bytes())),
            ("/archive".to_owned(), answer),
        ]
    })
}

fn use_from(server: &Server, rest: &str) -> String {
    format!("use --index {}/index.yaml {rest}", server.url())
}

fn wait_until(is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(60), "waited too long");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Installs a fake `go` of that version, with a go.mod for Kubernetes that needs Go 1.26.0, which runs `build`
/// instead of compiling. Returns the PATH.
fn with_go(user: &User, version: &str, toolchain: &str, build: &str) -> String {
    let bin = user.sandbox.path().join("bin");
    let text = format!(
        "#!/bin/sh\n\
         case \"$1\" in\n\
         env) echo '{{\"GOVERSION\": \"go{version}\", \"GOTOOLCHAIN\": \"{toolchain}\"}}' ;;\n\
         mod) printf 'go 1.26.0\\nrequire (\\nk8s.io/api v0.0.0\\ngo.etcd.io/etcd/api/v3 v3.6.8\\n)\\n' > \"$GOPATH.mod\"\n\
         printf '{{\"GoMod\": \"%s\"}}' \"$GOPATH.mod\" ;;\n\
         build) {build} ;;\n\
         esac\n"
    );
    user.sandbox.write("bin/go", &text);
    fs::set_permissions(bin.join("go"), fs::Permissions::from_mode(0o755)).expect("the mode");
    format!("{}:/usr/bin:/bin", bin.display())
}

/// A build that writes a script instead of each binary.
const BUILDS: &str = "echo \"$GOFLAGS $GOOS-$GOARCH $CGO_ENABLED\" > \"$GOPATH.env\"\n\
    for package; do :; done\nwhile [ \"$1\" != -o ]; do shift; done\n\
    printf '#!/bin/sh\\necho %s v9\\n' \"${2##*/}\" > \"$2\"";

#[test]
fn a_version_is_installed_listed_found_and_removed() {
    let (user, server) = (User::new(), serve("1.37.3"));
    let url = server.url();
    let run = user.kbr(&use_from(&server, "")).success();
    assert_eq!(run.stdout, "");
    let folder = format!("DATA/kubebuilder-envtest/k8s/1.37.3-{}", platform());
    assert_eq!(
        run.status(),
        [
            format!("Fetching {url}/index.yaml"),
            format!("Downloading {url}/archive"),
            format!("Created {folder}"),
            "Next export KUBEBUILDER_ASSETS=\"$(kbr envtest path)\"".to_owned(),
        ]
    );
    user.has("1.37.3", &SERVER.map(|name| (name, "1.37.3")));
    let etcd = Command::new(user.folder("1.37.3").join("etcd"))
        .output()
        .expect("etcd");
    assert_eq!(etcd.stdout, b"etcd v1.37.3\n");

    // From here on the server is stopped.
    let stopped = use_from(&server, "");
    drop(server);
    for line in [&*stopped, "use", "use v1.37.x", "use --from-source"] {
        let run = user.kbr(line).success();
        assert_eq!(
            run.status(),
            [
                format!("Unchanged {folder}"),
                "Next export KUBEBUILDER_ASSETS=\"$(kbr envtest path)\"".to_owned(),
            ]
        );
    }
    let run = user.kbr("use 1.37.3").success();
    assert!(
        run.stderr
            .ends_with("export KUBEBUILDER_ASSETS=\"$(kbr envtest path 1.37.3)\"\n")
    );

    let installed = user.folder("1.37.3").display().to_string();
    for line in ["path", "path 1.37", "path v1.37.3"] {
        let run = user.kbr(line).success();
        assert_eq!(
            (run.stdout, run.stderr),
            (format!("{installed}\n"), String::new())
        );
    }
    let list = user.kbr("list").success();
    assert_eq!(
        (list.stdout, list.stderr),
        (
            format!(
                "1.37.3-{}  etcd,kube-apiserver,kubectl  {installed}\n",
                platform()
            ),
            String::new()
        )
    );

    let run = user.kbr("clean 1.35").success();
    assert_eq!(
        run.status(),
        ["Unchanged nothing to remove in DATA/kubebuilder-envtest/k8s"]
    );
    let run = user.kbr("clean").success();
    assert_eq!(
        (run.stdout.as_str(), run.status()),
        ("", vec![format!("Removed {folder}")])
    );
    assert_eq!(names(&user.cache().join("k8s")), [""; 0]);
    let run = user.kbr("clean").success();
    assert_eq!(
        run.status(),
        ["Unchanged nothing to remove in DATA/kubebuilder-envtest/k8s"]
    );
    let list = user.kbr("list").success();
    assert_eq!(list.stdout, "");
    assert_eq!(list.status(), ["Empty DATA/kubebuilder-envtest/k8s"]);
}

#[test]
fn a_minor_selects_its_newest_complete_patch_release() {
    let user = User::new();
    user.install("1.37.9", &SERVER);
    user.install("1.37.10", &SERVER);
    user.install("1.37.11", &["etcd"]);
    user.install("1.35.1", &SERVER);
    let path = |version: &str| user.kbr(&format!("path {version}")).success().stdout;
    assert_eq!(path(""), format!("{}\n", user.folder("1.37.10").display()));
    assert_eq!(
        path("1.37.9"),
        format!("{}\n", user.folder("1.37.9").display())
    );
    assert_eq!(
        path("1.35"),
        format!("{}\n", user.folder("1.35.1").display())
    );

    // Folders for another platform, or that are not a version, do not belong to this kbr.
    fs::create_dir(user.cache().join("k8s/1.37.12-plan9-mips")).expect("a folder");
    fs::create_dir(user.cache().join("k8s/other")).expect("a folder");
    let list = user.kbr("list").success().stdout;
    let columns: Vec<&str> = list
        .lines()
        .map(|line| line.rsplit_once("  ").expect("columns").0)
        .collect();
    let here = platform();
    assert_eq!(
        columns,
        [
            "1.37.12-plan9-mips  nothing (incomplete)".to_owned(),
            format!("1.37.11-{here}  etcd (incomplete)"),
            format!("1.37.10-{here}  etcd,kube-apiserver,kubectl"),
            format!("1.37.9-{here}  etcd,kube-apiserver,kubectl"),
            format!("1.35.1-{here}  etcd,kube-apiserver,kubectl"),
        ]
    );
    user.kbr("clean 1.37").success();
    let left = names(&user.cache().join("k8s"));
    assert_eq!(
        left,
        [
            format!("1.35.1-{here}"),
            "1.37.12-plan9-mips".to_owned(),
            "other".to_owned()
        ]
    );
}

#[test]
fn only_missing_binaries_are_added() {
    let (user, server) = (User::new(), serve("1.37.3"));
    user.install("1.37.3", &["kubectl"]);
    // As setup-envtest leaves its folders.
    let folder = user.folder("1.37.3");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).expect("the mode");
    let run = user.kbr(&use_from(&server, "1.37.3")).success();
    assert_eq!(
        run.status()[2],
        format!("Updated DATA/kubebuilder-envtest/k8s/1.37.3-{}", platform())
    );
    let files = [
        ("etcd", "1.37.3"),
        ("kube-apiserver", "1.37.3"),
        ("kubectl", "0"),
    ];
    user.has("1.37.3", &files);
    let mode = fs::metadata(&folder)
        .expect("the folder")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o555);
    user.kbr("clean 1.37.3").success();
    assert!(!folder.exists());
}

#[test]
fn the_controller_manager_comes_from_source() {
    let (user, server) = (User::new(), serve("1.37.3"));
    let path = with_go(&user, "1.26.0", "local", BUILDS);
    let mut command = user.command(&use_from(&server, "--with-controller-manager"));
    command
        .env("PATH", &path)
        .env("GOFLAGS", "-mod=vendor")
        .env("GOOS", "plan9");
    let run = user.run(command).success();
    let folder = format!("DATA/kubebuilder-envtest/k8s/1.37.3-{}", platform());
    assert_eq!(
        run.status()[2..],
        [
            format!("Created {folder}"),
            "Building kube-controller-manager of Kubernetes 1.37.3 from source: about 12 minutes on \
             two cores, and 5 GB in DATA/kubebuilder-envtest/WORK until it is done"
                .to_owned(),
            "Fetching k8s.io/kubernetes@v1.37.3".to_owned(),
            "Building kube-controller-manager v1.37.3 (1 of 1)".to_owned(),
            format!("Updated {folder}"),
            "Next export KUBEBUILDER_ASSETS=\"$(kbr envtest path)\"".to_owned(),
        ]
    );
    let files = [
        ("etcd", "1.37.3"),
        ("kube-apiserver", "1.37.3"),
        ("kube-controller-manager", "9"),
        ("kubectl", "1.37.3"),
    ];
    user.has("1.37.3", &files);
    assert_eq!(server.requests(), ["/index.yaml", "/archive"]);
    user.kbr("use --with-controller-manager").success();
}

#[test]
fn a_download_out_of_reach_is_built_from_source() {
    let user = User::new();
    // A proxy that refuses every CONNECT.
    for status in [403, 407, 503] {
        let proxy = Server::start(|_| {
            vec![(
                "raw.githubusercontent.com:443".to_owned(),
                Answer::status(status),
            )]
        });
        let mut command = user.command("use 1.35");
        command.env("HTTPS_PROXY", proxy.url());
        command.env("PATH", with_go(&user, "1.25.0", "auto", BUILDS));
        let run = user.run(command).success();
        assert_eq!(proxy.requests(), ["raw.githubusercontent.com:443"]);
        let status = run.status();
        assert!(
            status[1].starts_with("Warning could not reach `https://raw.githubusercontent.com/"),
            "{status:?}"
        );
        assert_eq!(
            status[2..],
            [
                "Building etcd, kube-apiserver, kubectl of Kubernetes 1.35.8 from source: about 12 \
                 minutes on two cores, and 5 GB in DATA/kubebuilder-envtest/WORK until it is done",
                "Fetching k8s.io/kubernetes@v1.35.8",
                "Building etcd v3.6.8 (1 of 3)",
                "Building kube-apiserver v1.35.8 (2 of 3)",
                "Building kubectl v1.35.8 (3 of 3)",
                &format!("Created DATA/kubebuilder-envtest/k8s/1.35.8-{}", platform()),
                "Next export KUBEBUILDER_ASSETS=\"$(kbr envtest path 1.35)\"",
            ]
        );
        user.has("1.35.8", &SERVER.map(|name| (name, "9")));
        user.kbr("clean").success();
    }
}

#[test]
fn only_one_of_several_at_once_downloads() {
    let (user, server) = (User::new(), serve("1.37.3"));
    let start = || -> Child { user.command(&use_from(&server, "")).spawn().expect("kbr") };
    let children: Vec<Child> = (0..4).map(|_| start()).collect();
    for child in children {
        let run: Run = child.wait_with_output().expect("its output").into();
        run.success();
    }
    assert_eq!(server.requests(), ["/index.yaml", "/archive"]);
    user.has("1.37.3", &SERVER.map(|name| (name, "1.37.3")));
}

#[test]
fn a_second_kbr_says_that_it_waits() {
    let user = User::new();
    fs::create_dir_all(user.cache()).expect("a folder");
    let lock = fs::File::create(user.cache().join("kbr.lock")).expect("a file");
    lock.lock().expect("the lock");
    let child = user.command("clean").spawn().expect("kbr");
    thread::sleep(Duration::from_millis(300));
    drop(lock);
    let run = user
        .plain(child.wait_with_output().expect("its output").into())
        .success();
    assert_eq!(
        run.status(),
        [
            "Waiting for another kbr, which holds DATA/kubebuilder-envtest/kbr.lock",
            "Unchanged nothing to remove in DATA/kubebuilder-envtest/k8s",
        ]
    );
}

#[test]
fn the_next_kbr_removes_what_a_killed_one_left() {
    let whole = archive("1.37.3", &SERVER);
    let hash = sha512(&whole);
    let half = Answer {
        length: whole.len(),
        body: whole[..whole.len() / 2].to_vec(),
        hangs: true,
        ..Answer::status(200)
    };
    let (user, slow) = (User::new(), serve_answer("1.37.3", &hash, half));
    let left = || {
        let mut left = names(&user.cache());
        left.retain(|name| name.starts_with("kbr-work-"));
        left
    };
    for next in ["use", "clean"] {
        let mut child = user.command(&use_from(&slow, "")).spawn().expect("kbr");
        let is_written = |name: &String| {
            let archive = user.cache().join(name).join("archive.tar.gz");
            fs::metadata(archive).is_ok_and(|file| file.len() > 0)
        };
        wait_until(|| user.cache().exists() && left().iter().any(is_written));
        child.kill().expect("kbr is killed");
        child.wait().expect("kbr ends");
        assert_eq!(left().len(), 1);
        assert!(!user.folder("1.37.3").exists());

        let server = serve("1.37.3");
        let line = if next == "use" {
            use_from(&server, "")
        } else {
            next.to_owned()
        };
        let run = user.kbr(&line).success();
        assert_eq!(left(), [""; 0]);
        if next == "use" {
            user.has("1.37.3", &SERVER.map(|name| (name, "1.37.3")));
            user.kbr("clean").success();
        } else {
            assert_eq!(run.status(), ["Removed DATA/kubebuilder-envtest/WORK"]);
        }
    }
}

#[test]
fn the_users_own_folder_is_used_as_it_is() {
    let user = User::new();
    for name in SERVER {
        user.sandbox.write(&format!("own/{name}"), "");
    }
    let own = user.sandbox.path().join("own");
    let with = |line: &str, folder: &Path| {
        let mut command = user.command(line);
        command.env("KUBEBUILDER_ASSETS", folder);
        user.run(command)
    };
    for line in [
        "use",
        "use 1.30",
        "use --from-source --index http://127.0.0.1:1/",
    ] {
        let run = with(line, &own).success();
        let text = format!("Using {}, which KUBEBUILDER_ASSETS names", own.display());
        assert_eq!((run.stdout.as_str(), run.status()), ("", vec![text]));
    }
    let run = with("path", &own).success();
    assert_eq!(
        (run.stdout, run.stderr),
        (format!("{}\n", own.display()), String::new())
    );
    assert!(!user.cache().exists());

    // A relative folder is relative to that of `-C`.
    let mut command = user.start(env!("CARGO_BIN_EXE_kbr"));
    command
        .args(["-C", "data", "envtest", "path"])
        .env("KUBEBUILDER_ASSETS", "../own");
    assert_eq!(user.run(command).success().stdout, "data/../own\n");

    // An empty value counts as unset, and a folder in the cache is kept too.
    user.install("1.37.3", &SERVER);
    let run = with("path", Path::new("")).success();
    assert_eq!(run.stdout, format!("{}\n", user.folder("1.37.3").display()));
    let run = with("clean", &user.folder("1.37.3")).success();
    let text = format!(
        "Kept DATA/kubebuilder-envtest/k8s/1.37.3-{}, which KUBEBUILDER_ASSETS names",
        platform()
    );
    assert_eq!(run.status(), [text]);
    user.has("1.37.3", &SERVER.map(|name| (name, "0")));
}
