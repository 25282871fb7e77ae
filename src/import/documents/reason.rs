//! What can be wrong with a file, or a CRD in it.

use thiserror::Error;

use crate::yaml::Problem;

/// The reason. Its text continues a sentence that begins with the place.
#[derive(Debug, PartialEq, Eq, Error)]
pub(crate) enum Reason {
    #[error("is a URL")]
    Url { url: String },
    #[error("is not UTF-8")]
    NotText,
    #[error("has no CustomResourceDefinition{}", only(.others))]
    NoCrd {
        /// What it has instead.
        others: String,
    },
    #[error("is a Helm template: its name contains `{{{{`")]
    TemplateName,
    #[error("{0}")]
    Yaml(Problem),
    #[error("is of the version `{version}`, and only `apiextensions.k8s.io/v1` can be read")]
    Version { version: String },
    #[error("has {bytes} bytes as JSON, and an API server stores at most 1.5 MiB")]
    TooLarge { bytes: usize },
    #[error("is another CRD than that in `{other}`, and has the same name")]
    Twice { other: String },
    #[error("lacks `{field}`")]
    Lacks { field: &'static str },
    #[error("is {value}, and must be {must}")]
    Must { value: String, must: String },
    #[error("has {number} versions with `storage: true`, and exactly one is stored")]
    Stored { number: usize },
    #[error("has `$ref`, which no API server accepts in a CRD")]
    Reference,
    #[error("has `{keyword}: {value}`, and the value must be {must}")]
    Keyword {
        keyword: String,
        value: String,
        must: &'static str,
    },
    #[error("{problem}")]
    Server { problem: String },
    #[error("is not structural: {problem}")]
    Structure { problem: String },
}

impl Reason {
    /// What to type or write instead.
    pub(super) fn help(&self) -> String {
        match self {
            Self::Url { url } => format!(
                "kbr downloads nothing: type `curl -LO {url}`, and then the name of the file"
            ),
            Self::TemplateName => Problem::Template.help().to_owned(),
            Self::Yaml(problem) => problem.help().to_owned(),
            Self::NotText | Self::NoCrd { .. } => {
                "name files or folders with CRDs, such as `config/crd/bases`, or what \
                 `kubectl get crd NAME -o yaml` prints"
                    .to_owned()
            }
            Self::Version { .. } => {
                "Kubernetes removed it in 1.22; on a cluster that has the CRD, `kubectl get crd NAME -o yaml` prints it as v1"
                    .to_owned()
            }
            Self::TooLarge { .. } => {
                "shorten its descriptions, or split it into several kinds".to_owned()
            }
            Self::Twice { .. } => "name only one of them".to_owned(),
            Self::Reference => "write the schema in place of the reference".to_owned(),
            Self::Lacks { .. }
            | Self::Must { .. }
            | Self::Stored { .. }
            | Self::Keyword { .. }
            | Self::Server { .. }
            | Self::Structure { .. } => {
                "correct the CRD: `kubectl apply --dry-run=server -f FILE` says all that an API server refuses"
                    .to_owned()
            }
        }
    }
}

fn only(others: &str) -> String {
    match others {
        "" => String::new(),
        others => format!(", only {others}"),
    }
}
