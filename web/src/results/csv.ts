// Tables as CSV, with the columns and the texts that they have on the page. Null is an empty field.

import Papa from "papaparse";
import type { Json } from "../server/exact";
import { columnsOf } from "../elements/columns";
import { textOf } from "../elements/text";

export function csvOf(rows: Json[]): string {
  const columns = columnsOf(rows);
  return write(
    columns.map(({ name }) => name),
    rows.map((row) => columns.map(({ cell }) => cell(row))),
  );
}

export function write(names: string[], rows: (Json | undefined)[][]): string {
  const field = (value: Json | undefined) => (value === null ? "" : textOf(value));
  return Papa.unparse([names, ...rows.map((row) => row.map(field))], { newline: "\n" }) + "\n";
}
