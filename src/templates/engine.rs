//! The engine that renders a template, and what it knows of rustfmt. Pure, except that parsed templates are kept.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use handlebars::{
    Context, Handlebars, Helper, HelperResult, Output, RenderContext, Renderable, Template,
    handlebars_helper, no_escape,
};

use crate::article::article;

/// rustfmt's default `max_width`, in characters.
const RUSTFMT_WIDTH: usize = 100;

/// rustfmt's default `fn_call_width`: arguments that are wider are on a line each.
const ARGUMENTS_WIDTH: usize = 60;

static ENGINE: LazyLock<Handlebars<'_>> = LazyLock::new(|| {
    let mut engine = Handlebars::new();
    engine.set_strict_mode(true);
    engine.register_escape_fn(no_escape);
    engine.register_helper("article", Box::new(lower_article));
    engine.register_helper("Article", Box::new(upper_article));
    engine.register_helper("constant", Box::new(constant));
    engine.register_helper("fits", Box::new(fits));
    engine
});

/// A part of a template.
enum Piece {
    /// Lines without a tag.
    Text(&'static str),
    Parsed(Template),
}

/// The pieces of each template, by its text.
type Parsed = HashMap<&'static str, Arc<Vec<Piece>>>;

/// Renders a template. One that does not render is a bug in kbr, which its tests find first.
pub(super) fn render(name: &str, source: &'static str, context: &Context) -> String {
    let (before, dynamic, after) = split(source);
    if dynamic.is_empty() {
        return source.to_owned();
    }
    let mut text = before.to_owned();
    for piece in parsed(name, dynamic).iter() {
        match piece {
            Piece::Text(lines) => text.push_str(lines),
            Piece::Parsed(template) => {
                let rendered = template.renders(&ENGINE, context, &mut RenderContext::new(None));
                let rendered = rendered.unwrap_or_else(|error| panic!("template {name}: {error}"));
                text.push_str(&rendered);
            }
        }
    }
    text.push_str(after);
    text
}

/// The parsed template, which is kept until the process ends: many kinds need the same template, and to parse it takes
/// longer than to render it.
fn parsed(name: &str, source: &'static str) -> Arc<Vec<Piece>> {
    static PARSED: LazyLock<Mutex<Parsed>> = LazyLock::new(Mutex::default);
    let parse = |(text, has_tags)| {
        if has_tags {
            Piece::Parsed(
                Template::compile(text).unwrap_or_else(|error| panic!("template {name}: {error}")),
            )
        } else {
            Piece::Text(text)
        }
    };
    let parse = || Arc::new(pieces(source).into_iter().map(parse).collect());
    // A template that cannot be parsed is not kept, so the map is whole after its panic.
    let mut all = PARSED.lock().unwrap_or_else(PoisonError::into_inner);
    all.entry(source).or_insert_with(parse).clone()
}

// `{{article kind}}` and `{{Article kind}}`: the article before a name in a sentence, and at its beginning.
handlebars_helper!(lower_article: |word: str| article(word));
handlebars_helper!(upper_article: |word: str| if article(word) == "an" { "An" } else { "A" });

/// Splits a template into the lines before its first tag, those from the first tag to the last, and
/// those after the last. The engine only needs the middle: it parses plain text letter by letter, which
/// for all of `init/` takes longer than everything else.
fn split(source: &str) -> (&str, &str, &str) {
    let Some(first) = source.find("{{") else {
        return (source, "", "");
    };
    let start = source[..first].rfind('\n').map_or(0, |newline| newline + 1);
    // An escaped pair of braces need not be closed.
    let last = source.rfind("{{").max(source.rfind("}}")).unwrap_or(first);
    let end = source[last..]
        .find('\n')
        .map_or(source.len(), |newline| last + newline + 1);
    (&source[..start], &source[start..end], &source[end..])
}

/// A template as the engine renders it without [`split`] and [`pieces`].
#[cfg(test)]
pub(crate) fn whole(source: &str, context: &Context) -> String {
    let rendered = ENGINE.render_template_with_context(source, context);
    rendered.expect("it renders")
}

/// Splits these lines again, into those with tags or inside of a block and those without.
fn pieces(source: &str) -> Vec<(&str, bool)> {
    let mut pieces: Vec<(&str, bool)> = Vec::new();
    let (mut depth, mut start, mut end) = (0, 0, 0);
    for line in source.split_inclusive('\n') {
        // A single byte is found much faster.
        let may_have_tags = [b'{', b'}'].iter().any(|it| line.as_bytes().contains(it));
        let count = |tag| line.matches(tag).count();
        let has_tags = depth > 0 || may_have_tags && count("{{") + count("}}") > 0;
        if has_tags && may_have_tags {
            depth = (depth + count("{{#")).saturating_sub(count("{{/"));
        }
        if pieces.last().is_none_or(|(_, last)| *last != has_tags) {
            start = end;
            pieces.push(("", has_tags));
        }
        end += line.len();
        if let Some((text, _)) = pieces.last_mut() {
            *text = &source[start..end];
        }
    }
    pieces
}

/// `{{#fits}}A{{else}}B{{/fits}}`: A if rustfmt would leave its lines as they are, else B.
///
/// The emitted code is rendered in rustfmt's format, however long the names in it: kbr does not run
/// rustfmt on new files. A is the form on one line, B the form that rustfmt would give it.
fn fits<'engine, 'call>(
    helper: &Helper<'call>,
    engine: &'engine Handlebars<'engine>,
    context: &'call Context,
    state: &mut RenderContext<'engine, 'call>,
    out: &mut dyn Output,
) -> HelperResult {
    let mut render = |form: Option<&'call Template>| match form {
        Some(form) => form.renders(engine, context, state),
        None => Ok(String::new()),
    };
    let short = render(helper.template())?;
    let text = if short
        .lines()
        .all(|line| is_narrow(line) && has_narrow_arguments(line))
    {
        short
    } else {
        render(helper.inverse())?
    };
    out.write(&text)?;
    Ok(())
}

