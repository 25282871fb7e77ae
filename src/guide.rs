//! The guide: one Markdown file for each chapter. `kbr help TOPIC` prints it, and these pages show it.
//!
//! A chapter refers to another by its topic in brackets, which is a link here and on the web, and
//! can be typed after `kbr help` where it is printed.

/// A chapter of the guide.
#[derive(Debug, Clone, Copy)]
pub struct Chapter {
    /// What is typed after `kbr help`, and the name of the file.
    pub topic: &'static str,
    /// The Markdown, with its title in the first line.
    text: &'static str,
}

/// The chapters, in reading order, and a page of the documentation for each.
///
/// The first definition of a link counts: on these pages it is a module, in the files another file.
macro_rules! chapters {
    ($($topic:literal $module:ident,)*) => {
        pub const CHAPTERS: &[Chapter] = &[$(Chapter {
            topic: $topic,
            text: include_str!(concat!("guide/", $topic, ".md")),
        }),*];
        #[cfg(doc)]
        macro_rules! links {
            () => {
                concat!($("[", $topic, "]: ", stringify!($module), "\n"),*)
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
}

impl Chapter {
    /// The chapter of that topic.
    pub fn of(topic: &str) -> Option<Self> {
        let mut chapters = CHAPTERS.iter().copied();
        chapters.find(|chapter| chapter.topic == topic)
    }

    /// What the first line says.
    pub fn title(self) -> &'static str {
        let first = self.text.lines().next().unwrap_or_default();
        first.trim_start_matches("# ")
    }

    /// The text for a terminal: without the definitions of links, which nobody can follow there.
    pub fn printed(self) -> String {
        let lines = self.text.lines();
        let is_definition = |line: &&str| line.starts_with('[') && line.contains("]: ");
        let text: Vec<&str> = lines.filter(|line| !is_definition(line)).collect();
        text.join("\n").trim_end().to_owned() + "\n"
    }
}

/// The topics, one per line.
pub fn topics() -> String {
    let line = |chapter: &Chapter| format!("  {:<18}{}\n", chapter.topic, chapter.title());
    CHAPTERS.iter().map(line).collect()
}
