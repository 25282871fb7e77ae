//! Types of a user: one that has a bit of everything, and some that no API server accepts.

use serde_json::Value;

/// Everything that is accepted.
pub mod fine {
    use std::collections::{BTreeMap, BTreeSet};

    use kube::{CustomResource, KubeSchema};
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    #[derive(Clone, CustomResource, Debug, Deserialize, KubeSchema, Serialize)]
    #[kube(group = "example.com", version = "v1", kind = "Fine", namespaced)]
    #[kube(shortname = "fi", category = "all", selectable = ".spec.host")]
    #[kube(printcolumn(name = "Host", type_ = "string", json_path = ".spec.host"))]
    #[serde(rename_all = "camelCase")]
    #[x_kube(validation = Rule::new("oldSelf.optMap(old, self.replicas >= old.replicas).orValue(true)")
        .message("replicas never shrink")
        .reason(Reason::FieldValueForbidden)
        .field_path(".replicas")
        .optional_old_self(true))]
    pub struct FineSpec {
        #[schemars(range(min = 1, max = 10))]
        pub replicas: u8,
        #[serde(default)]
        #[schemars(length(max = 9), inner(length(max = 63)))]
        pub set: BTreeSet<String>,
        #[serde(default)]
        #[x_kube(merge_strategy = ListMerge::Map(vec!["name".to_owned()]))]
        #[schemars(length(max = 9))]
        pub ports: Vec<Port>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[x_kube(merge_strategy = StructMerge::Atomic)]
        pub whole: Option<Port>,
        #[serde(default)]
        #[x_kube(merge_strategy = MapMerge::Granular)]
        pub labels: BTreeMap<String, String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub left: Option<Mode>,
        #[serde(default)]
        pub may_be_null: Option<String>,
        /// # How it is called
        #[serde(default = "host")]
        #[schemars(length(min = 1, max = 63), regex(pattern = "^[a-z]+$"))]
        pub host: String,
        #[serde(default)]
        pub tree: Vec<Tree>,
    }

    fn host() -> String {
        "localhost".to_owned()
    }

    #[derive(Clone, Debug, Deserialize, KubeSchema, Serialize)]
    pub struct Port {
        #[schemars(length(max = 15))]
        #[x_kube(validation = ("self == oldSelf", "it stays"))]
        pub name: String,
        pub number: u16,
    }

    #[derive(Clone, Copy, Debug, Deserialize, JsonSchema, Serialize)]
    pub enum Mode {
        Slow,
        /// Not slow.
        Fast,
        Other,
    }

    /// The part of the source of the API that has it: kbr reads the source too.
    pub const MODE: &str =
        "pub enum Mode { Slow,\n/// Not slow.\nFast, #[serde(alias = \"Old\")] Other }\n";

    /// Ends its recursion as kbr recommends.
    #[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
    pub struct Tree {
        pub name: String,
        #[serde(default)]
        #[schemars(
            with = "serde_json::Value",
            extend("x-kubernetes-preserve-unknown-fields" = true)
        )]
        pub left: Option<Box<Tree>>,
    }
}

/// A kind with one field, with the given attributes.
macro_rules! kind {
    ($kind:literal, $spec:ident, [$($kube:meta),*], $(#[$field:meta])* $type:ty) => {
        #[derive(Clone, kube::CustomResource, Debug, serde::Deserialize, kube::KubeSchema, serde::Serialize)]
        #[kube(group = "example.com", version = "v1", kind = $kind, namespaced)]
        $(#[$kube])*
        pub struct $spec {
            $(#[$field])*
            pub field: $type,
        }
    };
}

fn nothing() -> String {
    String::new()
}

fn zero() -> i32 {
    0
}

kind!(
    "Empty",
    EmptySpec,
    [],
    #[serde(default = "nothing")]
    #[schemars(length(min = 1))]
    String
);
kind!(
    "Zero",
    ZeroSpec,
    [],
    #[serde(default = "zero")]
    #[schemars(range(min = 1))]
    i32
);
kind!(
    "Ahead",
    AheadSpec,
    [],
    #[schemars(regex(pattern = "^(?!x)"))]
    String
);
kind!(
    "Syntax",
    SyntaxSpec,
    [],
    #[x_kube(validation = "self = 'a'")]
    String
);
kind!("Dear", DearSpec, [], #[x_kube(validation = "self.all(x, self.exists(y, x.contains(y)))")] Vec<String>);
kind!(
    "Column",
    ColumnSpec,
    [kube(printcolumn(
        name = "A",
        type_ = "int",
        json_path = ".spec.field"
    ))],
    String
);
kind!(
    "Selected",
    SelectedSpec,
    [kube(selectable = ".spec.other")],
    String
);
kind!("Short", ShortSpec, [kube(shortname = "Ze_")], String);

/// Calls `$each` with each type that is refused, and the message of kbr.
macro_rules! refused {
    ($each:ident) => {
        vec![
            $each!(Empty, "`v1::Empty`: `spec.field` has the default `\"\"`, which is empty"),
            $each!(Zero, "`v1::Zero`: `spec.field` has the default `0`, which is below 1"),
            $each!(Ahead, "`v1::Ahead`: `spec.field` has the pattern `^(?!x)`"),
            $each!(Syntax, "`v1::Syntax`: `spec.field` has the rule `self = 'a'`, which is not CEL"),
            $each!(Dear, "may cost more than the API server allows: `spec.field[]` has no `maxLength`, `spec.field` has no `maxItems`"),
            $each!(Column, "`v1::Column`: `#[kube(printcolumn(… name = \"A\", type_ = \"int\"))]` has a type"),
            $each!(Selected, "`v1::Selected`: `#[kube(selectable = \".spec.other\")]` is not a field"),
            $each!(Short, "`v1::Short`: `#[kube(shortname = \"Ze_\")]` is not a name"),
        ]
    };
}

/// The CRD of each type as kube itself generates it, and the message of kbr.
pub fn refused() -> Vec<(Value, &'static str)> {
    macro_rules! pair {
        ($kind:ident, $text:literal) => {
            (
                serde_json::json!(<$kind as kube::CustomResourceExt>::crd()),
                $text,
            )
        };
    }
    refused!(pair)
}

/// What crdgen prints for these types.
pub fn refused_entries() -> Vec<Value> {
    macro_rules! entry {
        ($kind:ident, $text:literal) => {
            super::crdgen::described::<$kind>()
        };
    }
    refused!(entry)
}
