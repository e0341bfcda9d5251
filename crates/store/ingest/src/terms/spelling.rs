//! Messages name the options of a load as the command `mangrove load` does. Here are the names that other callers know.

/// How a caller writes the options of a load.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spelling {
    /// Arguments of `load()`.
    Python,
    /// The parameters of `ingest` in the address of a request.
    Http,
}

/// Parts of messages, as the command writes them, and in Python.
const IN_PYTHON: [(&str, &str); 12] = [
    ("--on-exists update (skip, replace)", "on_exists=\"update\" (\"skip\", \"replace\")"),
    ("--format edgelist", "format=\"edgelist\""),
    ("--on-error skip", "on_error=\"skip\""),
    ("--on-duplicate", "on_duplicate="),
    ("--encoding latin1", "encoding=\"latin1\""),
    ("--delimiter ' '", "delimiter=\" \""),
    ("--edges SOURCE:LABEL:TARGET=FILE", "edges={(\"SOURCE\", \"LABEL\", \"TARGET\"): …}"),
    ("--id-space label", "id_space=\"label\""),
    ("--null ", "null="),
    ("--create-missing", "missing=\"create\""),
    ("--compact yes", "compact=True"),
    ("--nodes, --edges or --mapping", "nodes=, edges= or mapping="),
];

/// Parts of messages, as the command writes them, and over HTTP. What a request cannot say is left out, or said in another way.
const OVER_HTTP: [(&str, &str); 12] = [
    ("--on-exists update (skip, replace)", "onExists=update (skip, replace)"),
    ("give --format edgelist", "begin with the line source,target"),
    (", or load the others with --on-error skip", ""),
    ("(--on-duplicate)", "(onDuplicate)"),
    ("name the encoding, as in --encoding latin1, or save the file as UTF-8", "send the rows as UTF-8"),
    ("give --delimiter ' '", "write commas"),
    ("--edges SOURCE:LABEL:TARGET=FILE", "edges=SOURCE:LABEL:TARGET"),
    ("--id-space label", "`mangrove load --id-space label`"),
    ("list it as a null: --null ", "leave it empty, not "),
    ("--create-missing", "createMissing=true"),
    ("load into an empty database with --compact yes, or in several loads", "send less at a time"),
    (", or give them as `columns` in a mapping file (`mangrove docs load`)", ""),
];

impl Spelling {
    /// A message, with the names of options that this caller knows.
    pub fn of(self, message: &str) -> String {
        let parts = match self {
            Self::Python => &IN_PYTHON,
            Self::Http => &OVER_HTTP,
        };
        let message = parts.iter().fold(message.to_owned(), |text, (from, to)| text.replace(from, to));
        let message = self.named(message, "--nodes ", |label| self.vertices(label));
        let message = self.named(message, "--edges ", |labels| self.edges(labels));
        self.key(message)
    }

    /// The same with each option of a file written anew: `option LABEL=FILE`.
    fn named(self, mut message: String, option: &str, write: impl Fn(&str) -> String) -> String {
        while let Some(at) = message.find(option)
            && let Some((label, _)) = message[at + option.len()..].split_once("=FILE")
        {
            let (end, written) = (at + option.len() + label.len() + "=FILE".len(), write(label));
            message.replace_range(at..end, &written);
        }
        message
    }

    fn vertices(self, label: &str) -> String {
        match self {
            Self::Python => format!("nodes={{\"{label}\": …}}"),
            Self::Http => format!("vertices={label}"),
        }
    }

    fn edges(self, labels: &str) -> String {
        match self {
            Self::Python => {
                let labels: Vec<String> = labels.split(':').map(|label| format!("\"{label}\"")).collect();
                format!("edges={{({}): …}}", labels.join(", "))
            }
            Self::Http => format!("edges={labels}"),
        }
    }

    /// The same with the option `--key LABEL:COLUMN`, which ends a message, written anew.
    fn key(self, mut message: String) -> String {
        const OPTION: &str = "--key ";
        if let Some(at) = message.find(OPTION)
            && let Some((label, column)) = message[at + OPTION.len()..].split_once(':')
        {
            let written = match self {
                Self::Python => format!("key={{\"{label}\": \"{column}\"}} in load(), key=\"{column}\" in add_vertices()"),
                Self::Http => format!("key={column}"),
            };
            message.replace_range(at.., &written);
        }
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_have_the_names_that_a_caller_knows() {
        let exists = "choose what happens to it with --on-exists update (skip, replace)";
        assert_eq!(Spelling::Http.of(exists), "choose what happens to it with onExists=update (skip, replace)");
        let row = "Correct the row, or load the others with --on-error skip.";
        assert_eq!(Spelling::Python.of(row), "Correct the row, or load the others with on_error=\"skip\".");
        assert_eq!(Spelling::Http.of(row), "Correct the row.");
        let label = "say so: --nodes city=FILE (for edges: --edges a:b:c=FILE)";
        assert_eq!(Spelling::Python.of(label), "say so: nodes={\"city\": …} (for edges: edges={(\"a\", \"b\", \"c\"): …})");
        assert_eq!(Spelling::Http.of(label), "say so: vertices=city (for edges: edges=a:b:c)");
        let key = "Say which it is: --key Person:code";
        assert_eq!(Spelling::Http.of(key), "Say which it is: key=code");
        let null = "To read the value as missing, list it as a null: --null 'n/a'";
        assert_eq!(Spelling::Http.of(null), "To read the value as missing, leave it empty, not 'n/a'");
        assert_eq!(Spelling::Python.of(null), "To read the value as missing, list it as a null: null='n/a'");
    }
}
