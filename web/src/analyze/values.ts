// The values that an algorithm found, as the server's Arrow stream holds them.

import { tableFromIPC } from "@uwdata/flechette";
import { Exact, type Json } from "../server/exact";

/** A line of the table of greatest values: the cells of all columns. */
export type Line = Json[];

export class Values {
  /** Whether the values are numbers. Else they are the ids of vertices, such as one for each component. */
  readonly isNumbers: boolean;
  /** Whether each vertex has one value. Algorithms of pairs and of walks give others. */
  readonly isOfVertices: boolean;

  private constructor(
    readonly columns: string[],
    private readonly cells: unknown[][],
  ) {
    const values = this.column("value").filter((value) => value !== null);
    this.isNumbers = values.every((value) => typeof value === "number" || typeof value === "bigint");
    this.isOfVertices = columns.length === 2 && !values.some((value) => typeof value === "object");
  }

  static read(bytes: Uint8Array): Values {
    const table = tableFromIPC(bytes, { useBigInt: true });
    const columns = table.names.map(String);
    return new Values(
      columns,
      columns.map((name) => Array.from(table.getChild(name) as Iterable<unknown>)),
    );
  }

  get count(): number {
    return this.cells[0]?.length ?? 0;
  }

  private column(name: string): unknown[] {
    return this.cells[this.columns.indexOf(name)] ?? [];
  }

  /** The places of all lines, the greatest values first. Lines without a value come last. */
  private order(isLeastFirst: boolean): number[] {
    const numbers = this.column("value").map((value) => (value === null ? NaN : Number(value)));
    const places = numbers.map((_, at) => at);
    if (!this.isNumbers) return places;
    const sign = isLeastFirst ? 1 : -1;
    const isLess = (a: number, b: number) => (Number.isNaN(a) ? 1 : Number.isNaN(b) ? -1 : sign * (a - b));
    return places.sort((a, b) => isLess(numbers[a]!, numbers[b]!));
  }

  top(most: number, isLeastFirst: boolean): Line[] {
    return this.order(isLeastFirst)
      .slice(0, most)
      .map((at) => this.cells.map((column) => plain(column[at])));
  }

  /** The values of some vertices, by the text of their ids. Values that are no numbers are numbered. */
  of(ids: Set<string>): Map<string, number> {
    const [own, values] = [this.column("id"), this.column("value")];
    const numbers = new Map<unknown, number>();
    const numbered = (value: unknown) => numbers.get(value) ?? numbers.set(value, numbers.size).get(value)!;
    const found = new Map<string, number>();
    own.forEach((id, at) => {
      const [text, value] = [String(id), values[at]];
      if (value !== null && ids.has(text)) found.set(text, this.isNumbers ? Number(value) : numbered(value));
    });
    return found;
  }
}

/** A cell as a query gives it. */
function plain(cell: unknown): Json {
  if (typeof cell === "bigint") return Number.isSafeInteger(Number(cell)) ? Number(cell) : new Exact(String(cell));
  if (typeof cell === "object" && cell !== null) return Array.from(cell as Iterable<unknown>, plain);
  return cell as Json;
}
