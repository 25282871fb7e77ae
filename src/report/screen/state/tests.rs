//! Unit tests.

use serde_json::json;

use super::*;

fn tell(state: &mut State, seconds: u64, happening: Happening) {
    state.take(Duration::from_secs(seconds), &happening);
}

fn wrote(object: &str, controller: Option<&str>, owner: Option<&str>) -> Happening {
    let facts = json!({ "object": object, "controller": controller, "owner": owner });
    let text = format!("apply {object}\n~ spec.size: 1 -> 2");
    let wrote = Happening::new("wrote", Level::Note, "Wrote");
    wrote.text(&text).facts(facts)
}

fn reconciled(controller: &str, object: &str) -> Happening {
    let facts = json!({ "controller": controller, "object": object });
    Happening::new("reconciled", Level::Good, "Reconciled")
        .text(&format!("{object} by {controller}"))
        .facts(facts)
}

/// The text on the screen, without the empty lines and the spaces at the ends of lines.
fn shown(state: &mut State, columns: usize, rows: usize) -> Vec<String> {
    let lines = state.lines(columns, rows);
    assert_eq!(lines.len(), rows);
    let lines = lines.iter().map(|line| strip_str(line).to_string());
    let lines = lines.map(|line| line.trim_end().to_owned());
    lines.filter(|line| !line.is_empty()).collect()
}

fn state() -> State {
    State::new("fleet", true)
}

#[test]
fn the_writes_of_a_reconcile_are_below_it() {
    let mut state = state();
    tell(
        &mut state,
        1,
        wrote("Pod default/p", Some("captain"), Some("default/a")),
    );
    tell(
        &mut state,
        1,
        wrote("Pod default/q", None, Some("default/a")),
    );
    tell(
        &mut state,
        2,
        wrote("Captain default/b", Some("captain"), None),
    );
    tell(&mut state, 2, wrote("Ship default/a", Some("ship"), None));
    tell(&mut state, 61, reconciled("captain", "default/a"));
    let expected = [
        "  0:02        Wrote apply Ship default/a",
        "                      ~ spec.size: 1 -> 2",
        "  1:01   Reconciled default/a by captain",
        "                    apply Pod default/p",
        "                      ~ spec.size: 1 -> 2",
        "                    apply Pod default/q",
        "                      ~ spec.size: 1 -> 2",
        "                    apply Captain default/b",
        "                      ~ spec.size: 1 -> 2",
    ];
    let lines = shown(&mut state, 80, 20);
    assert_eq!(lines[..lines.len() - 1], expected, "{lines:#?}");

    assert_eq!(state.key("d"), Pressed::Own);
    let lines = shown(&mut state, 80, 20);
    assert!(!lines.iter().any(|line| line.contains('~')), "{lines:#?}");
}

#[test]
fn a_reconcile_that_fails_has_its_writes_below_it_and_a_line_that_it_logs_has_none() {
    let mut state = state();
    let log = |level, text: &str| {
        let facts = json!({ "controller": "captain", "object": "default/a" });
        let line = Happening::new("log", level, "Log");
        line.text(text).facts(facts)
    };
    tell(
        &mut state,
        0,
        wrote("Captain default/a", Some("captain"), None),
    );
    tell(&mut state, 0, log(Level::Note, "hello"));
    tell(&mut state, 1, log(Level::Bad, "failed"));
    let lines = shown(&mut state, 80, 10).join("\n");
    let [hello, failed, write] = ["hello", "failed", "apply"].map(|text| lines.find(text));
    assert!(hello < failed && failed < write, "{lines}");
}

#[test]
fn the_status_is_the_last_line() {
    let mut state = state();
    let building =
        || Happening::new("building", Level::Note, "Building").facts(json!({ "what": "operator" }));
    let last = |state: &mut State| shown(state, 100, 4).pop().unwrap_or_default();
    tell(&mut state, 0, building());
    assert_eq!(
        last(&mut state),
        format!(
            "{:85}? help  q quit",
            " fleet | building the operator | 0 objects | 0 errors"
        )
    );
    tell(
        &mut state,
        1,
        Happening::new("running", Level::Good, "Running"),
    );
    tell(&mut state, 1, reconciled("captain", "default/a"));
    tell(&mut state, 1, reconciled("captain", "default/a"));
    let first = Happening::new("first-reconcile", Level::Good, "Took");
    tell(&mut state, 1, first.facts(json!({ "seconds": 1.25 })));
    tell(
        &mut state,
        2,
        Happening::new("log", Level::Bad, "Error").text("no"),
    );
    let line = last(&mut state);
    let expected = " fleet | running | 1.2 s to the first reconcile | 1 object | 1 error ";
    assert!(line.starts_with(expected), "{line}");
    tell(&mut state, 3, building());
    assert!(last(&mut state).contains("| 0 errors"));
}

