//! Types that express in Rust what controller-gen's markers express. Each marker is above its spelling,
//! which is in the guide too.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::core::DynamicObject;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One field for each marker of fields; the markers of kinds are on the type.
#[derive(Clone, CustomResource, Debug, Deserialize, KubeSchema, Serialize)]
// +groupName
// +versionName
#[kube(group = "crds.example.com", version = "v1", kind = "Marked")]
// +kubebuilder:resource:scope=Namespaced
#[kube(namespaced)]
// +kubebuilder:resource:path
#[kube(plural = "markedthings")]
// +kubebuilder:resource:singular
#[kube(singular = "markedthing")]
// +kubebuilder:resource:shortName
#[kube(shortname = "mkd")]
// +kubebuilder:resource:categories
#[kube(category = "marks")]
// +kubebuilder:subresource:status
#[kube(status = "MarkedStatus")]
// +kubebuilder:subresource:scale
#[kube(scale(
    spec_replicas_path = ".spec.replicas",
    status_replicas_path = ".status.replicas",
    label_selector_path = ".status.selector"
))]
// +kubebuilder:printcolumn
#[kube(printcolumn(
    name = "Replicas",
    type_ = "integer",
    json_path = ".spec.replicas",
    description = "How many are wanted",
    format = "int32",
    priority = 1
))]
// +kubebuilder:selectablefield
#[kube(selectable = ".spec.host")]
// +kubebuilder:metadata
#[kube(annotation("example.com/team", "storage"), label("tier", "backend"))]
// metadata.name
#[kube(validation = Rule::new("self.metadata.name.size() <= 52")
    .message("must be no more than 52 characters")
    .field_path(".metadata.name"))]
#[serde(rename_all = "camelCase")]
pub struct MarkedSpec {
    pub replicas: Option<i32>,
    pub host: Option<String>,

    // +kubebuilder:validation:Maximum
    #[schemars(range(max = 10))]
    pub maximum: Option<i32>,

    // +kubebuilder:validation:Minimum
    #[schemars(range(min = 1))]
    pub minimum: Option<i32>,

    // +kubebuilder:validation:ExclusiveMaximum
    #[schemars(range(max = 10), extend("exclusiveMaximum" = true))]
    pub below: Option<i32>,

    // +kubebuilder:validation:ExclusiveMinimum
    #[schemars(range(min = 0), extend("exclusiveMinimum" = true))]
    pub above: Option<i64>,

    // +kubebuilder:validation:MultipleOf
    #[schemars(extend("multipleOf" = 5))]
    pub fives: Option<i32>,

    // +kubebuilder:validation:MaxProperties
    #[schemars(extend("maxProperties" = 2))]
    pub few_keys: Option<BTreeMap<String, String>>,

    // +kubebuilder:validation:MinProperties
    #[schemars(extend("minProperties" = 1))]
    pub some_keys: Option<BTreeMap<String, String>>,

    // +kubebuilder:validation:MaxLength
    #[schemars(length(max = 3))]
    pub short: Option<String>,

    // +kubebuilder:validation:MinLength
    #[schemars(length(min = 3))]
    pub long: Option<String>,

    // +kubebuilder:validation:Pattern
    #[schemars(regex(pattern = "^[a-z]+$"))]
    pub lower: Option<String>,

    // +kubebuilder:validation:MaxItems
    #[schemars(length(max = 2))]
    pub few: Option<Vec<i32>>,

    // +kubebuilder:validation:MinItems
    #[schemars(length(min = 1))]
    pub some: Option<Vec<i32>>,

    // +kubebuilder:validation:UniqueItems
    pub unique: Option<BTreeSet<String>>,

    pub mode: Option<Mode>,
    // The same for values that are not strings.
    // +kubebuilder:validation:Enum
    #[schemars(extend("enum" = [1, 2, 4]))]
    pub power: Option<i32>,

    // +kubebuilder:validation:Format
    #[schemars(extend("format" = "date-time"))]
    pub moment: Option<String>,

    // +kubebuilder:validation:Type
    #[schemars(with = "Option<String>")]
    pub number_in_quotes: Option<serde_json::Value>,

    // +kubebuilder:pruning:PreserveUnknownFields
    // +kubebuilder:validation:XPreserveUnknownFields
    #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
    pub anything: Option<serde_json::Value>,

