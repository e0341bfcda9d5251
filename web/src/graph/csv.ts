// The vertices and the edges in view as CSV, with the columns that `mangrove load` reads.

import type { Json, JsonObject } from "../server/exact";
import { write } from "../results/csv";
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
  return write(
    [...fixed, ...keys],
    elements.map((element) => [...own(element), ...keys.map((key) => element.properties[key])]),
  );
}
