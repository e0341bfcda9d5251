// The columns of a table of results, and the cell of each.

import { isObject, type Json, type JsonObject } from "../server/exact";
import { isEdge, isElement, isVertex, type Edge, type Vertex } from "./types";

export interface Column {
  name: string;
  cell(row: Json): Json | undefined;
}

/** The union of the properties of elements, and of the keys of maps. Anything else is one column. */
export function columnsOf(rows: Json[]): Column[] {
  if (rows.every(isElement)) return elementColumns(rows as unknown as (Vertex | Edge)[]);
  if (rows.every(isMap))
    return keysOf(rows as JsonObject[]).map((name) => ({ name, cell: (row) => (row as JsonObject)[name] }));
  return [{ name: "value", cell: (row) => row }];
}

function elementColumns(rows: (Vertex | Edge)[]): Column[] {
  const fields = rows.some(isEdge) ? ["id", "label", "outV", "inV"] : ["id", "label"];
  const own = fields.map((name) => ({ name, cell: (row: Json) => (row as JsonObject)[name] }));
  const keys = keysOf(rows.map((row) => row.properties));
  const properties = keys.filter((key) => !rows.every((row) => repeatsId(row, key)));
  const further = properties.map((name) => ({
    name,
    cell: (row: Json) => ((row as JsonObject).properties as JsonObject)[name],
  }));
  return [...own, ...further];
}

/** Whether a property of an element says what its id says: the key of the label. */
export function repeatsId({ id, properties }: Vertex | Edge, key: string): boolean {
  return key === "id" && String(properties.id ?? id) === String(id);
}

function keysOf(maps: JsonObject[]): string[] {
  const keys = new Set<string>();
  for (const map of maps) for (const key of Object.keys(map)) keys.add(key);
  return [...keys];
}

function isMap(row: Json): boolean {
  return (
    isObject(row) && !isVertex(row) && !isEdge(row) && !("type" in row && ["path", "tree", "graph"].includes(String(row.type)))
  );
}
