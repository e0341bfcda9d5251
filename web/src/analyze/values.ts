// The values that an algorithm found.

import { Problem } from "../server/client";
import { valuesOf, type Value } from "../server/api";
import { Exact, type Json } from "../server/exact";

/** If there are more values than the server sends at once, these are the ones to see. */
const LARGEST = 50_000;

export class Values {
  /** The names of the columns: `id`, perhaps `other`, and `value`. */
  readonly columns: string[];
  /** Whether the values are numbers. Else they are lists of vertices, or the ids of vertices that are texts. */
  readonly isNumbers: boolean;
  /** Whether each vertex has one value. Algorithms of pairs and of walks give others. */
  readonly isOfVertices: boolean;

  private constructor(
    private readonly rows: Value[],
    /** Whether these are all values, and not only the largest. */
    readonly isAll: boolean,
  ) {
    const isPairs = rows.some((row) => "other" in row);
    this.columns = isPairs ? ["id", "other", "value"] : ["id", "value"];
    this.isNumbers = rows.every(({ value }) => value === undefined || !Number.isNaN(numberOf(value)));
    this.isOfVertices = !isPairs && !rows.some(({ value }) => Array.isArray(value));
  }

  static async of(job: number): Promise<Values> {
    try {
      return new Values(await valuesOf(job), true);
    } catch (error) {
      if (!(error instanceof Problem && error.status === 413)) throw error;
      return new Values(await valuesOf(job, LARGEST), false);
    }
  }

  get count(): number {
    return this.rows.length;
  }

  /** The first lines of the table: the greatest or the least values. Vertices without a value come last. */
  top(most: number, isLeastFirst: boolean): (Json | undefined)[][] {
    const sign = isLeastFirst ? 1 : -1;
    const compare = (a: number, b: number) => (Number.isNaN(a) ? 1 : Number.isNaN(b) ? -1 : sign * (a - b));
    const sorted = this.isNumbers ? this.rows.toSorted((a, b) => compare(numberOf(a.value), numberOf(b.value))) : this.rows;
    return sorted.slice(0, most).map((row) => this.columns.map((column) => row[column as keyof Value]));
  }

  /** The values of some vertices, by the text of their ids. Values that are no numbers are numbered. */
  of(ids: Set<string>): Map<string, number> {
    const numbers = new Map<string, number>();
    const numbered = (text: string) => numbers.get(text) ?? numbers.set(text, numbers.size).get(text)!;
    const found = new Map<string, number>();
    for (const { id, value } of this.rows) {
      if (value === undefined || !ids.has(String(id))) continue;
      found.set(String(id), this.isNumbers ? numberOf(value) : numbered(String(value)));
    }
    return found;
  }
}

/** A value as a number. NaN if it is none. */
function numberOf(value: Json | undefined): number {
  return typeof value === "number" || value instanceof Exact ? Number(value) : NaN;
}