    // +kubebuilder:validation:EmbeddedResource
    // +kubebuilder:validation:XEmbeddedResource
    #[serde(default)]
    #[schemars(with = "serde_json::Value", extend(
        "type" = "object",
        "x-kubernetes-embedded-resource" = true,
        "x-kubernetes-preserve-unknown-fields" = true
    ))]
    pub object: Option<DynamicObject>,

    // +kubebuilder:validation:XIntOrString
    pub port: Option<IntOrString>,

    // +kubebuilder:validation:XValidation
    #[x_kube(validation = Rule::new("self >= oldSelf").message("it never shrinks").reason(Reason::FieldValueForbidden))]
    pub growing: Option<i32>,
    pub range: Option<Range>,

    // +kubebuilder:validation:items:MaxLength
    // +kubebuilder:validation:items:MinLength
    // +kubebuilder:validation:items:Pattern
    #[schemars(inner(length(min = 2, max = 3), regex(pattern = "^[a-z]+$")))]
    pub words: Option<Vec<String>>,

    // +kubebuilder:validation:items:Maximum
    // +kubebuilder:validation:items:Minimum
    #[schemars(inner(range(min = 1, max = 10)))]
    pub numbers: Option<Vec<i32>>,

    // +kubebuilder:validation:items:MaxItems
    // +kubebuilder:validation:items:MinItems
    #[schemars(inner(length(min = 1, max = 2)))]
    pub lists: Option<Vec<Vec<i32>>>,

    pub items: Option<Items>,
    pub named: Option<Named>,

    // +kubebuilder:validation:Optional
    // +optional
    // +k8s:optional
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub may_be_left_out: Option<String>,

    // +nullable
    #[serde(default)]
    pub may_be_null: Option<String>,

    // +kubebuilder:default
    // +default
    #[serde(default = "three")]
    pub defaulted: i32,

    // +kubebuilder:example
    #[schemars(example = 8080)]
    pub illustrated: Option<i32>,

    // +kubebuilder:externalDocs
    #[schemars(extend("externalDocs" = { "url": "https://example.com", "description": "More" }))]
    pub documented: Option<i32>,

    // +kubebuilder:title
    #[schemars(title = "A title")]
    pub titled: Option<i32>,

    // +kubebuilder:validation:Schemaless
    #[serde(default)]
    #[schemars(with = "serde_json::Value", extend("x-kubernetes-preserve-unknown-fields" = true))]
    pub schemaless: Option<Range>,

    // +k8s:immutable
    #[x_kube(validation = ("self == oldSelf", "it stays as it is"))]
    pub fixed: Option<i32>,

    pub frozen: Option<Frozen>,
    pub at_most_one: Option<AtMostOne>,
    pub exactly_one: Option<ExactlyOne>,
    pub at_least_one: Option<AtLeastOne>,
    pub source: Option<Source>,

    // +listType=atomic
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub atomic_list: Option<Vec<String>>,

    // +listType=set
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub set: Option<Vec<String>>,

    // +listType=map
    // +listMapKey
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".to_owned()]))]
    pub list_map: Option<Vec<Named>>,

    // +mapType=granular
    #[x_kube(merge_strategy = MapMerge::Granular)]
    pub granular_map: Option<BTreeMap<String, String>>,

    // +mapType=atomic
    #[x_kube(merge_strategy = MapMerge::Atomic)]
    pub atomic_map: Option<BTreeMap<String, String>>,

    // +structType=granular
    #[x_kube(merge_strategy = StructMerge::Granular)]
    pub granular_struct: Option<Pair>,

    // +structType=atomic
    #[x_kube(merge_strategy = StructMerge::Atomic)]
    pub atomic_struct: Option<Pair>,
}

fn three() -> i32 {
    3
}

#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
pub struct MarkedStatus {
    pub replicas: i32,
    pub selector: Option<String>,
}

// +kubebuilder:validation:Enum
// +enum
// +k8s:enum
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
pub enum Mode {
    Fast,
    Slow,
}

#[derive(Clone, Debug, Deserialize, KubeSchema, Serialize)]
// +kubebuilder:validation:XValidation
#[x_kube(validation = Rule::new("self.min <= self.max")
    .message(Message::Expression("'min is above %d'.format([self.max])".to_owned()))
    .field_path(".min"))]
pub struct Range {
    pub min: i32,
    pub max: i32,
}

/// Lists whose elements have a type of their own.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Items {
    pub fives: Option<Vec<Five>>,
    pub below: Option<Vec<Below>>,
    pub above: Option<Vec<Above>>,
    pub few_keys: Option<Vec<FewKeys>>,
    pub some_keys: Option<Vec<SomeKeys>>,
    pub moments: Option<Vec<Moment>>,
    pub texts: Option<Vec<Text>>,
    pub anything: Option<Vec<Anything>>,
    pub objects: Option<Vec<Embedded>>,
    pub rules: Option<Vec<Even>>,

    // +kubebuilder:validation:items:UniqueItems
    pub sets: Option<Vec<BTreeSet<String>>>,

    // +kubebuilder:validation:items:Enum
    pub modes: Option<Vec<Mode>>,

    // +kubebuilder:validation:items:XIntOrString
    pub ports: Option<Vec<IntOrString>>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
