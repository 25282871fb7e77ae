//! Parses a CEL expression. Pure.
//!
//! The grammar is that of <https://github.com/google/cel-spec/blob/master/doc/langdef.md#syntax>,
//! with the optional fields and indices that Kubernetes adds.

use super::lexer::{CelToken, tokens};
use super::{CelError, Expr, Literal};
use crate::names::is_among;

/// Maximum nesting depth of an expression. cel-go has the same limit.
const DEEPEST: usize = 250;

/// Maximum number of tokens in an expression that is parsed: a chain of operators nests as well.
const MOST: usize = 5000;

/// Reserved words: they have no meaning, but cannot be used as names.
const RESERVED: &str = "\
    as break const continue else for function if import let loop package namespace return var void while";

/// The binary operators, in order of increasing precedence.
const OPERATORS: [&str; 5] = ["||", "&&", "< <= >= > == != in", "+ -", "* / %"];

/// Parses an expression, or returns what is wrong with it.
pub(crate) fn parse(text: &str) -> Result<Expr, CelError> {
    let tokens = tokens(text)?;
    if tokens.len() > MOST {
        return Ok(Expr::Constant(Literal::Unknown));
    }
    let mut parser = Parser {
        tokens,
        next: 0,
        depth: 0,
    };
    let expression = parser.expression()?;
    match parser.peek() {
        CelToken::End => Ok(expression),
        _ => Err(parser.unexpected("an operator or the end")),
    }
}

struct Parser<'a> {
    tokens: Vec<(CelToken<'a>, usize)>,
    next: usize,
    depth: usize,
}

type Parsed<T = Expr> = Result<T, CelError>;

