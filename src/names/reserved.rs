//! Well-formed names that cannot be used because Rust, cargo, or the code that kbr emits already uses
//! them.

use crate::lock;

/// Words that cannot be the name of a crate: Rust's keywords and the crates of the toolchain itself.
const RUST_WORDS: &str = "\
    abstract alloc as async await become box break const continue core crate do dyn else enum extern \
    false final fn for gen if impl in let loop macro match mod move mut override priv proc-macro pub ref \
    return self static std struct super test trait true try type typeof unsafe unsized use where while \
    yield";

/// The words among them that are crates, and may be names of modules.
const RUST_CRATES: &str = "alloc core proc-macro std test";

/// Whether a list, separated by spaces, has that word.
pub(crate) fn is_among(words: &str, word: &str) -> bool {
    words.split(' ').any(|known| known == word)
}

/// Whether the word is a keyword of Rust.
pub(crate) fn is_keyword(word: &str) -> bool {
    is_among(RUST_WORDS, word) && !is_among(RUST_CRATES, word)
}

/// Folders that cargo keeps in its target directory; a binary of that name collides with them.
const CARGO_FOLDERS: &str = "build deps examples incremental";

/// Device names of Windows, where no file can have them.
const DEVICES: &str = "\
    aux com1 com2 com3 com4 com5 com6 com7 com8 com9 con lpt1 lpt2 lpt3 lpt4 lpt5 lpt6 lpt7 lpt8 lpt9 nul prn";

/// The workspace members' names inside the project, and its CRD printer.
const OWN_CRATES: &str = "api crdgen kbr-runtime kbr-testing";

/// Names that the module of an API group cannot have: files that cargo or kbr's own tests have in the
/// same folders, the types of other operators, and crates that the code next to it refers to.
const MODULES: &str = "bin external kbr_runtime kbr_testing lib main manifests samples";

/// Names that the module of a version cannot have: what the code that imports it imports too, the modules there, and the
/// crates that it refers to. Tests compare the templates and imported types with this list.
const BESIDE_VERSIONS: &str = "\
    all api appsv1 autoscalingv2 batchv1 children clippy conditions conversion_loses_nothing corev1 discoveryv1 env intstr \
    jiff json k8s_openapi kube meta namespaced networkingv1 object owned rbacv1 read resource schemars serde serde_json \
    status tests thiserror tokio tracing";

/// Types, traits and variants of Rust's prelude, macros with a type's name, and the one keyword
/// that is upper camel case.
const PRELUDE: &str = "\
    AsMut AsRef AsyncFn AsyncFnMut AsyncFnOnce Box Clone Copy Debug Default DoubleEndedIterator Drop Eq \
    Err ExactSizeIterator Extend Fn FnMut FnOnce From FromIterator Hash Into IntoFuture IntoIterator \
    Iterator None Ok Option Ord PartialEq PartialOrd Result Self Send Some String";

/// The rest of the prelude, and every type that the emitted code refers to. A test compares the
/// templates with this list.
const EMITTED: &str = "\
    Action Api Arc Client Clock Condition ConditionStatus Context Controller CustomResource Deserialize \
    Error Handle JsonSchema Manager Object ResourceExt Serialize Sized Sync Timestamp ToOwned ToString \
    TryFrom TryInto Unpin Vec";

/// The name of the Rust module, and of the folder, for an API group in the project of that crate. Groups
/// have the same name only if they differ just in `-` and `.`.
pub(crate) fn group_module(group: &str, crate_name: &str) -> String {
    let module = group.replace(['-', '.'], "_");
    let is_taken = (is_among(RUST_WORDS, &module) && module != "core")
        || is_among(DEVICES, &module)
        || is_among(MODULES, &module)
        || module == crate_name;
    match () {
        () if is_taken => module + "_",
        () if module.starts_with(|c: char| c.is_ascii_digit()) => format!("_{module}"),
        () => module,
    }
}

/// The name of the Rust module of an API version.
pub(crate) fn version_module(version: &str) -> String {
    let module = group_module(version, "");
    if is_among(BESIDE_VERSIONS, &module) {
        module + "_"
    } else {
        module
    }
}

/// Why `name` cannot name a project, if it cannot.
pub(super) fn project_name(name: &str) -> Option<String> {
    let why = match name {
        _ if is_among(RUST_WORDS, name) => "it is reserved by Rust or its toolchain",
        _ if is_among(CARGO_FOLDERS, name) => {
            "cargo keeps a folder of that name in its target directory"
        }
        _ if is_among(DEVICES, name) => "Windows has a device of that name",
        _ if is_among(OWN_CRATES, name) => "every project has a part of that name",
        _ => {
            let packages = [name.to_owned(), format!("{name}-api")];
            let taken = packages.iter().find(|package| lock::depends_on(package))?;
            return Some(format!(
                "the operator depends on a package called `{taken}`"
            ));
        }
    };
    Some(why.to_owned())
}

/// Why `name` cannot be a kind, if it cannot.
pub(super) fn kind(name: &str) -> Option<&'static str> {
    if is_among(PRELUDE, name) {
        return Some("it is in Rust's prelude");
    }
    is_among(EMITTED, name).then_some("the emitted code uses that name")
}
