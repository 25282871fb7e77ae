//! Checks that a pattern is a Go regular expression, since the API server uses those for strings. Pure.
//!
//! The syntax is described in <https://pkg.go.dev/regexp/syntax>. Names of Unicode classes and the
//! size of nested repetitions are left to the API server.

use std::sync::LazyLock;

use regex_lite::Regex;

use crate::names::is_among;

/// Maximum repetition count in Go.
const MOST: u32 = 1000;

/// The classes in brackets.
const POSIX: &str = "\
    alnum alpha ascii blank cntrl digit graph lower print punct space upper word xdigit";

/// An operator that repeats; a `{` without a count is literal text.
static REPETITION: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^(?:[*+?]|\{([0-9]+)(?:,([0-9]+)?)?\})"));

/// What follows `(?` if that sets flags, for a group or for what comes after it.
static FLAGS: LazyLock<Regex> = LazyLock::new(|| regex("^[imsU]*(?:-[imsU]+)?[:)]"));

/// What follows a backslash if that is not for a character that is known here.
static ESCAPE: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?s)^(?:[dDsSwWafnrtv]|[pP](?:\{[^}]*\}|[^{])|0[0-7]*|[1-7][0-7])"));

/// A pattern that kbr itself uses.
pub(super) fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern of kbr's own")
}

/// Returns the first thing that Go does not accept.
pub(crate) fn check(pattern: &str) -> Result<(), String> {
    let mut scanner = PatternScanner {
        rest: pattern,
        groups: 0,
        has_item: false,
        is_repeated: false,
    };
    while !scanner.rest.is_empty() {
        scanner.step()?;
    }
    match scanner.groups {
        0 => Ok(()),
        _ => Err("a `(` is not closed".to_owned()),
    }
}

struct PatternScanner<'a> {
    rest: &'a str,
    groups: usize,
    /// Whether the preceding item can be repeated.
    has_item: bool,
    /// Whether it is already repeated.
    is_repeated: bool,
}

