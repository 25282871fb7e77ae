//! What the API server would refuse in a schema, in terms of the Rust type that it came from.

use thiserror::Error;

/// What to write instead of a type that contains itself.
pub(crate) const RECURSION_HELP: &str = "refer to another object by its name, or end the recursion at a field with `#[serde(default)]` and \
     `#[schemars(with = \"serde_json::Value\", extend(\"x-kubernetes-preserve-unknown-fields\" = true))]`";

/// A field that cannot be in a CRD.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{path}` {reason}")]
pub(crate) struct Refusal {
    /// Such as `spec.jobTemplate.hosts[].port`; `.*` stands for any key of a map.
    pub(crate) path: String,
    pub(crate) reason: Reason,
}

impl Refusal {
    pub(super) fn new(path: &str, reason: Reason) -> Self {
        let path = match path {
            "" => "the type itself",
            path => path,
        };
        Self {
            path: path.to_owned(),
            reason,
        }
    }
}

/// The reason. Its text continues a sentence that begins with the path of the field.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum Reason {
    #[error("is a tuple, and the values of a Kubernetes list all have one type")]
    Tuple,
    #[error("takes any JSON value, which a CRD must say explicitly")]
    AnyValue,
    #[error("is a floating-point number, which not every client reads and writes unchanged")]
    Float,
    #[error("is always null")]
    Unit,
    #[error("contains itself (`{definition}`), and Kubernetes schemas have no references")]
    Recursive { definition: String },
    #[error("holds named fields and a flattened map of one type")]
    FlattenedMap,
    #[error("is a map whose keys are not plain strings")]
    RestrictedKeys,
    #[error("is an enum with the tag `{tag}`, and Kubernetes schemas have no tags")]
    TaggedEnum { tag: String },
    #[error("is an enum that mixes variants with and without content")]
    MixedEnum,
    #[error("is an untagged enum whose variants are not all structs")]
    UntaggedEnum,
    #[error("has variants that give the field `{field}` different types or doc comments")]
    ConflictingField { field: String },
    #[error("denies unknown fields beside a flattened enum")]
    DeniedBesideEnum,
    #[error("flattens a map beside an enum")]
    MapBesideEnum,
    #[error("flattens more enums than a Kubernetes schema can tell apart")]
    FlattenedEnums,
    #[error("has more than one type")]
    ManyTypes,
    #[error("has an exclusive bound that is a number, but in a CRD it is a flag beside the bound")]
    ExclusiveNumber,
    #[error(
        "has the keyword `{keyword}`, which does not exist in a CRD: did you mean `{nearest}`?"
    )]
    Keyword { keyword: String, nearest: String },
    #[error("refers to a definition that schemars did not write")]
    Unresolved,
    #[error("has the default `{value}`, which {problem}")]
    Default { value: String, problem: String },
    #[error("is set by the default of a parent to a value that {problem}")]
    DefaultInside { problem: String },
    #[error("has the pattern `{pattern}`, and the API server reads patterns as Go does: {problem}")]
    Pattern { pattern: String, problem: String },
    #[error("{problem}")]
    Merge { problem: String },
    #[error("has the rule `{rule}`, which {problem}")]
    Rule { rule: String, problem: String },
    #[error("has the rule `{rule}`, which may cost more than the API server allows: {unbounded}")]
    CostlyRule { rule: String, unbounded: String },
    #[error(
        "has the rule `{rule}`, the costliest of the rules that together cost more than the API server allows"
    )]
    CostlyRules { rule: String },
}

impl Reason {
    /// What to write instead.
    pub(crate) fn help(&self) -> &'static str {
        match self {
            Self::Tuple => "write a struct with named fields, or `[T; N]` for N values of one type",
            Self::AnyValue => {
                "write a type, or allow anything with \
                 `#[schemars(extend(\"x-kubernetes-preserve-unknown-fields\" = true))]` on the field, \
                 or in a list on a newtype around the value"
            }
            Self::Float => {
                "write an integer of a smaller unit, or a `Quantity`; if a floating-point number is meant, add \
                 `#[schemars(extend(\"x-kbr-float\" = true))]` to the field"
            }
            Self::Unit => "remove the field, or write a struct with braces (`struct Nothing {}`)",
            Self::Recursive { .. } => RECURSION_HELP,
            Self::FlattenedMap => {
                "give the map a field of its own, or flatten a `BTreeMap<String, serde_json::Value>`"
            }
            Self::RestrictedKeys => {
                "write `BTreeMap<String, T>`: keys are strings in JSON, so parse them in the controller"
            }
            Self::TaggedEnum { .. } => {
                "remove `#[serde(tag = …)]`: the variant's name is then a field that holds its content"
            }
            Self::MixedEnum => "give every variant a body: `Never {}` instead of `Never`",
            Self::UntaggedEnum => {
                "write `IntOrString` for a number or a string, else an enum without `#[serde(untagged)]`"
            }
            Self::ConflictingField { .. } => {
                "write the same type and doc comment in each variant, or remove `#[serde(untagged)]`"
            }
            Self::DeniedBesideEnum => {
                "remove `#[serde(deny_unknown_fields)]`: no unknown field gets past the API server"
            }
            Self::MapBesideEnum => "give the map a field of its own, without `#[serde(flatten)]`",
            Self::FlattenedEnums => {
                "give each enum a field of its own, without `#[serde(flatten)]`"
            }
            Self::ManyTypes => "write one type in the hand-written schema",
            Self::ExclusiveNumber => {
                "write `#[schemars(range(min = 0), extend(\"exclusiveMinimum\" = true))]`, and the same for a maximum"
            }
            Self::Keyword { .. } => "fix the name in `#[schemars(extend(…))]`",
            Self::Unresolved => "return the schema from `generator.subschema_for::<T>()`",
            Self::Default { .. } | Self::DefaultInside { .. } => {
                "give `#[serde(default = \"…\")]` a function that returns a value within the bounds, or widen them"
            }
            Self::Pattern { .. } => {
                "write the pattern as in https://pkg.go.dev/regexp/syntax, or a rule with `#[x_kube(validation = …)]`"
            }
            Self::Merge { .. } => {
                "fix its `#[x_kube(merge_strategy = …)]`, or the type of its elements"
            }
            Self::Rule { .. } => {
                "fix the rule; `self` is the value that it is attached to, `oldSelf` its previous value"
            }
            Self::CostlyRule { .. } | Self::CostlyRules { .. } => {
                "bound lists and strings with `#[schemars(length(max = …))]`, elements of lists with \
                 `#[schemars(inner(length(max = …)))]`, and maps with `#[schemars(extend(\"maxProperties\" = …))]`"
            }
        }
    }
}
