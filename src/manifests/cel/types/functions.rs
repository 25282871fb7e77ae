//! What functions return, as far as their names tell. Pure.

use super::super::{CelError, Expr};
use super::words::shown;
use super::{Checked, Type};
use crate::names::is_among;

/// Functions of CEL and of Kubernetes, to recognize misspelt ones.
///
/// Source: cel-go's `stdlib` and the libraries in apiserver's `pkg/cel/library` and `pkg/cel/environment`.
const FUNCTIONS: &str = "\
    add all allowed asApproximateFloat asInteger bool bytes charAt check cidr compareTo contains containsCIDR \
    containsIP distinct double duration dyn endsWith equivalent error errored escapeKey exists existsOne exists_one \
    family fieldSelector filter find findAll flatten format getDate getDayOfMonth getDayOfWeek getDayOfYear \
    getEscapedPath getFullYear getHost getHostname getHours getMilliseconds getMinutes getMonth getPort getQuery \
    getScheme getSeconds group has hasValue indexOf int intersects ip isCIDR isCanonical isGlobalUnicast \
    isGreaterThan isIP isInteger isLessThan isLinkLocalMulticast isLinkLocalUnicast isLoopback isQuantity isSemver \
    isSorted isURL isUnspecified join labelSelector lastIndexOf lowerAscii major map masked matches max min minor \
    name named namespace none of ofNonZeroValue optFlatMap optMap or orValue patch path prefixLength quantity quote \
    range reason replace resource reverse semver serviceAccount sign size slice sort sortBy split startsWith string \
    sub subresource substring sum timestamp transformList transformMap transformMapEntry trim type uint upperAscii \
    url validate value";

/// What functions with these names return, where that is certain.
pub(super) fn named_function<'a>(
    function: &str,
    arguments: &[Expr],
    types: &[Type<'a>],
    at: usize,
) -> Checked<'a> {
    let Some(method) = function.strip_prefix('.') else {
        return Ok(match function {
            "size" | "int" => Type::Int,
            "string" => Type::Text,
            "bool" => Type::Bool,
            "uint" => Type::Uint,
            "double" => Type::Double,
            "type" | "dyn" | "bytes" | "duration" | "timestamp" => Type::Any,
            _ => return unknown_function(function, at),
        });
    };
    let (Some(target), Some(of)) = (arguments.first(), types.first()) else {
        return Ok(Type::Any);
    };
    let is_of_text = matches!(
        method,
        "startsWith"
            | "endsWith"
            | "contains"
            | "matches"
            | "lowerAscii"
            | "upperAscii"
            | "trim"
            | "replace"
            | "substring"
            | "charAt"
            | "split"
            | "find"
            | "findAll"
    );
    let is_scalar = matches!(of, Type::Bool | Type::Null) || of.is_number();
    let is_unfit =
        is_of_text && !matches!(of, Type::Any | Type::Text) || method == "size" && is_scalar;
    if is_unfit {
        let message = format!("{} is {of}, which has no `{method}`", shown(target));
        return Err(CelError::new(at, message));
    }
    Ok(match (method, of) {
        ("startsWith" | "endsWith" | "contains" | "matches", Type::Text) => Type::Bool,
        ("hasValue", _) => Type::Bool,
        ("lowerAscii" | "upperAscii" | "trim" | "replace" | "substring" | "charAt", Type::Text) => {
            Type::Text
        }
        ("size", Type::Text | Type::List(_) | Type::Map(_)) => Type::Int,
        ("split", Type::Text) => Type::List(Box::new(Type::Text)),
        ("orValue", of) => match types.get(1) {
            Some(other) => of.clone().or(other.clone()),
            None => Type::Any,
        },
        ("value", of) => of.clone(),
        _ => return unknown_function(method, at),
    })
}

/// The result of a function that is not known here; refuses a name that differs from a known one by a letter.
fn unknown_function<'a>(name: &str, at: usize) -> Checked<'a> {
    if is_among(FUNCTIONS, name) {
        return Ok(Type::Any);
    }
    let is_close = |known: &&str| {
        known.len() > 3
            && strsim::damerau_levenshtein(&known.to_lowercase(), &name.to_lowercase()) < 2
    };
    match FUNCTIONS.split(' ').find(is_close) {
        Some(known) => {
            let message = format!("there is no function `{name}` (did you mean `{known}`?)");
            Err(CelError::new(at, message))
        }
        // It may be newer than kbr.
        None => Ok(Type::Any),
    }
}
