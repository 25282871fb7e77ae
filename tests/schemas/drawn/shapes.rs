//! The types that are drawn: the parts of users' types, each with holes for other types.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::{NonZeroI64, NonZeroU16};
use std::path::PathBuf;
use std::time::Duration;

use k8s_openapi::api::batch::v1::JobTemplateSpec;
use k8s_openapi::api::core::v1::{
    Affinity, Container, ContainerPort, EnvVar, LocalObjectReference, ObjectReference,
    PersistentVolumeClaimSpec, PodTemplateSpec, Probe, ResourceRequirements, SecretKeySelector,
    ServicePort, Toleration, Volume,
};
use k8s_openapi::api::networking::v1::NetworkPolicySpec;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{
    Condition, LabelSelector, MicroTime, ObjectMeta, OwnerReference, Time,
};
use k8s_openapi::apimachinery::pkg::runtime::RawExtension;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::tree::Wanted::{Any, Default as Defaulted, Flat};
use super::tree::{Hole, Shape, number};

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
pub struct Plain {
    plain_a: Hole<0>,
    plain_b: Hole<1>,
}

/// What it is.
#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Documented {
    /// What its field is.
    ///
    /// In many words.
    long_name: Hole<0>,
    #[serde(rename = "y")]
    renamed: Hole<1>,
    /// # A heading
    r#type: Box<Hole<2>>,
}

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
pub struct Optional {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    left_out: Option<Hole<0>>,
    #[serde(default)]
    defaulted: Option<Hole<1>>,
    bare: Option<Hole<2>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unread: Option<Hole<3>>,
}

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
pub struct WithDefaults {
    #[serde(default)]
    of_its_type: Hole<0>,
    #[serde(default)]
    list: Vec<Hole<1>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<Hole<1>>,
    #[serde(default = "seven")]
    #[schemars(range(min = 1))]
    of_a_function: i32,
    #[serde(default = "name")]
    #[schemars(length(min = 1, max = 9), regex(pattern = "^[a-z]+$"))]
    text: String,
}

#[derive(Debug, Default, Deserialize, JsonSchema, Serialize)]
#[serde(default)]
pub struct AllDefault {
    all_a: Hole<0>,
    all_b: Hole<1>,
    switch: bool,
    text: String,
}

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
pub struct Flattened {
    own: Hole<0>,
    #[serde(flatten)]
    flattened: Hole<1>,
}

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
pub struct FlattenedOption {
    mine: String,
    #[serde(flatten)]
    flattened: Option<Hole<0>>,
}

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
pub struct FlattenedRest {
    known: Hole<0>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Closed {
    closed: Hole<0>,
}

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
pub struct Empty {}

#[derive(Debug, Deserialize, Eq, JsonSchema, Ord, PartialEq, PartialOrd, Serialize)]
pub enum Word {
    Slow,
    Fast,
    Other,
}

/// What it is.
#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DocumentedWord {
    /// Not fast.
    VerySlow,
    /// Not slow.
    VeryFast,
}

