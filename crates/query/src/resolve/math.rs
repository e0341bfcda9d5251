//! Reads the infix expressions of `math()` into postfix order (shunting-yard: Dijkstra, 1961).

use crate::error::{QueryError, Result};
use crate::plan::{MathExpression, MathFunction, MathOp, Name};

enum Symbol {
    Op(MathOp, u8),
    Function(MathFunction),
    Open,
}

/// Reads an expression of `+ - * / % ^`, parentheses, numbers, `pi`, `e`, functions of one argument, and variables.
pub fn parse(text: &str) -> Result<MathExpression> {
    let mut parser = Parser { text, at: 0, out: Vec::new(), stack: Vec::new(), variables: Vec::new() };
    parser.run()?;
    Ok(MathExpression { text: text.into(), ops: parser.out, variables: parser.variables })
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    out: Vec<MathOp>,
    stack: Vec<Symbol>,
    variables: Vec<Name>,
}

impl Parser<'_> {
    fn error(&self, what: &str) -> QueryError {
        QueryError::step(format!("math(\"{}\"): {what} at character {}", self.text, self.at + 1))
    }

    fn run(&mut self) -> Result<()> {
        let mut operand_next = true;
        while let Some(c) = self.text[self.at..].chars().next() {
            if c.is_whitespace() {
                self.at += c.len_utf8();
                continue;
            }
            operand_next = if operand_next { self.operand(c)? } else { self.operator(c)? };
        }
        if operand_next {
            return Err(self.error("expected a number, a variable or a function"));
        }
        while let Some(symbol) = self.stack.pop() {
            match symbol {
                Symbol::Open => return Err(self.error("a parenthesis is not closed")),
                symbol => self.emit(symbol),
            }
        }
        Ok(())
    }

    /// True if another operand has to follow.
    fn operand(&mut self, c: char) -> Result<bool> {
        let rest = &self.text[self.at..];
        if c == '(' {
            self.stack.push(Symbol::Open);
            self.at += 1;
            return Ok(true);
        }
        if c == '-' || c == '+' {
            if c == '-' {
                self.stack.push(Symbol::Op(MathOp::Neg, 3));
            }
            self.at += 1;
            return Ok(true);
        }
        if c.is_ascii_digit() || c == '.' {
            let end = number_end(rest);
            let number = rest[..end].parse().map_err(|_| self.error("bad number"))?;
            self.at += end;
            self.out.push(MathOp::Number(number));
            return Ok(false);
        }
        if c.is_alphabetic() || c == '_' {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            let name = &rest[..end];
            self.at += end;
            return Ok(self.name(name));
        }
        Err(self.error(&format!("unexpected `{c}`")))
    }

    fn name(&mut self, name: &str) -> bool {
        if let Some(function) = MathFunction::from_name(name) {
            self.stack.push(Symbol::Function(function));
            return true;
        }
        self.out.push(match name {
            "pi" => MathOp::Number(std::f64::consts::PI),
            "e" => MathOp::Number(std::f64::consts::E),
            name => {
                let at = self.variables.iter().position(|v| &**v == name).unwrap_or_else(|| {
                    self.variables.push(name.into());
                    self.variables.len() - 1
                });
                MathOp::Variable(at)
            }
        });
        false
    }

    fn operator(&mut self, c: char) -> Result<bool> {
        self.at += c.len_utf8();
        if c == ')' {
            loop {
                match self.stack.pop() {
                    Some(Symbol::Open) => break,
                    Some(symbol) => self.emit(symbol),
                    None => return Err(self.error("an extra closing parenthesis")),
                }
            }
            if let Some(Symbol::Function(_)) = self.stack.last()
                && let Some(symbol) = self.stack.pop()
            {
                self.emit(symbol);
            }
            return Ok(false);
        }
        let (op, precedence, right) = match c {
            '+' => (MathOp::Add, 1, false),
            '-' => (MathOp::Sub, 1, false),
            '*' => (MathOp::Mul, 2, false),
            '/' => (MathOp::Div, 2, false),
            '%' => (MathOp::Rem, 2, false),
            '^' => (MathOp::Pow, 4, true),
            _ => return Err(self.error(&format!("unexpected `{c}`"))),
        };
        loop {
            let binds = match self.stack.last() {
                Some(Symbol::Op(_, p)) => *p > precedence || (*p == precedence && !right),
                Some(Symbol::Function(_)) => true,
                _ => false,
            };
            if !binds {
                break;
            }
            if let Some(symbol) = self.stack.pop() {
                self.emit(symbol);
            }
        }
        self.stack.push(Symbol::Op(op, precedence));
        Ok(true)
    }

    fn emit(&mut self, symbol: Symbol) {
        match symbol {
            Symbol::Op(op, _) => self.out.push(op),
            Symbol::Function(function) => self.out.push(MathOp::Function(function)),
            Symbol::Open => {}
        }
    }
}

fn number_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut end = 0;
    while end < bytes.len() {
        let exponent_sign = (bytes[end] == b'-' || bytes[end] == b'+') && end > 0 && matches!(bytes[end - 1], b'e' | b'E');
        let exponent =
            matches!(bytes[end], b'e' | b'E') && bytes.get(end + 1).is_some_and(|b| b.is_ascii_digit() || *b == b'-');
        if !(bytes[end].is_ascii_digit() || bytes[end] == b'.' || exponent || exponent_sign) {
            break;
        }
        end += 1;
    }
    end
}
