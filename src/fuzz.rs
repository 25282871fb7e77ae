//! x

/// Environment variable: how many cases of each target are tried.
pub const CASES: &str = "KBR_FUZZ";
