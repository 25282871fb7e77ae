//! The expressions of a policy: what each can use, and what it must be. Pure.

use serde_json::Value;

use super::scope::{self, Scope};
use super::{Check, KnownKind};
use crate::manifests::cel::{self, CelError, Environment, Type};
use crate::manifests::json::{list_of, text_of};

impl Check<'_> {
    /// Checks all expressions for objects of one kind, or of a kind that is not known.
    pub(super) fn expressions(
        &mut self,
        spec: &Value,
        is_mutating: bool,
        scope: &Scope<'_>,
        kind: Option<&KnownKind>,
    ) {
        let variables = list_of(spec, "variables").iter();
        let parsed: Vec<_> = variables
            .map(|it| (text_of(it, "name"), cel::parse(text_of(it, "expression"))))
            .collect();
        let mut environment = Environment {
            names: scope.names(kind),
            ..Environment::default()
        };
        self.variables(&parsed, &mut environment, kind);
        let conditions = without("variables", &environment);
        let list = ("matchConditions", "expression");
        self.list(spec, list, Wanted::Bool, &conditions, kind);
        if is_mutating {
            let schema = kind.and_then(|kind| kind.schema.as_object());
            environment.creates = schema.or(scope::any_object());
            self.mutations(spec, &environment, kind);
            return;
        }
        let list = ("validations", "expression");
        self.list(spec, list, Wanted::Bool, &environment, kind);
        let list = ("auditAnnotations", "valueExpression");
        self.list(spec, list, Wanted::TextOrNull, &environment, kind);
        let messages = without("authorizer", &environment);
        let list = ("validations", "messageExpression");
        self.list(spec, list, Wanted::Text, &messages, kind);
    }

    /// Adds the variables of the policy, each of which can use those before it.
    fn variables<'a>(
        &mut self,
        parsed: &'a [(&'a str, Result<cel::Expr, CelError>)],
        environment: &mut Environment<'a>,
        kind: Option<&KnownKind>,
    ) {
        for (index, (name, expression)) in parsed.iter().enumerate() {
            let pointer = format!("/spec/variables/{index}/expression");
            let known = match expression {
                Ok(expression) => cel::check(expression, environment),
                Err(error) => Err(error.clone()),
            };
            let known = known.unwrap_or_else(|error| {
                self.cel(&pointer, &error, kind);
                Type::Any
            });
            environment.variables.push((name, known));
            if index == 0 {
                environment.names.push(("variables", Type::Variables));
            }
        }
    }

    /// The expressions in a list of the spec.
    fn list(
        &mut self,
        spec: &Value,
        (list, key): (&str, &str),
        wanted: Wanted,
        environment: &Environment<'_>,
        kind: Option<&KnownKind>,
    ) {
        for (index, item) in list_of(spec, list).iter().enumerate() {
            if let Some(text) = item[key].as_str() {
                let pointer = format!("/spec/{list}/{index}/{key}");
                self.expression(text, &pointer, wanted, environment, kind);
            }
        }
    }

    fn mutations(&mut self, spec: &Value, environment: &Environment<'_>, kind: Option<&KnownKind>) {
        for (index, mutation) in list_of(spec, "mutations").iter().enumerate() {
            let (key, wanted) = match text_of(mutation, "patchType") {
                "ApplyConfiguration" => ("applyConfiguration", Wanted::Object),
                "JSONPatch" => ("jsonPatch", Wanted::Patch),
                other => {
                    let place = self.places.key(self.file.text, self.number, "patchType");
                    let message = format!("`patchType` cannot be `{other}`");
                    self.error(place, message, "write `ApplyConfiguration` or `JSONPatch`");
                    continue;
                }
            };
            match mutation[key]["expression"].as_str() {
                Some(text) => {
                    let pointer = format!("/spec/mutations/{index}/{key}/expression");
                    self.expression(text, &pointer, wanted, environment, kind);
                }
                None => {
                    let place = self.places.key(self.file.text, self.number, "patchType");
                    let message = format!("this mutation has no `{key}.expression`");
                    self.error(
                        place,
                        message,
                        format!("write the expression after `{key}:` and `expression:`"),
                    );
                }
            }
        }
    }

    fn expression(
        &mut self,
        text: &str,
        pointer: &str,
        wanted: Wanted,
        environment: &Environment<'_>,
        kind: Option<&KnownKind>,
    ) {
        let checked = cel::parse(text).and_then(|parsed| {
            let found = cel::check(&parsed, environment)?;
            wanted.check(&parsed, &found)
        });
        if let Err(error) = checked {
            self.cel(pointer, &error, kind);
        }
    }

    /// Reports what is wrong with the expression at that pointer.
    fn cel(&mut self, pointer: &str, error: &CelError, kind: Option<&KnownKind>) {
        let place = self
            .places
            .expression(self.file.text, self.number, pointer, error.at);
        let kind = kind.map_or_else(String::new, |kind| {
            format!(", and the fields of `{}`", kind.kind)
        });
        let help = format!("see https://kubernetes.io/docs/reference/using-api/cel{kind}");
        self.error(place, error.message.trim_end_matches(',').to_owned(), help);
    }
}

/// The same without a name.
fn without<'a>(name: &str, environment: &Environment<'a>) -> Environment<'a> {
    let mut without = environment.clone();
    without.names.retain(|(it, _)| *it != name);
    without
}

/// What the API server requires of the value of an expression.
#[derive(Clone, Copy)]
enum Wanted {
    Bool,
    Text,
    TextOrNull,
    Object,
    Patch,
}

impl Wanted {
    fn check(self, expression: &cel::Expr, found: &Type<'_>) -> Result<(), CelError> {
        let (fits, wanted) = match self {
            Self::Bool => (*found == Type::Bool, "true or false"),
            Self::Text => (*found == Type::Text, "a string"),
            Self::TextOrNull => (matches!(found, Type::Text | Type::Null), "a string or null"),
            Self::Object => (matches!(found, Type::Created("Object")), "an `Object{…}`"),
            Self::Patch => (matches!(found, Type::List(_)), "a list of `JSONPatch{…}`"),
        };
        let message = match found {
            _ if fits && !cel::is_field_of_object(expression) => return Ok(()),
            // The API server does not know the types of fields of `object`, nor kbr those of other values.
            _ if cel::is_field_of_object(expression) => match self {
                Self::Bool => "the API server does not know that this is true or false: write `== true` after it",
                Self::Text | Self::TextOrNull => {
                    "the API server does not know that this is a string: write `string(…)` around it"
                }
                Self::Object | Self::Patch => return Ok(()),
            }
            .to_owned(),
            Type::Any => return Ok(()),
            found => format!("the expression is {found}, but must be {wanted}"),
        };
        Err(CelError { at: 1, message })
    }
}
