//! Random types: real Rust types with holes, which other such types fill.
//!
//! A hole is a type too, and behaves like the type that fills it: in what schemars, serde and kube derive for
//! the type around it, and so in everything that they print. Meanwhile a thread-local variable holds the tree
//! of types.

use std::borrow::Cow;
use std::cell::RefCell;
use std::cmp::Ordering;
use std::rc::Rc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// What may fill a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    Any,
    /// A type whose default is within its own bounds.
    Default,
    /// A struct, or an enum whose variants have content, for `#[serde(flatten)]`.
    Flat,
}

/// A real type, and what may fill its holes.
#[derive(Debug)]
pub struct Shape {
    pub name: fn() -> &'static str,
    pub holes: &'static [Wanted],
    /// Whether its default is independent of those of its holes.
    pub is_empty_by_default: bool,
    pub default: Option<fn() -> Value>,
    pub is_flat: bool,
    /// The upper bounds of its numbers.
    pub numbers: [u16; 2],
    inline: fn() -> bool,
    schema_name: fn() -> Cow<'static, str>,
    schema_id: fn() -> Cow<'static, str>,
    schema: fn(&mut SchemaGenerator) -> Schema,
    schema_if_present: fn(&mut SchemaGenerator) -> Schema,
    is_option: fn() -> bool,
    read: fn(Value) -> serde_json::Result<Value>,
}

impl Shape {
    pub const fn of<T: JsonSchema + Serialize + DeserializeOwned>(
        holes: &'static [Wanted],
    ) -> Self {
        Self {
            name: std::any::type_name::<T>,
            holes,
            is_empty_by_default: false,
            default: None,
            is_flat: false,
            numbers: [0, 0],
            inline: T::inline_schema,
            schema_name: T::schema_name,
            schema_id: T::schema_id,
            schema: T::json_schema,
            schema_if_present: T::_schemars_private_non_optional_json_schema,
            is_option: T::_schemars_private_is_option,
            read: |value| serde_json::from_value::<T>(value).and_then(serde_json::to_value),
        }
    }

    /// Gives it a default, which is made of those of its holes.
    pub const fn with_default<T: Default + Serialize>(mut self) -> Self {
        self.default = Some(|| serde_json::to_value(T::default()).unwrap_or_default());
        self
    }

    /// Gives it an empty default, whatever is in its holes.
    pub const fn empty_by_default<T: Default + Serialize>(mut self) -> Self {
        self.is_empty_by_default = true;
        self.with_default::<T>()
    }

    pub const fn numbers(mut self, first: u16, second: u16) -> Self {
        self.numbers = [first, second];
        self
    }

    pub const fn flat(mut self) -> Self {
        self.is_flat = true;
        self
    }
}

/// A shape with its holes filled.
#[derive(Debug)]
pub struct Node {
    pub shape: &'static Shape,
    pub children: Vec<Rc<Node>>,
    /// The numbers from which the bounds in its attributes are computed.
    pub numbers: [u16; 2],
}

thread_local! {
    /// The nodes that are being described, outermost first.
    static OPEN: RefCell<Vec<Rc<Node>>> = const { RefCell::new(Vec::new()) };
}

/// Closes a node when dropped, even after a panic.
struct Opened;

impl Drop for Opened {
    fn drop(&mut self) {
        OPEN.with_borrow_mut(|open| open.pop());
    }
}

/// Calls `what`, which sees the holes of `node`.
pub fn inside<T>(node: &Rc<Node>, what: impl FnOnce() -> T) -> T {
    OPEN.with_borrow_mut(|open| open.push(node.clone()));
    let _opened = Opened;
    what()
}

fn current() -> Rc<Node> {
    OPEN.with_borrow(|open| open.last().cloned().expect("a node is open"))
}

/// A number of the node that is being described.
pub fn number(at: usize) -> u16 {
    current().numbers[at]
}

impl Node {
    /// The type as a generic type would be written. Types with the same text are the same type.
    pub fn text(&self) -> String {
        let name = (self.shape.name)().replace("schemas::drawn::", "");
        let mut text = name.replace("alloc::", "").replace("::tree::", "::");
        if self.children.is_empty() && self.numbers == [0, 0] {
            return text;
        }
        let children: Vec<String> = self.children.iter().map(|child| child.text()).collect();
        text += &format!("<{}>", children.join(", "));
        if self.numbers != [0, 0] {
            text += &format!("{:?}", self.numbers);
        }
        text
    }

    pub fn has_default(&self) -> bool {
        let below = || self.children.iter().all(|child| child.has_default());
        self.shape.default.is_some() && (self.shape.is_empty_by_default || below())
    }

    /// Reads a value as the Rust type, and writes it again.
    pub fn read(self: &Rc<Self>, value: Value) -> serde_json::Result<Value> {
        inside(self, || (self.shape.read)(value))
    }
}

/// A value of the type that fills a hole.
#[derive(Clone, Debug)]
pub struct Hole<const AT: usize>(Value);

impl<const AT: usize> Hole<AT> {
    fn with<T>(what: impl FnOnce(&Rc<Node>) -> T) -> T {
        let node = current().children[AT].clone();
        inside(&node, || what(&node))
    }
}

impl<const AT: usize> JsonSchema for Hole<AT> {
    fn inline_schema() -> bool {
        Self::with(|node| (node.shape.inline)())
    }

    fn schema_name() -> Cow<'static, str> {
        Self::with(|node| (node.shape.schema_name)())
    }

    /// Several types may have the same name; schemars numbers them.
    fn schema_id() -> Cow<'static, str> {
        Self::with(
            |node| match node.children.is_empty() && node.numbers == [0, 0] {
                true => (node.shape.schema_id)(),
                false => node.text().into(),
            },
        )
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Self::with(|node| (node.shape.schema)(generator))
    }

    fn _schemars_private_non_optional_json_schema(generator: &mut SchemaGenerator) -> Schema {
        Self::with(|node| (node.shape.schema_if_present)(generator))
    }

    fn _schemars_private_is_option() -> bool {
        Self::with(|node| (node.shape.is_option)())
    }
}

impl<const AT: usize> Default for Hole<AT> {
    fn default() -> Self {
        let default = Self::with(|node| node.shape.default.map(|default| default()));
        Self(default.expect("it was drawn with a default"))
    }
}

impl<const AT: usize> Serialize for Hole<AT> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, const AT: usize> Deserialize<'de> for Hole<AT> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // A missing field is null for an `Option`, and for nothing else.
        let value = match Self::_schemars_private_is_option() {
            true => Option::<Value>::deserialize(deserializer)?.unwrap_or_default(),
            false => Value::deserialize(deserializer)?,
        };
        let node = current().children[AT].clone();
        node.read(value).map(Self).map_err(D::Error::custom)
    }
}

impl<const AT: usize> Ord for Hole<AT> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.to_string().cmp(&other.0.to_string())
    }
}

impl<const AT: usize> PartialOrd for Hole<AT> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<const AT: usize> Eq for Hole<AT> {}

impl<const AT: usize> PartialEq for Hole<AT> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