// +kubebuilder:validation:items:MultipleOf
pub struct Five(#[schemars(extend("multipleOf" = 5))] i32);

#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
// +kubebuilder:validation:items:ExclusiveMaximum
pub struct Below(#[schemars(range(max = 10), extend("exclusiveMaximum" = true))] i32);

#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
// +kubebuilder:validation:items:ExclusiveMinimum
pub struct Above(#[schemars(range(min = 0), extend("exclusiveMinimum" = true))] i32);

#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
// +kubebuilder:validation:items:MaxProperties
pub struct FewKeys(#[schemars(extend("maxProperties" = 2))] BTreeMap<String, String>);

#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
// +kubebuilder:validation:items:MinProperties
pub struct SomeKeys(#[schemars(extend("minProperties" = 1))] BTreeMap<String, String>);

#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
// +kubebuilder:validation:items:Format
pub struct Moment(#[schemars(extend("format" = "date-time"))] String);

#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
// +kubebuilder:validation:items:Type
pub struct Text(#[schemars(with = "String")] serde_json::Value);

#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
// +kubebuilder:validation:items:XPreserveUnknownFields
pub struct Anything(
    #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))] serde_json::Value,
);

#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
// +kubebuilder:validation:items:XEmbeddedResource
pub struct Embedded(
    #[schemars(with = "serde_json::Value", extend(
        "type" = "object",
        "x-kubernetes-embedded-resource" = true,
        "x-kubernetes-preserve-unknown-fields" = true
    ))]
    DynamicObject,
);

#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
// +kubebuilder:validation:items:XValidation
pub struct Even(
    #[schemars(extend("x-kubernetes-validations" = [{ "rule": "self % 2 == 0", "message": "it is odd" }]))]
     i32,
);

#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
pub struct Named {
    // +kubebuilder:validation:Required
    // +required
    // +k8s:required
    pub name: String,
    pub value: Option<i32>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
pub struct Pair {
    pub left: Option<i32>,
    pub right: Option<i32>,
}

#[derive(Clone, Debug, Deserialize, KubeSchema, Serialize)]
// +k8s:immutable
#[x_kube(validation = ("has(self.port) == has(oldSelf.port)", "it stays as it is"))]
pub struct Frozen {
    pub port: Option<i32>,
}

#[derive(Clone, Debug, Deserialize, KubeSchema, Serialize)]
// +kubebuilder:validation:AtMostOneOf
#[x_kube(validation = ("[has(self.a), has(self.b)].filter(x, x).size() <= 1", "at most one of a and b"))]
pub struct AtMostOne {
    pub a: Option<i32>,
    pub b: Option<i32>,
}

#[derive(Clone, Debug, Deserialize, KubeSchema, Serialize)]
// +kubebuilder:validation:ExactlyOneOf
#[x_kube(validation = ("[has(self.a), has(self.b)].filter(x, x).size() == 1", "exactly one of a and b"))]
pub struct ExactlyOne {
    pub a: Option<i32>,
    pub b: Option<i32>,
}

#[derive(Clone, Debug, Deserialize, KubeSchema, Serialize)]
// +kubebuilder:validation:AtLeastOneOf
#[x_kube(validation = ("[has(self.a), has(self.b)].filter(x, x).size() >= 1", "at least one of a and b"))]
pub struct AtLeastOne {
    pub a: Option<i32>,
    pub b: Option<i32>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
// +kubebuilder:validation:ExactlyOneOf
pub enum Source {
    Git(Pair),
    Http(Pair),
}

/// A cluster-scoped kind with three versions.
pub mod v1 {
    use super::{CustomResource, Deserialize, JsonSchema, Serialize};

    #[derive(Clone, CustomResource, Debug, Deserialize, JsonSchema, Serialize)]
    // +kubebuilder:resource:scope=Cluster
    #[kube(group = "crds.example.com", version = "v1", kind = "Aged")]
    pub struct AgedSpec {
        pub size: Option<i32>,
    }
}

pub mod v1beta1 {
    use super::{CustomResource, Deserialize, JsonSchema, Serialize};

    #[derive(Clone, CustomResource, Debug, Deserialize, JsonSchema, Serialize)]
    #[kube(group = "crds.example.com", version = "v1beta1", kind = "Aged")]
    // +kubebuilder:deprecatedversion
    #[kube(deprecated = "v1beta1 of Aged goes away: write v1")]
    // Set by a version other than the stored one, for all versions.
    #[kube(shortname = "agd", category = "marks", label("tier", "backend"))]
    pub struct AgedSpec {
        pub size: Option<i32>,
    }
}

pub mod v1alpha1 {
    use super::{CustomResource, Deserialize, JsonSchema, Serialize};

    #[derive(Clone, CustomResource, Debug, Deserialize, JsonSchema, Serialize)]
    #[kube(group = "crds.example.com", version = "v1alpha1", kind = "Aged")]
    // +kubebuilder:unservedversion
    #[kube(served = false)]
    pub struct AgedSpec {
        pub size: Option<i32>,
    }
}

/// Rows whose spelling is in PROJECT, and those whose spelling is in the code of controllers and webhooks.
pub const PROJECT: &str = "
// +kubebuilder:storageversion
storage: true
";

pub const CODE: &str = "
// +kubebuilder:rbac
// +kbr:rbac:groups=batch,resources=jobs,verbs=get;list;watch
// +kubebuilder:webhook
// +kbr:webhook:mutating=false,path=/validate,groups=batch,resources=jobs,verbs=create,versions=v1,name=vjob-v1.batch.example.com
// +kubebuilder:webhookconfiguration
// +kbr:webhookconfiguration:mutating=false,name=checks
";
