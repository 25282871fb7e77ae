//! The guide: one Markdown file for each chapter. `kbr help TOPIC` prints it, and these pages show it.
//!
//! A chapter refers to another by its topic in brackets, which is a link here and on the web, and
//! can be typed after `kbr help` where it is printed.
//!
//! The chapters of `kbr-runtime` are in its crate, whose documentation has the pages. Their topics begin with `runtime-`.

/// A chapter of the guide.
#[derive(Debug, Clone, Copy)]
pub struct Chapter {
    /// What is typed after `kbr help`, and the name of the file.
    pub topic: &'static str,
    /// The Markdown, with its title in the first line.
    text: &'static str,
}

/// Begins the topics of the chapters of `kbr-runtime`, and not the names of their files.
const RUNTIME: &str = "runtime-";

/// The chapters, in reading order, and a page of the documentation for each.
///
/// The first definition of a link counts: on these pages it is a module, in the files another file.
macro_rules! chapters {
    ($($topic:literal $module:ident,)* runtime: $($file:literal,)*) => {
        pub const CHAPTERS: &[Chapter] = &[$(Chapter {
            topic: $topic,
            text: include_str!(concat!("guide/", $topic, ".md")),
        }),*];
        /// Those of `kbr-runtime`, in reading order.
        pub const RUNTIME_CHAPTERS: &[Chapter] = &[$(Chapter {
            topic: concat!("runtime-", $file),
            text: include_str!(concat!(
                "../templates/third_party/kbr-runtime/src/guide/",
                $file,
                ".md"
            )),
        }),*];
        #[cfg(doc)]
        macro_rules! links {
            () => {
                concat!(
                    $("[", $topic, "]: ", stringify!($module), "\n",)*
                    $("[runtime-", $file, "]: crate::guide\n",)*
                )
            };
        }
        $(
            #[cfg(doc)]
            #[doc = links!()]
            #[doc = ""]
            #[doc = include_str!(concat!("guide/", $topic, ".md"))]
            pub mod $module {}
        )*
    };
}

chapters! {
    "first-operator" first_operator,
    "developing" developing,
    "types" types,
    "owned-objects" owned_objects,
    "images" images,
    "external-types" external_types,
    "existing" existing,
    "webhooks" webhooks,
    "policies" policies,
    "versions" versions,
    "testing" testing,
    "crashes" crashes,
    "rbac" rbac,
    "settings" settings,
    "namespaces" namespaces,
    "multigroup" multigroup,
    "deploying" deploying,
    "charts" charts,
    "bundles" bundles,
    "metrics" metrics,
    "deleting" deleting,
    "renaming" renaming,
    "upgrading" upgrading,
    "from-kubebuilder" from_kubebuilder,
    "markers" markers,
    "json" json,
    "errors" errors,
    "files" files,
    runtime:
    "reconcile",
    "owned-objects",
    "caches",
    "finalizers",
    "status",
    "errors",
    "replicas",
    "metrics",
    "webhooks",
    "testing",
    "controller-runtime",
    "kube-rs",
}

impl Chapter {
    /// The chapter of that topic.
    pub fn of(topic: &str) -> Option<Self> {
        let mut chapters = CHAPTERS.iter().chain(RUNTIME_CHAPTERS).copied();
        chapters.find(|chapter| chapter.topic == topic)
    }

    /// What the first line says.
    pub fn title(self) -> &'static str {
        let first = self.text.lines().next().unwrap_or_default();
        first.trim_start_matches("# ")
    }

    /// The text for a terminal, where nobody can follow links: without their definitions, with names of code as plain
    /// code, and with topics as they are typed. Examples are without the lines that only a compiler needs.
    pub fn printed(self) -> String {
        let links: Vec<&str> = self.text.lines().filter_map(defined_link).collect();
        let mut printed = String::new();
        let mut language = None;
        for line in self.text.lines() {
            if let Some(fence) = line.strip_prefix("```") {
                language = match language {
                    None => Some(fence),
                    Some(_) => None,
                };
                printed += line.trim_end_matches(",no_run");
            } else if let Some(language) = language {
                if language.starts_with("rust") && is_hidden(line) {
                    continue;
                }
                printed += line;
            } else if defined_link(line).is_some() {
                continue;
            } else {
                let shown = |text: String, link: &&str| {
                    text.replace(&format!("[{link}]"), &self.shown_link(link))
                };
                printed += &links.iter().fold(line.to_owned(), shown);
            }
            printed.push('\n');
        }
        printed.trim_end().to_owned() + "\n"
    }

    /// How a link to a name of code, or to another chapter, is printed.
    fn shown_link(self, link: &str) -> String {
        if link.starts_with('`') {
            return link.to_owned();
        }
        let is_of_runtime = self.topic.starts_with(RUNTIME);
        format!("[{}{link}]", if is_of_runtime { RUNTIME } else { "" })
    }
}

/// The text of the link that this line defines.
fn defined_link(line: &str) -> Option<&str> {
    let (link, _) = line.strip_prefix('[')?.split_once("]: ")?;
    Some(link)
}

/// Whether rustdoc compiles this line of an example without showing it.
fn is_hidden(line: &str) -> bool {
    line == "#" || line.starts_with("# ")
}

/// The topics, one per line.
pub fn topics() -> String {
    let line = |chapter: &Chapter, width: usize| {
        format!("  {:<width$}{}\n", chapter.topic, chapter.title())
    };
    let own = CHAPTERS.iter().map(|chapter| line(chapter, 18));
    let of_runtime = RUNTIME_CHAPTERS.iter().map(|chapter| line(chapter, 28));
    own.chain(of_runtime).collect()
}