impl PatternScanner<'_> {
    fn takes(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn next(&mut self) -> Option<char> {
        let mut rest = self.rest.chars();
        let next = rest.next();
        self.rest = rest.as_str();
        next
    }

    fn step(&mut self) -> Result<(), String> {
        let was_repeated = std::mem::take(&mut self.is_repeated);
        let had_item = std::mem::replace(&mut self.has_item, true);
        if let Some(found) = REPETITION.captures(self.rest) {
            let operator = &found[0];
            let number = |at| Some(found.get(at)?.as_str().parse().unwrap_or(u32::MAX));
            let least = number(1).unwrap_or_default();
            let most = number(2).unwrap_or(least);
            if most > MOST || most < least {
                return Err(format!("the count `{operator}` is not within 0 to {MOST}"));
            }
            if was_repeated {
                return Err(format!("`{operator}` repeats a repetition"));
            }
            if !had_item {
                return Err(format!("there is nothing before `{operator}`"));
            }
            self.rest = &self.rest[operator.len()..];
            self.takes("?");
            self.is_repeated = true;
            return Ok(());
        }
        match self.next().unwrap_or_default() {
            '|' => self.has_item = false,
            '(' => {
                let is_group = self.group()?;
                self.groups += usize::from(is_group);
                self.has_item = had_item && !is_group;
            }
            ')' => {
                let groups = self.groups.checked_sub(1);
                self.groups = groups.ok_or("a `)` has no `(`")?;
            }
            '[' => self.class()?,
            '\\' if self.takes("Q") => {
                let end = self.rest.find("\\E");
                self.rest = end.map_or("", |end| &self.rest[end + 2..]);
            }
            '\\' if ["A", "b", "B", "z"].iter().any(|it| self.takes(it)) => {}
            '\\' => drop(self.escape()?),
            _ => {}
        }
        Ok(())
    }

    /// What follows `(`, and whether that begins a group instead of setting flags.
    fn group(&mut self) -> Result<bool, String> {
        let before = self.rest;
        if !self.takes("?") {
            return Ok(true);
        }
        let mut looks = ["=", "!", "<=", "<!"].into_iter();
        if let Some(look) = looks.find(|look| self.rest.starts_with(look)) {
            let way = if look.len() > 1 { "behind" } else { "ahead" };
            return Err(format!("Go has no look-{way} (`(?{look}`)"));
        }
        if self.takes("P<") || self.takes("<") {
            let (name, rest) = self.rest.split_once('>').ok_or("a `(?<` has no `>`")?;
            let is_part = |c: char| c == '_' || c.is_ascii_alphanumeric();
            if name.is_empty() || !name.chars().all(is_part) {
                return Err(format!("`{name}` cannot be the name of a group"));
            }
            self.rest = rest;
            return Ok(true);
        }
        let Some(flags) = FLAGS.find(self.rest) else {
            let shown: String = before.chars().take(2).collect();
            return Err(format!("Go has no `({shown}`"));
        };
        self.rest = &self.rest[flags.len()..];
        Ok(flags.as_str().ends_with(':'))
    }

    /// What follows a backslash, in a class or outside: the character that it stands for, if any.
    fn escape(&mut self) -> Result<Option<char>, String> {
        if let Some(known) = ESCAPE.find(self.rest) {
            self.rest = &self.rest[known.len()..];
            return Ok(None);
        }
        let next = self.next().ok_or("it ends with a `\\`")?;
        let unknown = || match next {
            '1'..='9' | 'k' => format!("Go has no back references (`\\{next}`)"),
            _ => format!("Go has no `\\{next}`"),
        };
        match next {
            'p' | 'P' if self.rest.starts_with('{') => Err("a `\\p{` has no `}`".to_owned()),
            'x' => {
                let digits = match self.rest.strip_prefix('{') {
                    Some(braced) => braced.split_once('}').ok_or_else(unknown)?,
                    None => self.rest.split_at_checked(2).ok_or_else(unknown)?,
                };
                let code = u32::from_str_radix(digits.0, 16).ok();
                self.rest = digits.1;
                code.and_then(char::from_u32).map(Some).ok_or_else(unknown)
            }
            _ if next.is_ascii_punctuation() || next.is_ascii_whitespace() => Ok(Some(next)),
            _ => Err(unknown()),
        }
    }

    /// What follows `[`.
    fn class(&mut self) -> Result<(), String> {
        self.takes("^");
        let mut is_first = true;
        while is_first || !self.takes("]") {
            is_first = false;
            let posix = self.rest.strip_prefix("[:");
            if let Some((name, rest)) = posix.and_then(|rest| rest.split_once(":]")) {
                if !is_among(POSIX, name.strip_prefix('^').unwrap_or(name)) {
                    return Err(format!("Go has no class `[:{name}:]`"));
                }
                self.rest = rest;
                continue;
            }
            let Some(low) = self.member()? else {
                continue;
            };
            let is_range = self.rest.starts_with('-') && !self.rest.starts_with("-]");
            if is_range && self.rest.len() > 1 {
                self.takes("-");
                let high = self.member()?;
                if let Some(high) = high.filter(|high| *high < low) {
                    return Err(format!("the range `{low}-{high}` runs backwards"));
                }
            }
        }
        Ok(())
    }

    fn member(&mut self) -> Result<Option<char>, String> {
        match self.next().ok_or("a `[` is not closed")? {
            '\\' => self.escape(),
            plain => Ok(Some(plain)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::check;

    proptest! {
        #![proptest_config(crate::fuzz::random::properties())]

        /// The `regex-lite` crate accepts less than Go, except for repeated repetitions.
        #[test]
        fn refused_patterns_are_refused_by_another_parser_too(
            pattern in r"[ab\\()|*+?{}\[\]^$.,:<=!PdZ1-3é-]{0,12}",
        ) {
            let is_refused = check(&pattern).is_err();
            let is_accepted_there = regex_lite::Regex::new(&pattern).is_ok();
            let is_repeated = check(&pattern).is_err_and(|why| why.contains("repeats a repetition"));
            prop_assert!(!is_refused || !is_accepted_there || is_repeated, "{pattern}");
        }
    }

    /// Each was tried on a kube-apiserver 1.36.
    #[test]
    fn patterns_that_go_accepts_are_accepted() {
        for pattern in [
            r"\<",
            r"\/",
            r"\_",
            r"\Q.(\E",
            "(?i)a",
            "a{,5}",
            "a{",
            "[[:alpha:]]",
            r"\pN",
            r"\p{Greek}",
            "[]a]",
            "[^]a]",
            r"\x{41}",
            "(?U)a",
            r"[\d-z]",
            "(?i:a)",
            "^*",
            "(?:)",
            "()",
            "(?-s)",
            r"\07",
            r"\12",
            "[a&&b]",
            "(?P<1>a)",
            r"[\w-]",
            "(?<n>a)",
            "a{2,}?",
            "a*?",
            "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
            "é+",
        ] {
            assert_eq!(check(pattern), Ok(()), "{pattern}");
        }
    }

    #[test]
    fn patterns_that_go_does_not_accept_are_refused() {
        for (pattern, why) in [
            ("(?=a)", "no look-ahead (`(?=`)"),
            ("(?!a)b", "no look-ahead (`(?!`)"),
            ("(?<!a)b", "no look-behind (`(?<!`)"),
            ("(?<=a)b", "no look-behind (`(?<=`)"),
            (r"(a)\1", r"no back references (`\1`)"),
            (r"\k<n>", r"no back references (`\k`)"),
            ("a**", "`*` repeats a repetition"),
            ("x++", "`+` repeats a repetition"),
            ("a{2}{3}", "`{3}` repeats a repetition"),
            ("(?x)a", "no `(?x`"),
            ("(?>a)", "no `(?>`"),
            ("(?#c)", "no `(?#`"),
            ("(?P=n)", "no `(?P`"),
            ("(?i", "no `(?i`"),
            ("*a", "there is nothing before `*`"),
            ("a|*", "there is nothing before `*`"),
            ("[[:foo:]]", "no class `[:foo:]`"),
            ("[a", "a `[` is not closed"),
            ("[]", "a `[` is not closed"),
            ("a)", "a `)` has no `(`"),
            ("(a", "a `(` is not closed"),
            (r"\Z", r"no `\Z`"),
            (r"\h", r"no `\h`"),
            (r"\u0041", r"no `\u`"),
            (r"\é", r"no `\é`"),
            ("\\", r"it ends with a `\`"),
            ("[b-a]", "the range `b-a` runs backwards"),
            ("[a--z]", "the range `a--` runs backwards"),
            ("a{3,2}", "the count `{3,2}`"),
            ("a{1001}", "the count `{1001}`"),
        ] {
            let error = check(pattern).expect_err(pattern);
            assert!(error.contains(why), "{pattern}: {error}");
        }
    }
}