#[derive(Debug, Default, Deserialize, JsonSchema, Serialize)]
pub enum HalfDocumented {
    #[default]
    First,
    /// Not the first.
    Second,
    Third,
}

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
pub enum Content {
    One(Hole<0>),
    Two { two: Hole<1> },
    Three(Vec<Hole<0>>),
}

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DocumentedContent {
    /// The left one.
    Left {
        /// Its field.
        inner: Hole<0>,
    },
    /// The right one.
    Right(Box<Hole<1>>),
}

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[serde(untagged)]
pub enum Untagged {
    Left {
        left: Hole<0>,
    },
    Right {
        right: Hole<1>,
        further: Option<bool>,
    },
}

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
pub struct Ranges {
    #[schemars(range(min = lowest(), max = highest()))]
    int: i32,
    #[schemars(range(min = 1, max = 100))]
    #[serde(default = "one")]
    unsigned: u8,
    // Whole: the API server compares an integer with the bound's whole part, so it would store the 0 that is not 0.5, and
    // refuse the 0.0 that Rust writes (`MinimumNativeType` of kube-openapi).
    #[schemars(range(min = 1.0, max = 100.0), extend("x-kbr-float" = true))]
    float: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = number(1)))]
    long: Option<u64>,
    #[schemars(extend("multipleOf" = 5))]
    fives: i64,
    #[schemars(extend("minimum" = 0, "exclusiveMinimum" = true, "x-kbr-float" = true))]
    above: f32,
}

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
pub struct Lengths {
    #[schemars(length(min = shortest(), max = longest()))]
    text: String,
    #[schemars(length(min = shortest(), max = longest()))]
    list: Vec<Hole<0>>,
    #[schemars(length(max = longest()), inner(length(min = 1, max = longest())))]
    texts: Vec<String>,
    #[schemars(extend("maxProperties" = longest(), "minProperties" = 1))]
    map: BTreeMap<String, Hole<1>>,
    #[schemars(length(equal = 3))]
    three: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
pub struct Patterns {
    #[schemars(regex(pattern = "^[a-z]+$"), length(max = 63))]
    name: String,
    #[schemars(inner(regex(pattern = "^[a-z]+$")))]
    names: Option<Vec<String>>,
    #[serde(default = "name")]
    #[schemars(regex(pattern = r"^\p{L}*\S[[:alpha:]]?$"))]
    letters: String,
    #[schemars(contains(pattern = "a+"))]
    contains: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
pub struct Formats {
    #[schemars(extend("format" = "date-time"))]
    date_time: Option<String>,
    #[schemars(extend("format" = "date"))]
    date: Option<String>,
    #[schemars(extend("format" = "duration"))]
    duration: Option<String>,
    #[schemars(email)]
    email: Option<String>,
    #[schemars(url)]
    uri: Option<String>,
    #[schemars(extend("format" = "hostname"))]
    host: Option<String>,
    #[schemars(extend("format" = "uuid"))]
    uuid: Option<String>,
    #[schemars(extend("format" = "cidr"))]
    cidr: Option<String>,
    #[schemars(extend("format" = "of-its-own"))]
    other: Option<String>,
    #[schemars(with = "Option<String>", extend("format" = "partial-date-time"))]
    chrono: Option<chrono::NaiveDateTime>,
    #[schemars(with = "Option<String>", extend("format" = "partial-time"))]
    time: Option<chrono::NaiveTime>,
}

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
pub struct Anything {
    #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
    anything: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
    perhaps: Option<Value>,
    #[serde(default)]
    list: Vec<Json>,
    #[serde(default)]
    map: BTreeMap<String, Value>,
    #[serde(default)]
    #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
    open: Option<Inner>,
}

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[schemars(extend("type" = "object", "x-kubernetes-embedded-resource" = true,
    "x-kubernetes-preserve-unknown-fields" = true))]
pub struct Embedded(Value);

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Json(Value);
#[derive(Debug, Deserialize, JsonSchema, Serialize)]
pub struct Newtype(Hole<0>);

/// What a newtype is.
#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[serde(transparent)]
pub struct Transparent {
    inner: Hole<0>,
}

fn one() -> u8 {
    1
}

fn seven() -> i32 {
    7
}

fn name() -> String {
    "name".to_owned()
}

fn lowest() -> i32 {
    i32::from(number(0)) - 40_000
}

fn highest() -> i32 {
    lowest() + i32::from(number(1))
}

fn shortest() -> u16 {
    number(0) % 4
}

fn longest() -> u16 {
    shortest() + number(1) % 300
}

/// How lists and maps merge.
#[derive(Debug, Deserialize, KubeSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Merging {
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".to_owned(), "part".to_owned()]))]
    by_keys: Vec<Keyed>,
    #[serde(default)]
    #[x_kube(merge_strategy = ListMerge::Set)]
    set_of_words: Vec<Word>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    whole: Option<Vec<Hole<0>>>,
    #[serde(default)]
    #[x_kube(merge_strategy = MapMerge::Atomic)]
    labels: BTreeMap<String, Hole<1>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(merge_strategy = StructMerge::Atomic)]
    struct_of_it: Option<Inner>,
}

/// Structs inside a shape are inlined, since their holes are those of the shape.
#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[schemars(inline)]
pub struct Inner {
    inner: Hole<1>,
}

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[schemars(inline)]
pub struct Keyed {
    name: String,
    #[serde(default)]
    part: i16,
    value: Option<Hole<2>>,
}

/// Rules that hold, or that compare with the old object.
#[derive(Debug, Deserialize, KubeSchema, Serialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("oldSelf.optMap(old, self.count >= old.count).orValue(true)")
    .message("it never shrinks")
    .reason(Reason::FieldValueForbidden)
    .field_path(".count")
    .optional_old_self(true))]
#[x_kube(validation = ("self.count < 1000", "too many"))]
pub struct Ruled {
    #[schemars(range(max = 999))]
    count: u16,
    #[x_kube(validation = Rule::new("self.size() <= 20").message(Message::Expression("'too long: ' + self".into())))]
    #[schemars(length(max = 20))]
    text: String,
    #[x_kube(validation = ("self == oldSelf", "it stays"))]
    fixed: Option<String>,
    #[schemars(length(max = 9), inner(length(max = 9)))]
    #[x_kube(validation = ("self.all(one, one != 'bad')", "none is bad"))]
    list: Vec<String>,
    free: Hole<0>,
}

/// `kbr manifests` refuses a bare `f32` or `f64`.
#[derive(Debug, Default, Deserialize, JsonSchema, Serialize)]
#[schemars(inline, extend("x-kbr-float" = true))]
pub struct Float(f32);

#[derive(Debug, Default, Deserialize, JsonSchema, Serialize)]
#[schemars(inline, extend("x-kbr-float" = true))]
pub struct Double(f64);

macro_rules! leaves {
    ($($leaf:ty),* $(,)?) => { &[$(Shape::of::<$leaf>(&[]).with_default::<$leaf>()),*] };
}

macro_rules! without_default {
    ($($leaf:ty),* $(,)?) => { &[$(Shape::of::<$leaf>(&[])),*] };
}

