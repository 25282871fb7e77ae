//! The rules of a node: their syntax, the names they use, and their cost.

use serde_json::Value;

use super::super::{Object, Reason, Refusal};
use super::{Around, Check, cel};
use crate::error::join;
use crate::manifests::json::{field_of, is_true, list_of};

/// The costliest rule, and the total cost of all rules.
#[derive(Default)]
pub(super) struct Costliest {
    total: u64,
    cost: u64,
    path: String,
    rule: String,
}

impl Costliest {
    fn add(&mut self, cost: u64, path: &str, rule: &str) {
        self.total = self.total.saturating_add(cost);
        if cost >= self.cost {
            (self.cost, self.path, self.rule) = (cost, path.to_owned(), rule.to_owned());
        }
    }

    /// The refusal of all rules together, if each alone is acceptable.
    pub(super) fn refusal(self) -> Option<Refusal> {
        let is_too_costly = self.total >= cel::CRD_LIMIT && self.cost <= cel::LIMIT;
        let rule = self.rule;
        is_too_costly.then(|| Refusal::new(&self.path, Reason::CostlyRules { rule }))
    }
}

impl Check {
    pub(super) fn rules(&mut self, schema: &Object, path: &str, around: &Around) {
        let rules = list_of(schema, "x-kubernetes-validations").iter();
        for rule in rules.filter_map(Value::as_object) {
            if let Err(reason) = self.rule(rule, schema, path, around) {
                self.refusals.push(Refusal::new(path, reason));
            }
        }
    }

    fn rule(
        &mut self,
        rule: &Object,
        schema: &Object,
        path: &str,
        around: &Around,
    ) -> Result<(), Reason> {
        let text = |key: &str| rule.get(key).and_then(Value::as_str);
        let expression = text("rule").unwrap_or_default().trim();
        let is_old_optional = is_true(rule, "optionalOldSelf");
        let wrong = |problem: String| Reason::Rule {
            rule: expression.to_owned(),
            problem,
        };
        let message = text("message");
        if message.is_some_and(|message| message.trim().is_empty() || message.contains('\n')) {
            let problem = "has a message that is empty or more than one line";
            return Err(wrong(problem.to_owned()));
        }
        if let Some(field) = text("fieldPath").filter(|field| !leads_to_field(field, schema)) {
            let problem = format!("names the field `{field}`, which does not exist");
            return Err(wrong(problem));
        }
        if let Some(message) = text("messageExpression") {
            let read = read(message, schema, path, is_old_optional);
            let in_message = |problem| wrong(format!("has a message that {problem}"));
            let (_, estimate) = read.map_err(in_message)?;
            if estimate.cost > cel::LIMIT {
                let unbounded = named(&estimate.unbounded);
                let problem = format!("may cost more than the API server allows: {unbounded}");
                return Err(in_message(problem));
            }
        }
        let read = read(expression, schema, path, is_old_optional);
        let (uses_old, estimate) = read.map_err(wrong)?;
        if is_old_optional && !uses_old {
            return Err(wrong("has `optionalOldSelf`, but no `oldSelf`".to_owned()));
        }
        if uses_old && !around.is_correlated {
            let problem = "uses `oldSelf` inside a list whose elements have no keys";
            return Err(wrong(problem.to_owned()));
        }
        let times = around.times.unwrap_or_else(|| cel::most_elements(schema));
        let cost = estimate.cost.saturating_mul(times);
        self.costs.add(cost, path, expression);
        if cost <= cel::LIMIT {
            return Ok(());
        }
        let mut unbounded = around.unbounded.clone();
        unbounded.extend(estimate.unbounded);
        Err(Reason::CostlyRule {
            rule: expression.to_owned(),
            unbounded: named(&unbounded),
        })
    }
}

/// The fields without a bound, in words.
fn named(unbounded: &[(String, &'static str)]) -> String {
    if unbounded.is_empty() {
        return "its bounds are too wide, or it concatenates or reads the result of `string(…)` or `format`, \
                which has no bound; `'at most %d'.format([self.max])` needs no concatenation"
            .to_owned();
    }
    join(unbounded, ", ", |(path, keyword)| {
        format!("`{}` has no `{keyword}`", path.trim_start_matches('.'))
    })
}

/// Whether an expression of the node at `path` uses the old value, and its cost, with paths from the root. The
/// error continues a sentence about the expression.
fn read(
    text: &str,
    schema: &Object,
    path: &str,
    is_old_optional: bool,
) -> Result<(bool, cel::Estimate), String> {
    if text.trim().is_empty() {
        return Err("is empty".to_owned());
    }
    let expression = cel::parse(text).map_err(|problem| format!("is not CEL: {problem}"))?;
    let names = cel::free_names(&expression);
    let mut own = names.iter();
    if let Some(name) = own.find(|name| !matches!(**name, "self" | "oldSelf")) {
        return Err(format!("uses `{name}`, which is not declared"));
    }
    let mut estimate = cel::estimate(&expression, schema, is_old_optional)
        .map_err(|field| format!("uses the field `{field}`, which does not exist"))?;
    for (below, _) in &mut estimate.unbounded {
        below.insert_str(0, path);
    }
    Ok((names.contains(&"oldSelf"), estimate))
}

/// Whether a path such as `.spec.host` names a field. Paths with brackets are left to the API server.
fn leads_to_field(path: &str, schema: &Object) -> bool {
    if path.contains('[') {
        return true;
    }
    let fields = path.strip_prefix('.');
    fields.is_some_and(|fields| fields.split('.').try_fold(schema, field_of).is_some())
}
