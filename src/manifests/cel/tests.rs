//! Which expressions are parsed or refused, and what rules cost, compared with a kube-apiserver 1.36.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

#[test]
fn expressions_of_every_shape_are_parsed() {
    for text in [
        "self.replicas <= 3 && self.name != 'a' || !self.isOn",
        "self.all(x, x.matches('^a\\\\d+$')) ? 1 : -2u",
        r#"self.name.matches(r"\d") || self.b == b'\x41\u0041\101'"#,
        "has(self.a) == has(self.b[0].c['d-e'])",
        "self.?a.?b.orValue('') in ['a', \"b\",]",
        "{'a': 1, 'b': [1.5, .5e-3, 0x1F]}.size() > 0",
        "'''a\n'b''' + \"\"\"c\"\"\" // words\n == self",
        "oldSelf.optMap(o, o == self).orValue(true)",
        "self.__namespace__.namespace == duration('1h').getSeconds()",
        "1.size() == .self.x",
        "self.`a-b` == optional.of({?'a': optional.none()})",
    ] {
        parse(text).unwrap_or_else(|problem| panic!("{text}: {problem}"));
    }
}

#[test]
fn invalid_expressions_are_refused_with_their_position() {
    for (text, problem) in [
        ("", "a value is expected, not the end, at character "),
        (
            "self.a ==",
            "a value is expected, not the end, at character ",
        ),
        (
            "self.a = 1",
            "`=` is not CEL: equality is `==` at character 8",
        ),
        ("a & b", "`&` is not CEL: `and` is `&&` at character 3"),
        (
            "self.a and self.b",
            "an operator or the end is expected, not `and`, at character 8",
        ),
        ("(self.a", "`)` is expected, not the end, at character 8"),
        (
            "self.a)",
            "an operator or the end is expected, not `)`, at character 7",
        ),
        ("f(1,)", "a value is expected, not `)`, at character 5"),
        (
            "self.1",
            "an operator or the end is expected, not a number, at character 5",
        ),
        ("'abc", "unterminated string at character 1"),
        (r"'\d'", r"unknown escape `\d` in a string"),
        ("12ab", "`12ab` is not a number at character 1"),
        (
            "namespace == 'a'",
            "`namespace` is a reserved word of CEL at character 1",
        ),
        (
            "self.all(x, ",
            "a value is expected, not the end, at character ",
        ),
        ("é", "`é` is not CEL at character 1"),
    ] {
        let found = parse(text).expect_err(text).to_string();
        assert!(found.starts_with(problem), "{text}: {found}");
    }
    let deep = "(".repeat(300);
    let found = parse(&deep).expect_err("too deep").message;
    assert_eq!(found, "it is nested too deeply");
    let long = format!("1{}", " + 1".repeat(100_000));
    assert_eq!(
        parse(&long),
        Ok(Expr::Constant(Literal::Unknown)),
        "left to the API server"
    );
}