pub static SCALARS: &[Shape] = leaves![
    String, String, bool, i8, i16, i32, i64, isize, u8, u16, u32, u64, usize, Float, Double,
    PathBuf, Duration,
];

pub static WITHOUT_DEFAULT: &[Shape] = without_default![
    char,
    NonZeroU16,
    NonZeroI64,
    IpAddr,
    Ipv4Addr,
    Ipv6Addr,
    Word,
    DocumentedWord,
    Patterns,
    Formats,
    Embedded,
    Json,
];

// `Quantity::default()` is not a quantity: kbr omits it, and what Rust writes for a missing one is refused.
pub static OF_KUBERNETES: &[Shape] = &[
    Shape::of::<Quantity>(&[]),
    Shape::of::<IntOrString>(&[]).with_default::<IntOrString>(),
    Shape::of::<Time>(&[]),
    Shape::of::<MicroTime>(&[]),
    Shape::of::<RawExtension>(&[]),
    Shape::of::<Condition>(&[]),
    Shape::of::<LocalObjectReference>(&[]).with_default::<LocalObjectReference>(),
    Shape::of::<ObjectReference>(&[]).with_default::<ObjectReference>(),
    Shape::of::<OwnerReference>(&[]),
    Shape::of::<SecretKeySelector>(&[]),
    Shape::of::<ResourceRequirements>(&[]).with_default::<ResourceRequirements>(),
    Shape::of::<LabelSelector>(&[]).with_default::<LabelSelector>(),
    Shape::of::<EnvVar>(&[]),
    Shape::of::<ContainerPort>(&[]),
    Shape::of::<ServicePort>(&[]),
    Shape::of::<Toleration>(&[]),
    Shape::of::<Probe>(&[]),
    Shape::of::<Affinity>(&[]),
    Shape::of::<ObjectMeta>(&[]).with_default::<ObjectMeta>(),
    Shape::of::<PersistentVolumeClaimSpec>(&[]),
    Shape::of::<NetworkPolicySpec>(&[]),
    Shape::of::<Volume>(&[]),
    Shape::of::<Container>(&[]),
    Shape::of::<PodTemplateSpec>(&[]).with_default::<PodTemplateSpec>(),
    Shape::of::<JobTemplateSpec>(&[]),
];

pub static CONTAINERS: &[Shape] = &[
    Shape::of::<Option<Hole<0>>>(&[Any]).empty_by_default::<Option<Hole<0>>>(),
    Shape::of::<Vec<Hole<0>>>(&[Any]).empty_by_default::<Vec<Hole<0>>>(),
    Shape::of::<VecDeque<Hole<0>>>(&[Any]).empty_by_default::<VecDeque<Hole<0>>>(),
    Shape::of::<BTreeSet<Hole<0>>>(&[Any]).empty_by_default::<BTreeSet<Hole<0>>>(),
    Shape::of::<BTreeMap<String, Hole<0>>>(&[Any]).empty_by_default::<BTreeMap<String, Hole<0>>>(),
    Shape::of::<HashMap<String, Hole<0>>>(&[Any]).empty_by_default::<HashMap<String, Hole<0>>>(),
    Shape::of::<BTreeMap<Word, Hole<0>>>(&[Any]).empty_by_default::<BTreeMap<Word, Hole<0>>>(),
    Shape::of::<[Hole<0>; 2]>(&[Any]),
    Shape::of::<Box<Hole<0>>>(&[Any]).with_default::<Box<Hole<0>>>(),
    Shape::of::<Newtype>(&[Any]),
    Shape::of::<Transparent>(&[Any]),
    Shape::of::<HalfDocumented>(&[]).with_default::<HalfDocumented>(),
    Shape::of::<Content>(&[Any, Any]).flat(),
    Shape::of::<DocumentedContent>(&[Any, Any]).flat(),
    Shape::of::<Untagged>(&[Any, Any]).flat(),
    Shape::of::<Result<Hole<0>, Hole<1>>>(&[Any, Any]),
];

pub static STRUCTS: &[Shape] = &[
    Shape::of::<Plain>(&[Any, Any]).flat(),
    Shape::of::<Documented>(&[Any, Any, Any]).flat(),
    Shape::of::<Optional>(&[Any, Any, Any, Any]).flat(),
    Shape::of::<WithDefaults>(&[Defaulted, Any]).flat(),
    Shape::of::<AllDefault>(&[Defaulted, Defaulted])
        .with_default::<AllDefault>()
        .flat(),
    Shape::of::<Flattened>(&[Any, Flat]),
    Shape::of::<FlattenedOption>(&[Flat]),
    Shape::of::<FlattenedRest>(&[Any]),
    Shape::of::<Closed>(&[Any]),
    Shape::of::<Lengths>(&[Any, Any]).numbers(9, 300).flat(),
    Shape::of::<Ranges>(&[]).numbers(60_000, 60_000).flat(),
    Shape::of::<Anything>(&[Any, Any]),
    Shape::of::<Merging>(&[Any, Any, Any]).flat(),
    Shape::of::<Ruled>(&[Any]),
    Shape::of::<Empty>(&[]),
];