/// `{{#constant}}A = B;{{/constant}}`: a constant whose value is a string literal, as rustfmt formats it:
/// on one line, or broken after `=` if that makes it fit.
fn constant<'engine, 'call>(
    helper: &Helper<'call>,
    engine: &'engine Handlebars<'engine>,
    context: &'call Context,
    state: &mut RenderContext<'engine, 'call>,
    out: &mut dyn Output,
) -> HelperResult {
    let Some(form) = helper.template() else {
        return Ok(());
    };
    let short = form.renders(engine, context, state)?;
    let broken = short.replacen(" = ", " =\n    ", 1);
    let must_break = !short.lines().all(is_narrow) && broken.lines().all(is_narrow);
    out.write(if must_break { &broken } else { &short })?;
    Ok(())
}

/// Whether rustfmt leaves a line as it is.
fn is_narrow(line: &str) -> bool {
    line.chars().count() <= RUSTFMT_WIDTH
}

/// Whether rustfmt leaves the arguments of a call that is a statement on one line.
fn has_narrow_arguments(line: &str) -> bool {
    let arguments = line.split_once('(');
    let arguments = arguments.and_then(|(_, rest)| rest.strip_suffix(");"));
    arguments.is_none_or(|arguments| arguments.chars().count() <= ARGUMENTS_WIDTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_without_a_tag_outside_of_blocks_are_pieces_of_their_own() {
        let source = "{{a}}\n}\nb\n{{#if c}}\nd\n{{#if e}}{{/if}}\nf\n{{/if}}\ng\n\\{{h";
        let expected = [
            ("{{a}}\n", true),
            ("}\nb\n", false),
            ("{{#if c}}\nd\n{{#if e}}{{/if}}\nf\n{{/if}}\n", true),
            ("g\n", false),
            ("\\{{h", true),
        ];
        assert_eq!(pieces(source), expected);
    }

    #[test]
    fn a_constant_breaks_if_that_makes_it_fit() {
        let render = |name: &str| {
            let context = serde_json::json!({ "name": name });
            let template = "{{#constant}}\nconst A: &str = \"{{name}}\";\n{{/constant}}\n";
            render("", template, &Context::from(context))
        };
        let [short, long, longer] = [81, 82, 94].map(|length| "a".repeat(length));
        assert_eq!(render(&short), format!("const A: &str = \"{short}\";\n"));
        assert_eq!(render(&long), format!("const A: &str =\n    \"{long}\";\n"));
        assert_eq!(render(&longer), format!("const A: &str = \"{longer}\";\n"));
    }

    #[test]
    fn a_call_breaks_if_its_arguments_are_wide() {
        let template = "{{#fits}}\na.b(\"{{name}}\", c);\n{{else}}\nbroken\n{{/fits}}\n";
        let render = |length| {
            let context = serde_json::json!({ "name": "n".repeat(length) });
            render("", template, &Context::from(context))
        };
        assert!(render(55).starts_with("a.b("));
        assert_eq!(render(56), "broken\n");
    }

    #[test]
    fn only_the_lines_between_the_first_and_the_last_tag_are_rendered() {
        assert_eq!(split("a\nb\n"), ("a\nb\n", "", ""));
        assert_eq!(
            split("a\nb {{c}}\nd\n{{e}} f\ng\n"),
            ("a\n", "b {{c}}\nd\n{{e}} f\n", "g\n")
        );
        assert_eq!(split("{{a}}"), ("", "{{a}}", ""));
        assert_eq!(split("}}\n\\{{\nb\n"), ("}}\n", "\\{{\n", "b\n"));
        assert_eq!(split("{{a}}\n\\{{\nb\n"), ("", "{{a}}\n\\{{\n", "b\n"));
    }
}