#[test]
fn a_name_is_free_unless_a_macro_binds_it() {
    let free = |text: &str| -> Vec<String> {
        let expression = parse(text).expect(text);
        free_names(&expression)
            .into_iter()
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(free("self.all(x, x == y) && x"), ["self", "y", "x"]);
    assert_eq!(free("a.map(i, v, i + v)"), ["a", "v"]);
    assert_eq!(free("a.transformList(i, v, i + v) + [b]"), ["a", "b"]);
    assert_eq!(free("cel.bind(x, y, x + z)"), ["y", "z"]);
    assert_eq!(free("{a: b}[c].d(e)"), ["a", "b", "c", "e"]);
}

fn schema() -> Value {
    let text = |most: u32| json!({ "type": "string", "maxLength": most });
    let item = json!({ "type": "object", "properties": {
        "name": text(100), "count": { "type": "integer" },
    }});
    json!({ "type": "object", "properties": {
        "any": { "type": "string" },
        "number": { "type": "integer" },
        "texts": { "type": "array", "items": { "type": "string" } },
        "long": text(900),
        "few": { "type": "array", "maxItems": 4000, "items": text(10) },
        "many": { "type": "array", "maxItems": 90000, "items": text(10) },
        "items": { "type": "array", "maxItems": 9000, "items": item },
        "map": { "type": "object", "maxProperties": 900_000, "additionalProperties": text(10) },
    }})
}

fn estimated(rule: &str) -> Result<Estimate, String> {
    let schema = schema();
    let expression = parse(rule).expect(rule);
    estimate(&expression, schema.as_object().expect("an object"), false)
}

/// The number is the factor by which the rule exceeds the limit, according to the API server.
#[test]
fn a_rule_costs_what_the_api_server_estimates() {
    for (rule, factor) in [
        ("self.few.all(x, self.few.all(y, true))", 4.8),
        ("self.few.all(x, self.few.exists(y, true))", 6.4),
        ("self.few.all(x, self.few.exists_one(y, true))", 3.2),
        ("self.few.all(x, self.few.map(y, true).size() == 1)", 19.2),
        (
            "self.few.all(x, self.few.map(y, true, y).size() == 1)",
            20.8,
        ),
        ("self.few.all(x, self.few.map(y, true).all(z, z))", 25.6),
        ("self.few.all(x, self.few.all(y, has(self.long)))", 6.4),
        ("self.few.all(x, self.few.all(y, self.few[3] == 'a'))", 11.2),
        ("self.few.all(x, self.few.all(y, y in self.map))", 11.2),
        (
            "self.few.all(x, self.few.all(y, self.?long.hasValue()))",
            9.6,
        ),
        (
            "self.few.all(x, self.few.all(y, x == 'a' ? true : false))",
            8.0,
        ),
        (
            "self.few.all(x, self.few.all(y, size(x) > 1 && type(x) == string))",
            14.4,
        ),
        (
            "self.few.all(x, self.few.all(y, y.startsWith('abcdefghijklmno')))",
            9.6,
        ),
        (
            "self.few.all(x, self.few.all(y, self.map['a'] == 'b'))",
            11.2,
        ),
        ("self.few.all(x, self.few.all(y, y in ['a', 'b']))", 25.6),
        (
            "self.items.all(x, self.items.exists(y, x.count == y.count))",
            64.8,
        ),
        ("self.many.all(x, self.long.contains(x))", 13.0),
        ("self.many.all(x, self.long.matches(x))", 32.5),
        ("self.many.all(x, self.long.find('a.*') == 'x')", 3.3),
        ("self.many.all(x, url(self.long).getHost() == 'a')", 3.3),
    ] {
        let cost = estimated(rule).expect(rule).cost;
        let limit = LIMIT / 10;
        #[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
        let found = (cost as f64 / limit as f64).round() / 10.0;
        assert!(
            (found - factor).abs() < 0.01,
            "{rule}: {found}, not {factor}"
        );
    }
}

/// The API server accepts each of these rules. kbr may refuse only what the API server refuses.
#[test]
fn rules_that_the_api_server_accepts_are_below_the_limit() {
    for rule in [
        "self.texts.all(x, x == 'a')",
        "self.texts.all(x, x.size() > 1)",
        "self.many.all(x, self.long.startsWith(x) && self.long.endsWith(x))",
        "self.many.all(x, x.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'))",
        "self.map.all(k, self.map[k] == 'abc' && k.size() > 2)",
        "self.any.matches('abcdefghi')",
        "self.any.lowerAscii() == 'x'",
        "self == oldSelf && self.texts == oldSelf.texts",
        "self.many.map(x, x + 'a').all(y, y.contains('abc'))",
        "self.many.all(i, x, x == 'a')",
        "string(self.number) == 'a'",
        "string(self.number) < 'a'",
        "string(self.number) in ['a']",
        "string(self.number).size() > 1",
        "isURL(string(self.number))",
        "'%d'.format([self.number])",
        "'a' + 'b' + (self.number > 3 ? 'c' : 'd')",
        "'a' + self.any",
        "'a' + 'b'.upperAscii()",
        "double(self.number) + 1.0 > 0.0",
    ] {
        let cost = estimated(rule).expect(rule).cost;
        assert!(cost <= LIMIT, "{rule}: {cost}");
    }
}

/// The API server knows no bound for the results, and refuses each of these rules.
#[test]
fn the_length_of_a_number_as_a_string_has_no_bound() {
    for rule in [
        "'a' + string(self.number)",
        "'a' + string(self.number) + 'b'",
        "string(self.number) + string(self.number)",
        "string(1) + 'a' == 'b'",
        "'%s'.format([self.number]) + 'a'",
        "('a' + string(self.number)).size() < 5",
        "string(self.number).contains('a')",
        "string(self.number).matches('^[0-9]+$')",
        "string(self.number).lowerAscii() == 'a'",
        "string(self.number).trim() == 'a'",
        "string(self.number).split('a').size() == 1",
        "string(self.number) == string(self.number)",
        "'%d'.format([self.number]) == '%d'.format([self.number])",
        "'%d'.format([self.number]).contains('a')",
        "'a'.contains(string(self.number))",
        "'a'.startsWith(string(self.number))",
        "['a'].map(x, x + string(self.number)).size() > 1",
    ] {
        let found = estimated(rule).expect(rule);
        assert!(found.cost > LIMIT, "{rule}: {}", found.cost);
    }
}

#[test]
fn unbounded_fields_are_reported() {
    let found = estimated("self.texts.all(x, x.contains('abc') && self.few.size() > 1)");
    let found = found.expect("its fields exist");
    assert!(found.cost > LIMIT);
    let unbounded = [(".texts[]", "maxLength"), (".texts", "maxItems")];
    let unbounded = unbounded.map(|(path, keyword)| (path.to_owned(), keyword));
    assert_eq!(found.unbounded, unbounded);
}

#[test]
fn a_missing_field_is_reported() {
    assert_eq!(estimated("self.nope == 1"), Err("nope".to_owned()));
    let inside = "self.items.filter(x, x.count > 1).exists(y, has(y.nope))";
    assert_eq!(estimated(inside), Err("nope".to_owned()));
    assert_eq!(
        estimated("oldSelf.items[0].nope == 1"),
        Err("nope".to_owned())
    );
    for fine in [
        "self.map.anything == 'a'",
        "self.items.map(x, x.name)[0].foo",
        "unknown.foo",
    ] {
        assert!(estimated(fine).is_ok(), "{fine}");
    }
}

#[test]
fn names_that_are_not_cel_identifiers_are_escaped() {
    let named =
        |name: &str| json!({ "type": "object", "properties": { name: { "type": "string" } } });
    for (name, escaped) in [
        ("a-b", "a__dash__b"),
        ("a.b/c", "a__dot__b__slash__c"),
        ("a__b", "a__underscores__b"),
        ("namespace", "__namespace__"),
    ] {
        let schema = named(name);
        let schema = schema.as_object().expect("an object");
        let rule = parse(&format!("self.{escaped} == ''")).expect(escaped);
        assert!(estimate(&rule, schema, false).is_ok(), "{name}");
        let rule = parse("self.other == ''").expect("a rule");
        assert!(estimate(&rule, schema, false).is_err(), "{name}");
    }
}

proptest! {
    #![proptest_config(crate::fuzz::random::properties())]

    #[test]
    fn no_text_causes_a_panic(
        text in ".{0,40}",
        code in "[a-z0-9 .,'\"\\\\(){}\\[\\]?:!&|=<>+*/%-]{0,40}",
    ) {
        for text in [text, code] {
            if let Ok(expression) = parse(&text) {
                let _ = free_names(&expression);
                let _ = estimate(&expression, schema().as_object().expect("an object"), false);
            }
        }
    }
}
