// A file to load: its form, its first rows, and its header with other names of columns.

import Papa from "papaparse";

export type Form = "csv" | "ndjson" | "parquet";

export const TYPES: { [form in Form]: string } = {
  csv: "text/csv",
  ndjson: "application/x-ndjson",
  parquet: "application/vnd.apache.parquet",
};

export interface Preview {
  form: Form;
  columns: string[];
  rows: string[][];
  delimiter: string;
  /** The bytes of the header, with its line break. 0 if the page cannot read it. */
  headerBytes: number;
}

const HEAD_BYTES = 1 << 16;
const ROWS = 8;

export async function previewOf(file: File): Promise<Preview> {
  const form = formOf(file.name);
  const nothing = { form, columns: [], rows: [], delimiter: ",", headerBytes: 0 };
  const bytes = new Uint8Array(await file.slice(0, HEAD_BYTES).arrayBuffer());
  if (form !== "csv" || !isText(bytes)) return nothing;
  const text = new TextDecoder().decode(bytes);
  const { data, meta } = Papa.parse<string[]>(text, { preview: ROWS + 1, skipEmptyLines: true });
  const [columns = [], ...rows] = data;
  return { form, columns, rows, delimiter: meta.delimiter, headerBytes: bytes.indexOf(10) + 1 };
}

function formOf(name: string): Form {
  const plain = name.toLowerCase().replace(/\.(gz|zst)$/, "");
  if (/\.(jsonl|ndjson)$/.test(plain)) return "ndjson";
  return /\.(parquet|pq)$/.test(plain) ? "parquet" : "csv";
}

/** Whether bytes are UTF-8. Compressed files and UTF-16 have zeros, or begin otherwise. */
function isText(bytes: Uint8Array): boolean {
  return !bytes.includes(0) && !(bytes[0] === 0x1f && bytes[1] === 0x8b) && bytes[0]! < 0xfe;
}

/** The file with other names of columns. */
export function renamed(file: File, preview: Preview, names: Map<string, string>): Blob {
  const header = Papa.unparse([preview.columns.map((name) => names.get(name) ?? name)], { delimiter: preview.delimiter });
  return new Blob([header, "\n", file.slice(preview.headerBytes)]);
}

const SOURCES = ["~from", "from", "source", "src", "source_id", "from_id", "src_id", "start", "start_id", "u", "fromnodeid"];
const TARGETS = ["~to", "to", "target", "dst", "target_id", "to_id", "dst_id", "end", "end_id", "v", "tonodeid"];

/** Whether the server itself sees that a column holds the ends of edges. */
export const isEnd = (column: string): boolean => [...SOURCES, ...TARGETS].includes(column.toLowerCase()) || isTyped(column);
const isTyped = (column: string): boolean => /:(START_ID|END_ID)/.test(column);

/** The columns that most likely hold the ends of edges. */
export function guessEnds(columns: string[]): [string, string] | null {
  const one = (names: string[], typed: string) =>
    columns.find((column) => names.includes(column.toLowerCase()) || column.includes(typed));
  const [from, to] = [one(SOURCES, ":START_ID"), one(TARGETS, ":END_ID")];
  return from !== undefined && to !== undefined ? [from, to] : null;
}

/** The column that most likely names vertices. */
export function guessKey(columns: string[]): string | null {
  const plain = columns.map((column) => column.toLowerCase());
  const at = ["~id", "id", "key", "code", "uuid"].map((name) => plain.indexOf(name)).find((at) => at >= 0);
  return columns[at ?? 0] ?? null;
}

/** Whether columns say by themselves what the rows are: Neptune's and Neo4j's headers do. */
export const saysItself = (columns: string[]): boolean =>
  (columns.includes("~id") && (columns.includes("~label") || columns.includes("~from"))) ||
  columns.some((column) => /:(ID|START_ID|LABEL|TYPE)\b/.test(column));
