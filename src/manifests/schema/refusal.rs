//! What the API server would refuse in a schema, in terms of the Rust type that it came from.

use miette::Diagnostic;
use thiserror::Error;

/// What to write instead of a type that contains itself.
pub const RECURSION_HELP: &str = "refer to another object by its name, or end the recursion at a field with `#[serde(default)]` and \
     `#[schemars(with = \"serde_json::Value\", extend(\"x-kubernetes-preserve-unknown-fields\" = true))]`";

const OF_DEFAULTS: &str = "give `#[serde(default = \"…\")]` a function that returns a value within the bounds, or widen them";

const OF_COSTS: &str = "bound lists and strings with `#[schemars(length(max = …))]`, elements of lists with \
     `#[schemars(inner(length(max = …)))]`, and maps with `#[schemars(extend(\"maxProperties\" = …))]`";

/// A field that cannot be in a CRD.
#[derive(Clone, Debug, PartialEq, Eq, Error, Diagnostic)]
#[error("`{path}` {reason}")]
#[diagnostic(forward(reason))]
pub struct Refusal {
    /// Such as `spec.jobTemplate.hosts[].port`; `.*` stands for any key of a map.
    pub path: String,
    pub reason: Reason,
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

/// The reason, and what to write instead. Its text continues a sentence that begins with the path of the field.
#[derive(Clone, Debug, PartialEq, Eq, Error, Diagnostic)]
pub enum Reason {
    #[error("is a tuple, and the values of a Kubernetes list all have one type")]
    #[diagnostic(help("write a struct with named fields, or `[T; N]` for N values of one type"))]
    Tuple,
    #[error("takes any JSON value, which a CRD must say explicitly")]
    #[diagnostic(help(
        "write a type, or allow anything with \
     `#[schemars(extend(\"x-kubernetes-preserve-unknown-fields\" = true))]` on the field, \
         or in a list on a newtype around the value"
    ))]
    AnyValue,
    #[error("is always null")]
    #[diagnostic(help("remove the field, or write a struct with braces (`struct Nothing {{}}`)"))]
    Unit,
    #[error("contains itself (`{definition}`), and Kubernetes schemas have no references")]
    #[diagnostic(help("{RECURSION_HELP}"))]
    Recursive { definition: String },
    #[error("holds named fields and a flattened map of one type")]
    #[diagnostic(help(
        "give the map a field of its own, or flatten a `BTreeMap<String, serde_json::Value>`"
    ))]
    FlattenedMap,
    #[error("is a map whose keys are not plain strings")]
    #[diagnostic(help(
        "write `BTreeMap<String, T>`: keys are strings in JSON, so parse them in the controller"
    ))]
    RestrictedKeys,
    #[error("is an enum with the tag `{tag}`, and Kubernetes schemas have no tags")]
    #[diagnostic(help(
        "remove `#[serde(tag = …)]`: the variant's name is then a field that holds its content"
    ))]
    TaggedEnum { tag: String },
    #[error("is an enum that mixes variants with and without content")]
    #[diagnostic(help("give every variant a body: `Never {{}}` instead of `Never`"))]
    MixedEnum,
    #[error("is an untagged enum whose variants are not all structs")]
    #[diagnostic(help(
        "write `IntOrString` for a number or a string, else an enum without `#[serde(untagged)]`"
    ))]
    UntaggedEnum,
    #[error("has variants that give the field `{field}` different types or doc comments")]
    #[diagnostic(help(
        "write the same type and doc comment in each variant, or remove `#[serde(untagged)]`"
    ))]
    ConflictingField { field: String },
    #[error("denies unknown fields beside a flattened enum")]
    #[diagnostic(help(
        "remove `#[serde(deny_unknown_fields)]`: no unknown field gets past the API server"
    ))]
    DeniedBesideEnum,
    #[error("flattens a map beside an enum")]
    #[diagnostic(help("give the map a field of its own, without `#[serde(flatten)]`"))]
    MapBesideEnum,
    #[error("flattens more enums than a Kubernetes schema can tell apart")]
    #[diagnostic(help("give each enum a field of its own, without `#[serde(flatten)]`"))]
    FlattenedEnums,
    #[error("has more than one type")]
    #[diagnostic(help("write one type in the hand-written schema"))]
    ManyTypes,
    #[error("has an exclusive bound that is a number, but in a CRD it is a flag beside the bound")]
    #[diagnostic(help(
        "write `#[schemars(range(min = 0), extend(\"exclusiveMinimum\" = true))]`, and the same for a maximum"
    ))]
    ExclusiveNumber,
    #[error(
        "has the keyword `{keyword}`, which does not exist in a CRD: did you mean `{nearest}`?"
    )]
    #[diagnostic(help("fix the name in `#[schemars(extend(…))]`"))]
    Keyword { keyword: String, nearest: String },
    #[error("refers to a definition that schemars did not write")]
    #[diagnostic(help("return the schema from `generator.subschema_for::<T>()`"))]
    Unresolved,
    #[error("has the default `{value}`, which {problem}")]
    #[diagnostic(help("{OF_DEFAULTS}"))]
    Default { value: String, problem: String },
    #[error("is set by the default of a parent to a value that {problem}")]
    #[diagnostic(help("{OF_DEFAULTS}"))]
    DefaultInside { problem: String },
    #[error("has the pattern `{pattern}`, and the API server reads patterns as Go does: {problem}")]
    #[diagnostic(help(
        "write the pattern as in https://pkg.go.dev/regexp/syntax, or a rule with `#[x_kube(validation = …)]`"
    ))]
    Pattern { pattern: String, problem: String },
    #[error("{problem}")]
    #[diagnostic(help("fix its `#[x_kube(merge_strategy = …)]`, or the type of its elements"))]
    Merge { problem: String },
    #[error("has the rule `{rule}`, which {problem}")]
    #[diagnostic(help(
        "fix the rule; `self` is the value that it is attached to, `oldSelf` its previous value"
    ))]
    Rule { rule: String, problem: String },
    #[error("has the rule `{rule}`, which may cost more than the API server allows: {unbounded}")]
    #[diagnostic(help("{OF_COSTS}"))]
    CostlyRule { rule: String, unbounded: String },
    #[error(
        "has the rule `{rule}`, the costliest of the rules that together cost more than the API server allows"
    )]
    #[diagnostic(help("{OF_COSTS}"))]
    CostlyRules { rule: String },
}
