//! The guide: one Markdown file for each chapter. `kbr help TOPIC` prints it, and these pages show it.
//!
//! A chapter refers to another by its topic in brackets, which is a link here and on the web, and
//! can be typed after `kbr help` where it is printed.
//!
//! The chapters of `kbr-runtime` are in its crate, whose documentation has the pages. Their topics begin with `runtime-`.

/// A chapter of the guide.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chapter {
    /// What is typed after `kbr help`, and the name of the file.
    pub(crate) topic: &'static str,
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
        pub(crate) const CHAPTERS: &[Chapter] = &[$(Chapter {
            topic: $topic,
            text: include_str!(concat!("guide/", $topic, ".md")),
        }),*];
        /// Those of `kbr-runtime`, in reading order.
        pub(crate) const RUNTIME_CHAPTERS: &[Chapter] = &[$(Chapter {
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
            pub(crate) mod $module {}
        )*
    };
}

chapters! {
    "first-operator" first_operator,
    "commands" commands,
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
    "gitops" gitops,
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

/// Other words for a topic, each of which `kbr help` takes too, as it takes the singular; a phrase has `-` in place of
/// spaces.
const SYNONYMS: [(&str, &str); 26] = [
    ("admission certificates mutating validating", "webhooks"),
    ("alerts grafana prometheus", "metrics"),
    ("cache informer indexer", "runtime-caches"),
    ("cel", "policies"),
    ("condition conditions events", "runtime-status"),
    (
        "controller controllers reconcile reconciler",
        "runtime-reconcile",
    ),
    ("conversion hub spoke storage", "versions"),
    ("crd crds schema validation", "types"),
    ("debug debugging", "developing"),
    ("deploy install installing kustomize uninstall", "deploying"),
    ("env environment flags", "settings"),
    ("argo argo-cd flux", "gitops"),
    ("finalizer finalizers", "runtime-finalizers"),
    ("go migrate port", "existing"),
    ("helm", "charts"),
    (
        "ha leader leader-election lease replicas shutdown",
        "runtime-replicas",
    ),
    ("kubebuilder", "from-kubebuilder"),
    ("logs logging tracing", "runtime-metrics"),
    ("make makefile options", "commands"),
    ("multi-group", "multigroup"),
    ("olm", "bundles"),
    ("permission permissions role roles", "rbac"),
    ("quick-start quickstart start tutorial", "first-operator"),
    ("backoff requeue retry", "runtime-errors"),
    ("upgrade", "upgrading"),
    ("watch-namespace", "namespaces"),
];

/// The topic that a word stands for, or else the word.
pub(crate) fn topic(word: &str) -> &str {
    let is_one = |(words, _): &&(&str, &str)| words.split(' ').any(|it| it == word);
    SYNONYMS
        .iter()
        .find(is_one)
        .map_or(word, |(_, topic)| topic)
}

/// The words that `kbr help` takes in place of a topic.
pub(crate) fn synonyms() -> impl Iterator<Item = &'static str> {
    SYNONYMS.iter().flat_map(|(words, _)| words.split(' '))
}

/// Every chapter, also those of `kbr-runtime`, in reading order.
pub(crate) fn every_chapter() -> impl Iterator<Item = Chapter> {
    CHAPTERS.iter().chain(RUNTIME_CHAPTERS).copied()
}

impl Chapter {
    /// The chapter of that topic.
    pub(crate) fn of(topic: &str) -> Option<Self> {
        every_chapter().find(|chapter| chapter.topic == topic)
    }

    /// The chapter of the topic that was typed: also by another word, in the singular, or without `runtime-`.
    pub(crate) fn named(words: &[String]) -> Option<Self> {
        let typed = words.join("-").to_lowercase();
        let singular = typed.strip_suffix('y').map(|stem| format!("{stem}ies"));
        let plurals = [format!("{typed}s"), format!("{typed}es")];
        let forms = [typed].into_iter().chain(plurals).chain(singular);
        let forms: Vec<String> = forms.collect();
        let own = forms.iter().find_map(|it| Self::of(topic(it)));
        own.or_else(|| {
            let mut forms = forms.iter();
            forms.find_map(|it| Self::of(&format!("{RUNTIME}{it}")))
        })
    }

    /// How often a word is in the chapter.
    pub(crate) fn mentions(self, word: &str) -> usize {
        let text = self.text.to_lowercase();
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '-');
        words
            .filter(|it| it.trim_end_matches('s') == word.trim_end_matches('s'))
            .count()
    }

    /// What the first line says.
    pub(crate) fn title(self) -> &'static str {
        let first = self.text.lines().next().unwrap_or_default();
        first.trim_start_matches("# ")
    }

    /// The text for a terminal, where nobody can follow links: without their definitions, with names of code as plain
    /// code, and with topics as they are typed. Examples are without the lines that only a compiler needs.
    pub(crate) fn printed(self) -> String {
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
pub(crate) fn topics() -> String {
    let line = |chapter: Chapter| format!("  {:<28}{}\n", chapter.topic, chapter.title());
    let lines: String = every_chapter().map(line).collect();
    format!("Topics of the guide, for `kbr help TOPIC`:\n{lines}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_synonym_leads_to_a_chapter_and_is_no_topic() {
        for (words, topic) in SYNONYMS {
            assert!(Chapter::of(topic).is_some(), "{topic}");
            for word in words.split(' ') {
                assert!(Chapter::of(word).is_none(), "{word}");
            }
        }
        let typed = ["Leader", "election"].map(str::to_owned);
        let chapter = Chapter::named(&typed).map(|it| it.topic);
        assert_eq!(chapter, Some("runtime-replicas"));
    }
}
