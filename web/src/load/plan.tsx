// What the rows of a file are: vertices or edges, their label, the column of ids or of ends, and what to do with what exists.

import { schema } from "../session";
import { Field, Select } from "../ui/parts";
import { guessEnds, guessKey, isEnd, saysItself } from "./file";

export class Rows {
  constructor(
    readonly kind: "vertices" | "edges" | "header",
    readonly label: string,
    readonly key: string,
    readonly from: string,
    readonly to: string,
    /** The labels of the ends. An empty one says any. */
    readonly fromLabel = "",
    readonly toLabel = "",
    readonly onExists = "error",
    readonly onDuplicate = "add",
    readonly createMissing = false,
  ) {}

  with(change: Partial<Rows>): Rows {
    return Object.assign(Object.create(Rows.prototype) as Rows, this, change);
  }

  /** The parameters of the request. */
  parameters(): Record<string, string> {
    const { kind, label, key, onExists, onDuplicate, createMissing } = this;
    if (kind === "vertices") return { vertices: label, ...(key === "" ? {} : { key }), onExists };
    const edges: Record<string, string> = { onDuplicate, createMissing: String(createMissing) };
    if (kind === "header") return { ...edges, onExists };
    const named = this.fromLabel || this.toLabel ? `${this.fromLabel}:${label}:${this.toLabel}` : label;
    return { ...edges, edges: named };
  }
}

/** What a file most likely holds. */
export function planFor(name: string, columns: string[]): Rows {
  const ends = guessEnds(columns);
  const kind = saysItself(columns) ? "header" : ends !== null ? "edges" : "vertices";
  const label = name.replace(/\..*$/, "");
  const [from = "", to = ""] = ends ?? [columns[0], columns[1]];
  return new Rows(kind, label, guessKey(columns) ?? "", from, to);
}

/** Why the rows cannot be loaded like this, or null. */
export function problemOf(rows: Rows): string | null {
  if (rows.kind === "header") return null;
  if (rows.label.trim() === "") return "The rows need a label.";
  return rows.kind === "edges" && rows.from !== "" && rows.from === rows.to ? "The two ends need two columns." : null;
}

/** The columns of ends that need another name, so that the server sees what they are. */
export function renamesOf(rows: Rows): Map<string, string> {
  const { kind, from, to } = rows;
  if (kind !== "edges" || from === "" || to === "" || (isEnd(from) && isEnd(to))) return new Map();
  return new Map([
    [from, "from"],
    [to, "to"],
  ]);
}

const EXISTS: [string, string][] = [
  ["error", "is an error"],
  ["skip", "stays as it is (skip)"],
  ["update", "gets the values of the row (update)"],
  ["replace", "is replaced by the row (replace)"],
];
const DUPLICATES: [string, string][] = [
  ["add", "stays, and a second one is added (add)"],
  ["skip", "stays as it is (skip)"],
  ["update", "gets the values of the row (update)"],
];

/** Below each field stands the name of its parameter: messages of the server use it. */
interface Parts {
  of: Rows;
  columns: string[];
  change: (rows: Rows) => void;
}

export function Plan(props: Parts) {
  const { of, columns, change } = props;
  const kinds: [Rows["kind"], string][] = [
    ["vertices", "Vertices"],
    ["edges", "Edges"],
    ["header", "As the header says"],
  ];
  return (
    <>
      <fieldset>
        <legend>The rows are</legend>
        <div class="fields">
          {kinds.map(([kind, name]) => (
            <label class="check" key={kind}>
              <input type="radio" name="kind" checked={of.kind === kind} onChange={() => change(of.with({ kind }))} />
              {name}
            </label>
          ))}
        </div>
      </fieldset>
      {of.kind === "header" && (
        <p class="hint">For files that Mangrove, Neo4j or Neptune exported: their columns name labels and ends.</p>
      )}
      {of.kind === "vertices" && <Vertices {...{ of, columns, change }} />}
      {of.kind === "edges" && <Edges {...{ of, columns, change }} />}
      <div class="fields">
        {of.kind !== "edges" && (
          <Field label="A vertex that exists" hint="Parameter onExists">
            <Select value={of.onExists} of={EXISTS} choose={(onExists) => change(of.with({ onExists }))} />
          </Field>
        )}
        {of.kind !== "vertices" && (
          <>
            <Field label="An edge that exists" hint="Parameter onDuplicate">
              <Select value={of.onDuplicate} of={DUPLICATES} choose={(onDuplicate) => change(of.with({ onDuplicate }))} />
            </Field>
            <label class="check">
              <input
                type="checkbox"
                checked={of.createMissing}
                onChange={(event) => change(of.with({ createMissing: event.currentTarget.checked }))}
              />
              Make ends that do not exist <small>Parameter createMissing</small>
            </label>
          </>
        )}
      </div>
    </>
  );
}

const named = (names: string[]): [string, string][] => names.map((name) => [name, name]);

function Vertices({ of, columns, change }: Parts) {
  return (
    <div class="fields">
      <Label of={of} known={Object.keys(schema.value?.vertexLabels ?? {})} change={change} />
      {columns.length > 0 && (
        <Field label="Column of ids" hint="Parameter key">
          <Select value={of.key} of={named(columns)} choose={(key) => change(of.with({ key }))} />
        </Field>
      )}
    </div>
  );
}

function Edges({ of, columns, change }: Parts) {
  const ends: [string, string][] = [["", "any label"], ...named(Object.keys(schema.value?.vertexLabels ?? {}))];
  return (
    <div class="fields">
      <Label of={of} known={Object.keys(schema.value?.edgeLabels ?? {})} change={change} />
      {columns.length > 0 && (
        <>
          <Field label="From: column">
            <Select value={of.from} of={named(columns)} choose={(from) => change(of.with({ from }))} />
          </Field>
          <Field label="To: column">
            <Select value={of.to} of={named(columns)} choose={(to) => change(of.with({ to }))} />
          </Field>
        </>
      )}
      <Field label="From: vertices with">
        <Select value={of.fromLabel} of={ends} choose={(fromLabel) => change(of.with({ fromLabel }))} />
      </Field>
      <Field label="To: vertices with">
        <Select value={of.toLabel} of={ends} choose={(toLabel) => change(of.with({ toLabel }))} />
      </Field>
    </div>
  );
}

/** A label that is there, or a new one. */
function Label({ of, known, change }: { of: Rows; known: string[]; change: (rows: Rows) => void }) {
  const hint = of.label === "" ? undefined : known.includes(of.label) ? "The label exists." : "The label is new.";
  return (
    <Field label="Label" hint={hint}>
      <input list="labels" value={of.label} onInput={(event) => change(of.with({ label: event.currentTarget.value }))} />
      <datalist id="labels">
        {known.map((label) => (
          <option key={label} value={label} />
        ))}
      </datalist>
    </Field>
  );
}
