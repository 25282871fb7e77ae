//! Random choices from a seed, and random changes of a text; and the seed that a run begins with.

use std::env;
use std::io::Write;
use std::ops::Range;
use std::process::Command;

use proptest::test_runner::{Config as ProptestConfig, RngSeed};

/// Environment variable: how many cases of each test are tried.
pub(crate) const CASES: &str = "KBR_FUZZ";

/// Environment variable: the seed of the first case; each further case has the next one.
const SEED: &str = "KBR_SEED";

/// Characters that often cause trouble, in texts of all kinds.
const ODD: [&str; 40] = [
    "\0", "\u{1}", "\u{7f}", "\u{85}", "\u{a0}", "\u{ad}", "\u{feff}", "\u{202e}", "\u{2028}",
    "\u{e000}", "ü", "ß", "İ", "日本", "🦀", "e\u{301}", "\r", "\n", "\r\n", "\t", " ", "  ", "\"",
    "\'", "`", "\\", "/", "..", "~", "{{", "}}", "{{{x}}}", "$(x)", "%s", "*", "&", "!", "|", "--",
    "=",
];

/// Lengths around the limits of names of all kinds.
const LENGTHS: [usize; 14] = [0, 1, 2, 27, 28, 29, 58, 59, 60, 62, 63, 64, 253, 254];

/// Choices that are always the same for a seed (SplitMix64).
pub(crate) struct Random {
    state: u64,
    /// The input, to be shown if the case fails.
    input: String,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            // The choices of two seeds that follow each other would be the same ones, one later.
            state: mixed(seed),
            input: String::new(),
        }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.state)
    }

    /// A number below `end`, or 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end.max(1)).expect("64 bits");
        usize::try_from(self.next() % end).expect("below what came in")
    }

    /// True in one of `of` cases.
    pub(crate) fn one_in(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }

    pub(crate) fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }

    /// Remembers the input, which is shown if the case fails.
    pub(crate) fn input(&mut self, input: impl std::fmt::Debug) {
        self.input = format!("{input:?}");
    }

    pub(crate) fn fails(&self, again: &str) {
        say(&format!("input: {}\n{again}\n", self.input));
    }

    /// Returns `text` with a few changes; `words` are fragments of such texts.
    pub(crate) fn mutate(&mut self, text: &str, words: &[&str]) -> String {
        let mut text = text.to_owned();
        for _ in 0..=self.below(4) {
            self.mutate_once(&mut text, words);
        }
        text
    }

    fn mutate_once(&mut self, text: &mut String, words: &[&str]) {
        let (start, end) = self.range(text);
        match self.below(12) {
            0 => text.replace_range(start..end, ""),
            1 | 2 => text.insert_str(start, self.pick(words)),
            3 | 4 => text.replace_range(start..end, self.pick(words)),
            5 => text.insert_str(start, self.pick(&ODD)),
            6 => text.replace_range(start..end, self.pick(&ODD)),
            7 => {
                let part = text[start..end].to_owned();
                let (at, _) = self.range(text);
                text.insert_str(at, &part);
            }
            8 => text.truncate(start),
            9 => self.swap_lines(text),
            10 => {
                let letter = text.chars().next_back().unwrap_or('a');
                let missing = LENGTHS[self.below(LENGTHS.len())].saturating_sub(text.len());
                text.extend(std::iter::repeat_n(letter, missing));
            }
            _ => match self.below(8) {
                0 => *text = text.replace('\n', "\r\n"),
                1 => text.insert(0, '\u{feff}'),
                2 => text.push_str(&self.pick(words).repeat(300)),
                3 => *text = text.to_uppercase(),
                4 => *text = text.to_lowercase(),
                _ => text.replace_range(start..end, &text[start..end].repeat(2)),
            },
        }
    }

    /// A range of the text that begins and ends between characters, most often of one word.
    fn range(&mut self, text: &str) -> (usize, usize) {
        let mut start = self.below(text.len() + 1);
        let longest = if self.one_in(4) { 80 } else { 8 };
        let mut end = (start + self.below(longest)).min(text.len());
        if self.one_in(2) {
            let is_word = |c: char| c.is_alphanumeric();
            let floor = text.floor_char_boundary(start);
            start = text[..floor]
                .rfind(|c| !is_word(c))
                .map_or(0, |at| text.ceil_char_boundary(at + 1));
            end = text[start..]
                .find(|c| !is_word(c))
                .map_or(text.len(), |at| start + at);
        }
        (
            text.floor_char_boundary(start),
            text.ceil_char_boundary(end),
        )
    }

    fn swap_lines(&mut self, text: &mut String) {
        let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
        if !lines.is_empty() {
            let (a, b) = (self.below(lines.len()), self.below(lines.len()));
            lines.swap(a, b);
            *text = lines.concat();
        }
    }
}

fn mixed(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The number in an environment variable.
pub(crate) fn number_in(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{variable} is not a number: {text:?}")),
    )
}

/// The seed that a run begins with, unless the environment sets one: that of the commit that is checked out. So a
/// run of the same commit repeats it, and each commit tries other cases.
pub(crate) fn first_seed() -> u64 {
    number_in(SEED).unwrap_or_else(|| {
        let mut git = Command::new("git");
        git.args(["rev-parse", "HEAD"]);
        let output = git.current_dir(env!("CARGO_MANIFEST_DIR")).output();
        let commit = output.map(|output| output.stdout).unwrap_or_default();
        of_commit(&String::from_utf8_lossy(&commit))
    })
}

/// 0 for a copy of the repository without git.
pub(crate) fn of_commit(commit: &str) -> u64 {
    let start = commit.get(..8).unwrap_or_default();
    u64::from_str_radix(start, 16).unwrap_or(0)
}

/// The seeds of the cases of a run: `cases` of them or, if the environment sets a number, one in `share` of that.
pub(crate) fn seeds(cases: u64, share: u64) -> Range<u64> {
    let count = number_in(CASES).map_or(cases, |asked| asked.div_ceil(share));
    let first = first_seed();
    first..first + count
}

/// The configuration of tests by proptest: as of all others, their seed is the commit's. A failure shows the input, and
/// leaves no file.
pub(crate) fn properties() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(first_seed()),
        ..ProptestConfig::default()
    }
}

/// How to repeat one case of a test.
pub(crate) fn again(seed: u64, test: &str) -> String {
    format!("repeat it with: {CASES}=1 {SEED}={seed} tests/tools/fuzz {test}")
}

/// Prints a text even if the test succeeds.
pub(crate) fn say(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}
