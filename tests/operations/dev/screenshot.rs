//! The screen of `kbr dev` as the guide and README.md show it.
//!
//! `tests/tools/screen` writes both from a run. Each later run must show the same lines, but durations and times differ
//! between runs, and so does the order: the API server, the operator and cargo are read at the same time.

use std::fs;
use std::path::Path;

use crate::support::REPOSITORY;
use crate::support::documents::{fenced, guide, read};

const CHAPTER: &str = "developing";
const PICTURE: &str = ".github/kbr-dev.svg";

/// The class of a line in reverse video.
const BAR: &str = "bar";

/// Pixels between two lines, and at the edges.
const LINE: usize = 20;
const EDGE: usize = 16;

/// The width of a hundred characters in the widest of the fonts.
const HUNDRED: usize = 845;

/// The colours suit a page in any colour: the picture has its own background.
const STYLE: &str = "\
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,\"DejaVu Sans Mono\",monospace;fill:#d1d7e0;white-space:pre}
.bold{font-weight:bold}
.red{fill:#ff7b72}
.green{fill:#7ee787}
.yellow{fill:#e3b341}
.blue{fill:#79c0ff}
.cyan{fill:#6fd8e8}
.bar{fill:#0d1117}";

/// Characters of a line that look the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Span {
    /// The classes of the picture, separated by spaces.
    class: String,
    text: String,
}

/// The lines of a screen, with their styles.
#[derive(Debug, PartialEq, Eq)]
pub struct Screenshot(Vec<Vec<Span>>);

impl Screenshot {
    /// Reads what kbr has drawn, from the second line with this text on.
    pub fn from_second(frame: &str, text: &str) -> Self {
        // The terminal writes a carriage return before each end of a line, and so does kbr.
        let lines = frame.lines().map(|line| line.trim_end_matches('\r'));
        let mut lines: Vec<_> = lines.map(spans).collect();
        let found = lines.iter().enumerate();
        let mut found = found.filter(|(_, line)| text_of(line).contains(text));
        let (at, _) = found.nth(1).expect(text);
        lines.drain(..at);
        let is_empty = |line: &Vec<Span>| text_of(line).is_empty();
        // The screen has room for more lines above the status.
        let status = lines.pop().unwrap_or_default();
        while lines.pop_if(|line| is_empty(line)).is_some() {}
        lines.push(status);
        Self(lines)
    }

    /// Compares it with the one that the guide and README.md show, or replaces that one.
    pub fn is_shown(&self) {
        if std::env::var_os("KBR_OVERWRITE").is_some() {
            let block = |text: &str| format!("```text\n{text}```\n");
            let chapter = guide(CHAPTER).replace(&block(&shown_text()), &block(&self.text()));
            let files = [
                (PICTURE, self.svg()),
                (&*format!("src/guide/{CHAPTER}.md"), chapter),
            ];
            for (path, text) in files {
                fs::write(Path::new(REPOSITORY).join(path), text).expect("the file");
            }
        }
        let shown = Self::of_svg(&read(PICTURE));
        let (shown, now) = (shown.without_times(), self.without_times());
        let missing: Vec<_> = shown.iter().filter(|line| !now.contains(line)).collect();
        let new: Vec<_> = now.iter().filter(|line| !shown.contains(line)).collect();
        assert!(
            shown == now,
            "`kbr dev` does not show what {PICTURE} has; `tests/tools/screen` writes it again\n\
             missing: {missing:#?}\nnew: {new:#?}\nall:\n{}",
            self.text()
        );
    }

    fn text(&self) -> String {
        self.0.iter().map(|line| text_of(line) + "\n").collect()
    }

    /// A line for each of kbr's own lines of the screen, in any order, without durations and times: what the compiler
    /// prints depends on its version. A write that was told after the
    /// reconcile that did it is as one below it.
    fn without_times(&self) -> Vec<String> {
        let line = |line: &Vec<Span>| -> String {
            let spans = line.iter().map(|span| {
                let words = span.text.split_whitespace().filter(|word| !is_time(word));
                let words: Vec<_> = words
                    .map(|word| if is_duration(word) { "N" } else { word })
                    .collect();
                // A time that is too short is not shown.
                let words = words.join(" ").replace("N s until the start, ", "");
                (&span.class, words)
            });
            let spans = spans.filter(|(_, words)| !["", "Wrote"].contains(&words.as_str()));
            let spans: Vec<_> = spans
                .map(|(class, words)| format!("{class}[{words}]"))
                .collect();
            spans.join(" ")
        };
        let own = self.0.iter().filter(|spans| is_of_kbr(spans));
        let mut lines: Vec<_> = own.map(line).collect();
        lines.sort();
        lines
    }

    fn svg(&self) -> String {
        let columns = self.0.iter().map(|line| text_of(line).chars().count());
        let columns = columns.max().unwrap_or_default();
        let (width, height) = (
            columns * HUNDRED / 100 + 2 * EDGE,
            self.0.len() * LINE + 2 * EDGE,
        );
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\">\n\
             <title>The screen of kbr dev after three edits</title>\n<style>\n{STYLE}\n</style>\n\
             <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#0d1117\"/>\n"
        );
        for (at, line) in self.0.iter().enumerate() {
            let top = EDGE + at * LINE;
            if line.iter().any(|span| span.class.contains(BAR)) {
                svg += &format!(
                    "<rect y=\"{top}\" width=\"{width}\" height=\"{LINE}\" fill=\"#d1d7e0\"/>\n"
                );
            }
            let spans: String = line.iter().map(Span::svg).collect();
            let base = top + LINE - 6;
            svg +=
                &format!("<text x=\"{EDGE}\" y=\"{base}\" xml:space=\"preserve\">{spans}</text>\n");
        }
        svg + "</svg>\n"
    }

    /// Reads what [`Self::svg`] has written.
    fn of_svg(svg: &str) -> Self {
        let lines = svg.lines().filter_map(|line| {
            let (_, line) = line.strip_prefix("<text ")?.split_once('>')?;
            let line = line.strip_suffix("</text>")?;
            let spans = line.split("<tspan").skip(1).filter_map(|span| {
                let (attribute, text) = span.strip_suffix("</tspan>")?.split_once('>')?;
                let class = attribute.trim_start_matches(" class=\"");
                Some(Span {
                    class: class.trim_end_matches('"').to_owned(),
                    text: text
                        .replace("&lt;", "<")
                        .replace("&gt;", ">")
                        .replace("&amp;", "&"),
                })
            });
            Some(spans.collect())
        });
        Self(lines.collect())
    }
}

impl Span {
    fn svg(&self) -> String {
        let text = self.text.replace('&', "&amp;");
        let text = text.replace('<', "&lt;").replace('>', "&gt;");
        match self.class.as_str() {
            "" => format!("<tspan>{text}</tspan>"),
            class => format!("<tspan class=\"{class}\">{text}</tspan>"),
        }
    }
}

/// The text of a line, without the spaces at its end.
fn text_of(line: &[Span]) -> String {
    let text: String = line.iter().map(|span| span.text.as_str()).collect();
    text.trim_end().to_owned()
}

/// The screen that the guide shows: its first block of text.
fn shown_text() -> String {
    let chapter = guide(CHAPTER);
    let blocks = fenced(&chapter);
    let block = blocks.into_iter().find(|(kind, _)| *kind == "text");
    block.expect("a block").1.to_owned()
}

/// The spans of a line that kbr has drawn. It uses bold, reverse video and the colours of the terminal; cargo, too.
fn spans(line: &str) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let (mut is_bold, mut is_bar, mut colour) = (false, false, "");
    // What is before the first sequence has no style.
    let mut parts = line.split("\x1b[");
    let mut add = |class: String, text: &str| match spans.last_mut() {
        _ if text.is_empty() => {}
        Some(last) if last.class == class => last.text += text,
        _ => spans.push(Span {
            class,
            text: text.to_owned(),
        }),
    };
    add(String::new(), parts.next().unwrap_or_default());
    for part in parts {
        let end = part.find(|it: char| it.is_ascii_alphabetic());
        let (sequence, text) = part.split_at(end.expect("an escape sequence") + 1);
        if let Some(style) = sequence.strip_suffix('m') {
            match style.trim_start_matches("38;5;") {
                "" | "0" => (is_bold, is_bar, colour) = (false, false, ""),
                "1" if style == "1" => is_bold = true,
                "7" if style == "7" => is_bar = true,
                "31" | "91" | "1" | "9" => colour = "red",
                "32" | "92" | "2" | "10" => colour = "green",
                "33" | "93" | "3" | "11" => colour = "yellow",
                "34" | "94" | "4" | "12" => colour = "blue",
                "36" | "96" | "6" | "14" => colour = "cyan",
                "37" | "97" | "7" | "15" => colour = "",
                _ => panic!("the style {style} in {line:?}"),
            }
        }
        let classes = [
            colour,
            if is_bold { "bold" } else { "" },
            if is_bar { BAR } else { "" },
        ];
        let classes = classes.into_iter().filter(|class| !class.is_empty());
        let classes: Vec<_> = classes.collect();
        add(classes.join(" "), text);
    }
    spans
}

/// Whether kbr has written a line, which begins with a time or below one, or is the status; the compiler writes others.
fn is_of_kbr(line: &[Span]) -> bool {
    const BELOW: &str = "                  ";
    let text = text_of(line);
    let is_timed = text.split_whitespace().next().is_some_and(is_time);
    is_timed || text.starts_with(BELOW) || line.iter().any(|span| span.class.contains(BAR))
}

/// Whether a word is a time, such as 0:46.
fn is_time(word: &str) -> bool {
    let Some((minutes, seconds)) = word.split_once(':') else {
        return false;
    };
    minutes.parse::<u32>().is_ok() && seconds.len() == 2 && seconds.parse::<u32>().is_ok()
}

/// Whether a word is a duration, such as 12.3ms, with a unit or before it.
fn is_duration(word: &str) -> bool {
    let number = word.trim_end_matches(|it: char| it.is_alphabetic() || it == ',');
    number.contains('.') && number.parse::<f64>().is_ok()
}

#[test]
fn the_picture_in_the_readme_shows_the_screen_of_the_guide() {
    assert_eq!(Screenshot::of_svg(&read(PICTURE)).text(), shown_text());
}

#[test]
fn styles_of_a_frame_become_those_of_the_picture() {
    let frame = "Running\r\n\x1b[2K  0:01 \x1b[1m\x1b[32mRunning\x1b[0m <a> & 1.5 s\r\n\r\n\x1b[7m all \x1b[0m";
    let shot = Screenshot::from_second(frame, "Running");
    assert_eq!(shot.text(), "  0:01 Running <a> & 1.5 s\n all\n");
    let svg = shot.svg();
    assert!(
        svg.contains(
            "<tspan>  0:01 </tspan><tspan class=\"green bold\">Running</tspan>\
             <tspan> &lt;a&gt; &amp; 1.5 s</tspan>"
        ),
        "{svg}"
    );
    assert_eq!(Screenshot::of_svg(&svg), shot);
    let expected = ["bar[all]", "green bold[Running] [<a> & N s]"];
    assert_eq!(shot.without_times(), expected);
}
