//! Types that no API server accepts, each nested in types that it would accept.

use std::collections::BTreeMap;
use std::rc::Rc;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::shapes::{Content, Documented, Inner, Lengths, Optional, Plain, Word};
use super::tree::Wanted::Any;
use super::tree::{Hole, Node, Shape};
use crate::support::random::Random;

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
pub struct Bare {
    field: Value,
}

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[serde(untagged)]
pub enum Scalars {
    Number(i32),
    Text(String),
}

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[serde(tag = "kind")]
pub enum InternallyTagged {
    One { one: Hole<0> },
    Two { two: String },
}

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[serde(tag = "kind", content = "content")]
pub enum AdjacentlyTagged {
    One(Hole<0>),
    Two { two: String },
}

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
pub enum Mixed {
    Never,
    Sometimes { when: Hole<0> },
}

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[serde(untagged)]
pub enum Conflict {
    One { same: i32, one: Hole<0> },
    Two { same: String },
}

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
pub struct FlattenedMap {
    own: Hole<0>,
    #[serde(flatten)]
    map: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[schemars(inline)]
pub enum Either {
    Left(String),
    Right(Word),
}

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
pub struct FlattenedEnums {
    #[serde(flatten)]
    one: Either,
    #[serde(flatten)]
    other: Content,
}

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
pub struct MapBesideEnum {
    #[serde(flatten)]
    either: Either,
    #[serde(flatten)]
    map: BTreeMap<String, Hole<0>>,
}

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
pub struct Tree {
    name: String,
    children: Vec<Tree>,
}

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
pub struct BelowItsMinimum {
    #[serde(default)]
    #[schemars(range(min = 1))]
    field: i32,
}

#[derive(Debug, Default, Deserialize, JsonSchema, Serialize)]
#[schemars(inline)]
pub struct Named {
    #[schemars(length(min = 1))]
    name: String,
}

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
pub struct WrongInside {
    #[serde(default)]
    field: Named,
}

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
pub struct NoDate {
    #[serde(default)]
    #[schemars(extend("format" = "date-time"))]
    field: String,
}

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
pub struct LookAhead {
    #[schemars(regex(pattern = "^(?!x)"))]
    field: String,
}

#[derive(Debug, Deserialize, KubeSchema, Serialize)]
pub struct NoRule {
    #[x_kube(validation = "self.startsWith('a'")]
    field: String,
}

#[derive(Debug, Deserialize, KubeSchema, Serialize)]
pub struct UnknownField {
    #[x_kube(validation = "self.other == 'a'")]
    field: Inner0,
}

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[schemars(inline)]
pub struct Inner0 {
    inner: Hole<0>,
}

#[derive(Debug, Deserialize, KubeSchema, Serialize)]
pub struct Costly {
    #[x_kube(validation = "self.all(x, self.exists(y, x.contains(y)))")]
    field: Vec<String>,
}

#[derive(Debug, Deserialize, KubeSchema, Serialize)]
pub struct KeyLeftOut {
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".to_owned()]))]
    field: Vec<MaybeNamed>,
}

#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[schemars(inline)]
pub struct MaybeNamed {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

#[derive(Debug, Deserialize, KubeSchema, Serialize)]
pub struct SetOfStructs {
    #[x_kube(merge_strategy = ListMerge::Set)]
    field: Vec<Inner>,
}

/// What is refused, the path of the fault below it, and the message.
static REFUSED: &[(Shape, &str, &str)] = &[
    (
        Shape::of::<(Hole<0>, Hole<1>)>(&[Any, Any]),
        "",
        "is a tuple",
    ),
    (Shape::of::<Bare>(&[]), ".field", "takes any JSON value"),
    (Shape::of::<()>(&[]), "", "is always null"),
    (Shape::of::<Scalars>(&[]), "", "is an untagged enum"),
    (
        Shape::of::<InternallyTagged>(&[Any]),
        "",
        "is an enum with the tag `kind`",
    ),
    (
        Shape::of::<AdjacentlyTagged>(&[Any]),
        "",
        "is an enum with the tag `kind`",
    ),
    (Shape::of::<Mixed>(&[Any]), "", "is an enum that mixes"),
    (
        Shape::of::<Conflict>(&[Any]),
        "",
        "has variants that give the field `same`",
    ),
    (
        Shape::of::<FlattenedMap>(&[Any]),
        "",
        "holds named fields and a flattened map",
    ),
    (
        Shape::of::<FlattenedEnums>(&[Any, Any]),
        "",
        "flattens more enums",
    ),
    (
        Shape::of::<MapBesideEnum>(&[Any]),
        "",
        "flattens a map beside an enum",
    ),
    (
        Shape::of::<BTreeMap<u8, Hole<0>>>(&[Any]),
        "",
        "is a map whose keys are not plain strings",
    ),
    (
        Shape::of::<Tree>(&[]),
        ".children[]",
        "contains itself (`Tree`)",
    ),
    (
        Shape::of::<BelowItsMinimum>(&[]),
        ".field",
        "has the default `0`, which is below 1",
    ),
    (
        Shape::of::<WrongInside>(&[]),
        ".field.name",
        "is set by the default of a parent",
    ),
    (Shape::of::<NoDate>(&[]), ".field", "has the default `\"\"`"),
    (
        Shape::of::<LookAhead>(&[]),
        ".field",
        "has the pattern `^(?!x)`",
    ),
    (
        Shape::of::<NoRule>(&[]),
        ".field",
        "has the rule `self.startsWith('a'`",
    ),
    (
        Shape::of::<UnknownField>(&[Any]),
        ".field",
        "has the rule `self.other == 'a'`",
    ),
    (
        Shape::of::<Costly>(&[]),
        ".field",
        "has the rule `self.all(x, self.exists(y, x.contains(y)))`, which may cost more",
    ),
    (
        Shape::of::<KeyLeftOut>(&[]),
        ".field",
        "merges by the key `name`",
    ),
    (
        Shape::of::<SetOfStructs>(&[Any, Any]),
        ".field",
        "merges as a set",
    ),
];

/// What may surround it, the hole that it fills, and the path to that hole. The first ones are structs.
static AROUND: &[(Shape, usize, &str)] = &[
    (Shape::of::<Plain>(&[Any, Any]), 1, ".plain_b"),
    (Shape::of::<Optional>(&[Any, Any, Any, Any]), 0, ".left_out"),
    (Shape::of::<Documented>(&[Any, Any, Any]), 0, ".longName"),
    (Shape::of::<Lengths>(&[Any, Any]).numbers(3, 9), 1, ".map.*"),
    (Shape::of::<Vec<Hole<0>>>(&[Any]), 0, "[]"),
    (Shape::of::<[Hole<0>; 2]>(&[Any]), 0, "[]"),
    (Shape::of::<BTreeMap<String, Hole<0>>>(&[Any]), 0, ".*"),
    (Shape::of::<Option<Hole<0>>>(&[Any]), 0, ""),
    (Shape::of::<Box<Hole<0>>>(&[Any]), 0, ""),
    (Shape::of::<Content>(&[Any, Any]), 1, ".Two.two"),
];

const STRUCTS: usize = 4;

static PLAIN: Shape = Shape::of::<String>(&[]);

/// A type that is refused, the same type without the fault, and the message of kbr.
pub struct Refused {
    pub wrong: Rc<Node>,
    pub right: Rc<Node>,
    pub expected: String,
}

/// Draws a type with the fault at index `at` of the list.
pub fn draw(random: &mut Random, at: usize) -> Refused {
    let (shape, below, text) = &REFUSED[at % REFUSED.len()];
    let (mut wrong, mut right) = (node(shape, None), node(&PLAIN, None));
    let mut path = (*below).to_owned();
    let around = random.below(4);
    for step in (0..=around).rev() {
        let from = if step == 0 { STRUCTS } else { AROUND.len() };
        // The API server does not check defaults below a map, and refuses the objects later.
        let is_default = text.contains("default");
        let (shape, hole, name) = loop {
            let around = &AROUND[random.below(from)];
            if !(is_default && around.2.contains('*')) {
                break around;
            }
        };
        // A map that may have no entry has no fault below it.
        let numbers = shape.numbers;
        let numbers = numbers.map(|most| random.below(most.into()).max(most.min(1).into()));
        let numbers = numbers.map(|number| u16::try_from(number).unwrap_or_default());
        let with = |inner| node(shape, Some((*hole, inner, numbers)));
        (wrong, right) = (with(wrong), with(right));
        path = format!("{name}{path}");
    }
    Refused {
        wrong,
        right,
        expected: format!("`spec{path}` {text}"),
    }
}

/// A valid struct.
pub fn plain() -> Rc<Node> {
    node(&AROUND[0].0, None)
}

/// A node whose holes are all plain, except one.
fn node(shape: &'static Shape, filled: Option<(usize, Rc<Node>, [u16; 2])>) -> Rc<Node> {
    let plain = Rc::new(Node {
        shape: &PLAIN,
        children: Vec::new(),
        numbers: [0, 0],
    });
    let mut children = vec![plain; shape.holes.len()];
    let mut numbers = [0, 0];
    if let Some((hole, inner, of_it)) = filled {
        children[hole] = inner;
        numbers = of_it;
    }
    Rc::new(Node {
        shape,
        children,
        numbers,
    })
}
