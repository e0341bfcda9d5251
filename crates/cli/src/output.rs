//! Writes results to stdout as a table, JSON lines, CSV or an Arrow stream.

use std::io::{self, BufWriter, IsTerminal, Write};

use arrow_array::{Array, RecordBatch};
use arrow_ipc::writer::StreamWriter;
use clap::ValueEnum;
use mangrove::graph::column::value_at;
use mangrove::graph::{Map, Value};

use super::Failure;
use mangrove::ResultStream;
use mangrove::describe::Described;
use mangrove::results::Results;
use mangrove::{json, show, table};

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Format {
    /// For reading
    Table,
    /// One JSON document a line
    Json,
    /// RFC 4180, with a header; nothing for null, JSON for what is not plain
    Csv,
    /// An Arrow IPC stream
    Arrow,
}

/// Arrow is nothing to look at.
pub fn must_not_be_a_terminal(format: Format) -> Result<(), Failure> {
    match format == Format::Arrow && io::stdout().is_terminal() {
        true => Err(Failure::Request("Arrow is binary: send it to a file, as in `--format arrow > result.arrow`".into())),
        false => Ok(()),
    }
}

/// Writes the remaining results to stdout and returns their number.
pub fn print(results: &mut ResultStream, format: Format) -> Result<u64, Failure> {
    must_not_be_a_terminal(format)?;
    let mut out = BufWriter::with_capacity(64 << 10, io::stdout().lock());
    let rows = match format {
        Format::Json => print_json(results, &mut out)?,
        Format::Table => print_table(&results.results()?, &mut out)?,
        Format::Csv => print_csv(&results.results()?, &mut out)?,
        Format::Arrow => print_arrow(results, &mut out)?,
    };
    out.flush()?;
    Ok(rows)
}

/// Writes results to stdout in any form except Arrow. Returns their number.
pub fn print_results(results: &Results, format: Format) -> Result<u64, Failure> {
    let mut out = BufWriter::with_capacity(64 << 10, io::stdout().lock());
    match format {
        Format::Csv => print_csv(results, &mut out)?,
        Format::Json => {
            let mut line = String::new();
            for row in results.iter() {
                line.clear();
                json::write_described(&mut line, &row);
                writeln!(out, "{line}")?;
            }
            results.len() as u64
        }
        Format::Table | Format::Arrow => print_table(results, &mut out)?,
    };
    out.flush()?;
    Ok(results.len() as u64)
}

/// Writes results to stdout in any form. Returns their number.
pub fn print_whole(results: &Results, format: Format) -> Result<u64, Failure> {
    if format != Format::Arrow {
        return print_results(results, format);
    }
    let batch = mangrove::arrow::record_batch(results).map_err(|error| Failure::Request(error.to_string()))?;
    let mut out = BufWriter::with_capacity(64 << 10, io::stdout().lock());
    write_arrow(&batch, &mut out)?;
    out.flush()?;
    Ok(results.len() as u64)
}

/// Writes the columns of a batch to stdout; as a table, its first rows.
pub fn print_values(values: &RecordBatch, format: Format, rows_shown: usize) -> Result<(), Failure> {
    let mut out = BufWriter::with_capacity(64 << 10, io::stdout().lock());
    let cell = |column: usize, row: usize| {
        let array = values.column(column);
        if array.is_null(row) { Value::Null } else { value_at(array, row) }
    };
    let names: Vec<String> = values.schema().fields().iter().map(|field| field.name().clone()).collect();
    let row = |row: usize| {
        let entries = names.iter().enumerate().map(|(column, name)| (name.as_str().into(), cell(column, row)));
        Described::Plain(Map::from_distinct(entries.collect()).into())
    };
    match format {
        Format::Arrow => write_arrow(values, &mut out)?,
        Format::Csv => {
            writeln!(out, "{}", names.join(","))?;
            for row in 0..values.num_rows() {
                let fields = (0..names.len()).map(|column| match cell(column, row) {
                    Value::Null => String::new(),
                    value => csv_field(&json::text(&Described::Plain(value))),
                });
                writeln!(out, "{}", fields.collect::<Vec<_>>().join(","))?;
            }
        }
        Format::Json => {
            for at in 0..values.num_rows() {
                writeln!(out, "{}", json::to_string(&row(at)))?;
            }
        }
        Format::Table => {
            let shown = Results::of_rows((0..values.num_rows().min(rows_shown)).map(row).collect());
            print_table(&shown, &mut out)?;
        }
    }
    Ok(out.flush()?)
}

fn print_json(results: &mut ResultStream, out: &mut impl Write) -> Result<u64, Failure> {
    let mut rows = 0;
    let mut line = String::new();
    while let Some(batch) = results.next_described()? {
        for value in &batch {
            line.clear();
            json::write_described(&mut line, value);
            line.push('\n');
            out.write_all(line.as_bytes())?;
        }
        rows += batch.len() as u64;
    }
    Ok(rows)
}

fn print_arrow(results: &mut ResultStream, out: &mut impl Write) -> Result<u64, Failure> {
    let batch = results.to_arrow()?;
    write_arrow(&batch, out)?;
    Ok(batch.num_rows() as u64)
}

fn write_arrow(batch: &RecordBatch, out: &mut impl Write) -> Result<(), Failure> {
    let failed = |error: arrow_schema::ArrowError| match error {
        arrow_schema::ArrowError::IoError(_, source) => Failure::from(source),
        other => Failure::Request(other.to_string()),
    };
    let mut writer = StreamWriter::try_new(out, &batch.schema()).map_err(failed)?;
    writer.write(batch).and_then(|()| writer.finish()).map_err(failed)
}

fn print_csv(results: &Results, out: &mut impl Write) -> Result<u64, Failure> {
    let table = table::of(results);
    let header: Vec<String> = table.columns.iter().map(|column| csv_field(&column.name)).collect();
    if !header.is_empty() {
        writeln!(out, "{}", header.join(","))?;
    }
    let mut columns: Vec<_> = table.columns.iter().map(table::Column::iter).collect();
    for _ in 0..table.rows {
        let fields = columns.iter_mut().map(|column| match column.next().flatten().as_deref() {
            None | Some(Described::Plain(Value::Null)) => String::new(),
            Some(cell) => csv_field(&json::text(cell)),
        });
        writeln!(out, "{}", fields.collect::<Vec<_>>().join(","))?;
    }
    Ok(table.rows as u64)
}

/// An empty string is quoted, because an unquoted one means null.
fn csv_field(text: &str) -> String {
    if text.is_empty() || text.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

fn print_table(results: &Results, out: &mut impl Write) -> Result<u64, Failure> {
    if let Some(drawn) = show::table(results) {
        writeln!(out, "{drawn}")?;
    }
    Ok(results.len() as u64)
}

/// Writes text to stdout, with a newline at its end.
pub fn print_text(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    out.flush()?;
    Ok(())
}