impl<'a> Parser<'a> {
    fn peek(&self) -> CelToken<'a> {
        self.tokens[self.next].0
    }

    /// The position of the next token.
    fn at(&self) -> usize {
        self.tokens[self.next].1
    }

    fn unexpected(&self, wanted: &str) -> CelError {
        let found = match self.peek() {
            CelToken::End => "the end".to_owned(),
            CelToken::Word(text) | CelToken::Symbol(text) => format!("`{text}`"),
            CelToken::Number(_) => "a number".to_owned(),
            CelToken::Text(_) => "a string".to_owned(),
        };
        CelError::new(self.at(), format!("{wanted} is expected, not {found},"))
    }

    /// Whether the next token is that symbol or word; if so, it is consumed.
    fn takes(&mut self, wanted: &str) -> bool {
        let is_it =
            matches!(self.peek(), CelToken::Word(text) | CelToken::Symbol(text) if text == wanted);
        self.next += usize::from(is_it);
        is_it
    }

    fn expect(&mut self, symbol: &'static str) -> Parsed<()> {
        if self.takes(symbol) {
            Ok(())
        } else {
            Err(self.unexpected(&format!("`{symbol}`")))
        }
    }

    fn expression(&mut self) -> Parsed {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(CelError::new(self.at(), "it is nested too deeply"));
        }
        let mut expression = self.operation(0)?;
        let at = self.at();
        if self.takes("?") {
            let then = self.operation(0)?;
            self.expect(":")?;
            let otherwise = self.expression()?;
            expression = Expr::call("?:", vec![expression, then, otherwise], at);
        }
        self.depth -= 1;
        Ok(expression)
    }

    /// Operators of that precedence or higher.
    fn operation(&mut self, level: usize) -> Parsed {
        let mut left = self.unary()?;
        loop {
            let place = self.at();
            let binding = OPERATORS.iter().enumerate().skip(level);
            let mut binding =
                binding.flat_map(|(at, all)| all.split(' ').map(move |one| (at, one)));
            let Some((at, operator)) = binding.find(|(_, operator)| self.takes(operator)) else {
                return Ok(left);
            };
            let right = self.operation(at + 1)?;
            left = Expr::call(operator, vec![left, right], place);
        }
    }

    fn unary(&mut self) -> Parsed {
        let at = self.at();
        for operator in ["!", "-"] {
            if self.takes(operator) {
                while self.takes(operator) {}
                return Ok(Expr::call(operator, vec![self.member()?], at));
            }
        }
        self.member()
    }

    fn member(&mut self) -> Parsed {
        let mut of = self.primary()?;
        loop {
            let bracket = self.at();
            if self.takes(".") {
                let is_optional = self.takes("?");
                let at = self.at();
                let name = self.name("the name of a field or a function")?;
                of = if !is_optional && self.takes("(") {
                    let mut arguments = vec![of];
                    arguments.extend(self.list(")")?);
                    Expr::call(&format!(".{name}"), arguments, at)
                } else {
                    let of = Box::new(of);
                    Expr::Field { of, name, at }
                };
            } else if self.takes("[") {
                self.takes("?");
                let index = self.expression()?;
                self.expect("]")?;
                of = Expr::call("[]", vec![of, index], bracket);
            } else if let Some((name, at)) = qualified(&of).filter(|_| self.takes("{")) {
                let fields = self.fields()?;
                of = Expr::Message { name, fields, at };
            } else {
                return Ok(of);
            }
        }
    }

    fn name(&mut self, wanted: &str) -> Parsed<String> {
        match self.peek() {
            CelToken::Word(word) if !matches!(word, "in" | "true" | "false" | "null") => {
                self.next += 1;
                Ok(word.to_owned())
            }
            _ => Err(self.unexpected(wanted)),
        }
    }

    fn primary(&mut self) -> Parsed {
        let at = self.at();
        let literal = match self.peek() {
            CelToken::Number(kind) => Expr::Constant(kind),
            CelToken::Word("true" | "false") => Expr::Constant(Literal::Bool),
            CelToken::Word("null") => Expr::Constant(Literal::Null),
            CelToken::Text(length) => Expr::Text(length),
            CelToken::Word(word) if is_among(RESERVED, word) => {
                let message = format!("`{word}` is a reserved word of CEL");
                return Err(CelError::new(self.at(), message));
            }
            _ if self.takes("(") => {
                let inner = self.expression()?;
                self.expect(")")?;
                return Ok(inner);
            }
            _ if self.takes("[") => return Ok(Expr::List(self.list("]")?)),
            _ if self.takes("{") => return Ok(Expr::call("{}", self.list("}")?, at)),
            _ => {
                self.takes(".");
                let at = self.at();
                let name = self.name("a value")?;
                return Ok(if self.takes("(") {
                    Expr::call(&name, self.list(")")?, at)
                } else {
                    Expr::Name(name, at)
                });
            }
        };
        self.next += 1;
        Ok(literal)
    }

    /// The fields of a new object, up to its `}`.
    fn fields(&mut self) -> Parsed<Vec<(String, usize, Expr)>> {
        let mut fields = Vec::new();
        while !self.takes("}") {
            self.takes("?");
            let at = self.at();
            let name = self.name("the name of a field")?;
            self.expect(":")?;
            fields.push((name, at, self.expression()?));
            if !self.takes(",") {
                self.expect("}")?;
                break;
            }
        }
        Ok(fields)
    }

    /// Comma-separated expressions up to `end`; before a `}`, each of them is a key and a value.
    fn list(&mut self, end: &'static str) -> Parsed<Vec<Expr>> {
        let mut items = Vec::new();
        while !self.takes(end) {
            if end != ")" {
                self.takes("?");
            }
            items.push(self.expression()?);
            if end == "}" {
                self.expect(":")?;
                items.push(self.expression()?);
            }
            if !self.takes(",") {
                self.expect(end)?;
                break;
            }
            // Only a list or a map may have a trailing comma.
            if end == ")" && matches!(self.peek(), CelToken::Symbol(")")) {
                return Err(self.unexpected("a value"));
            }
        }
        Ok(items)
    }
}

/// The name of the type of a new object, such as `Object.spec`, and its position.
fn qualified(of: &Expr) -> Option<(String, usize)> {
    match of {
        Expr::Name(name, at) => Some((name.clone(), *at)),
        Expr::Field { of, name, .. } => {
            let (start, at) = qualified(of)?;
            Some((format!("{start}.{name}"), at))
        }
        _ => None,
    }
}
