// The vertices and the edges in view as CSV, with the columns that `mangrove load` reads.

import Papa from "papaparse";
import type { Json, JsonObject } from "../server/exact";
import { textOf } from "../elements/text";
import { edgeOf, graph, vertexOf } from "./model";

export function verticesCsv(): string {
  const vertices = graph.nodes().map(vertexOf);
  return table(["~id", "~label"], vertices, ({ id, label }) => [id, label]);
}

export function edgesCsv(): string {
  const edges = graph.edges().map(edgeOf);
  return table(["~id", "~from", "~to", "~label"], edges, ({ id, outV, inV, label }) => [id, outV, inV, label]);
}

function table<T extends { properties: JsonObject }>(fixed: string[], elements: T[], own: (element: T) => Json[]): string {
  const keys = [...new Set(elements.flatMap(({ properties }) => Object.keys(properties)))];
  const row = (element: T) => [...own(element), ...keys.map((key) => element.properties[key])].map(cell);
  return Papa.unparse([[...fixed, ...keys], ...elements.map(row)], { newline: "\n" }) + "\n";
}

function cell(value: Json | undefined): string {
  return value === null ? "" : textOf(value);
}
