//! Templates that differ in one line, as those of a later kbr: only for tests.

#[cfg(not(test))]
pub(super) fn text(_path: &str, text: String) -> String {
    text
}

#[cfg(test)]
pub(crate) use test::{altered, text};

#[cfg(test)]
mod test {
    use std::cell::Cell;

    thread_local! {
        static NUMBER: Cell<usize> = const { Cell::new(0) };
    }

    /// Sets the number of the kbr whose templates this thread renders; 0 for this one.
    pub(crate) fn altered(number: usize) {
        NUMBER.set(number);
    }

    /// The text of a template as that kbr renders it, with its number in the second line.
    pub(crate) fn text(path: &str, text: String) -> String {
        let number = NUMBER.get();
        let path = path.trim_end_matches(".hbs");
        let comment = match path.rsplit_once('.') {
            Some((_, "rs")) => format!("// altered {number}"),
            Some((_, "md")) => format!("<!-- altered {number} -->"),
            _ => format!("# altered {number}"),
        };
        match text.split_once('\n') {
            Some((first, rest)) if number > 0 => format!("{first}\n{comment}\n{rest}"),
            _ => text,
        }
    }
}