#[test]
fn errors_stand_out() {
    let mut state = state();
    tell(
        &mut state,
        0,
        Happening::new("log", Level::Bad, "Error").text("broken"),
    );
    tell(
        &mut state,
        0,
        Happening::new("note", Level::Note, "Note").text("fine"),
    );
    let lines = state.lines(80, 4);
    assert!(lines[0].contains(&painted(BAD, "broken")), "{lines:?}");
    assert!(lines[1].ends_with("fine"), "{lines:?}");

    state.is_coloured = false;
    let lines = state.lines(80, 4).join("");
    assert!(!lines.contains('\x1b'), "{lines:?}");
}

#[test]
fn a_user_who_scrolls_back_is_not_disturbed() {
    let mut state = state();
    let note =
        |number: usize| Happening::new("note", Level::Note, "Note").text(&number.to_string());
    let numbers = |state: &mut State| -> Vec<String> {
        let mut lines = shown(state, 80, 4);
        lines.pop();
        let numbers = lines
            .iter()
            .map(|line| line.rsplit(' ').next().unwrap_or_default());
        numbers.map(str::to_owned).collect()
    };
    for number in 0..10 {
        tell(&mut state, 0, note(number));
    }
    assert_eq!(numbers(&mut state), ["7", "8", "9"]);
    assert_eq!(state.key("up"), Pressed::Own);
    tell(&mut state, 0, note(10));
    assert_eq!(numbers(&mut state), ["6", "7", "8"]);
    assert_eq!(state.key("page-up"), Pressed::Own);
    assert_eq!(numbers(&mut state), ["4", "5", "6"]);
    for _ in 0..9 {
        assert_eq!(state.key("page-up"), Pressed::Own);
        assert_eq!(numbers(&mut state).len(), 3);
    }
    assert_eq!(numbers(&mut state), ["0", "1", "2"]);
    assert_eq!(state.key("down"), Pressed::Own);
    assert_eq!(numbers(&mut state), ["1", "2", "3"]);
    assert_eq!(state.key("end"), Pressed::Own);
    assert_eq!(numbers(&mut state), ["8", "9", "10"]);
}

#[test]
fn help_is_left_with_any_key() {
    let mut state = state();
    assert_eq!(state.key("r"), Pressed::Other);
    assert_eq!(state.key("?"), Pressed::Own);
    let lines = shown(&mut state, 80, 24);
    assert_eq!(lines[0], "q         stop everything");
    assert_eq!(state.key("q"), Pressed::Own, "it only leaves the help");
    assert_eq!(state.key("q"), Pressed::Other);
}

#[test]
fn an_object_to_pause_is_chosen_from_those_seen() {
    let mut state = state();
    assert_eq!(state.key("p"), Pressed::Other, "there is none");
    for object in ["default/a", "default/b", "default/c", "default/a"] {
        tell(&mut state, 0, reconciled("captain", object));
    }
    assert_eq!(state.key("p"), Pressed::Own);
    for key in ["down", "down", "down", "up"] {
        assert_eq!(state.key(key), Pressed::Own);
    }
    let lines = shown(&mut state, 80, 10);
    assert_eq!(
        lines[1..4],
        ["default/a", "default/b", "default/c"].map(|it| format!("  {it} by captain"))
    );
    // The list scrolls.
    assert_eq!(shown(&mut state, 80, 3)[1], "  default/b by captain");
    let expected = Pressed::Pause {
        controller: "captain".to_owned(),
        object: "default/b".to_owned(),
    };
    assert_eq!(state.key("enter"), expected);
    assert_eq!(state.key("enter"), Pressed::Other, "the list is left");
    state.key("p");
    assert_eq!(state.key("escape"), Pressed::Own);
    assert!(state.chooser.is_none());
}

#[test]
fn any_size_will_do() {
    let mut state = state();
    tell(&mut state, 0, wrote("Pod default/a", None, None));
    state.take_messages(
        Duration::ZERO,
        "\x1b[31merror\x1b[0m: a long message of cargo",
    );
    for (columns, rows) in [(1, 1), (1, 5), (20, 1), (300, 2), (30, 100)] {
        let lines = state.lines(columns, rows);
        assert_eq!(lines.len(), rows);
    }
    tell(&mut state, 0, reconciled("captain", "default/a"));
    state.key("p");
    for (columns, rows) in [(1, 1), (1, 2), (20, 1), (300, 2)] {
        assert_eq!(state.lines(columns, rows).len(), rows);
    }
    state.key("escape");
    let lines = shown(&mut state, 10, 200);
    assert!(lines.contains(&"error: a".to_owned()), "{lines:?}");
}
