// The vertices and the edges in view as CSV, with headers that tell `mangrove load` their labels, ends and types.

import type { Json, JsonObject } from "../server/exact";
import type { Label } from "../server/api";
import { write } from "../results/csv";
import { schema } from "../session";
import { edgeOf, graph, vertexOf } from "./model";

export function verticesCsv(): string {
  const vertices = graph.nodes().map(vertexOf);
  return table(["~id", "~label"], vertices, ({ id, label }) => [id, label], schema.value?.vertexLabels);
}

export function edgesCsv(): string {
  const edges = graph.edges().map(edgeOf);
  const own = ["~id", "~from", "~to", "~label"];
  return table(own, edges, ({ id, outV, inV, label }) => [id, outV, inV, label], schema.value?.edgeLabels);
}

type Own = { label: string; properties: JsonObject };

function table<T extends Own>(fixed: string[], elements: T[], own: (element: T) => Json[], labels: Labels = {}): string {
  const keys = [...new Set(elements.flatMap(({ properties }) => Object.keys(properties)))];
  const names = keys.map((key) => typed(key, labels));
  return write(
    [...fixed, ...names],
    elements.map((element) => [...own(element), ...keys.map((key) => element.properties[key])]),
  );
}

type Labels = { [label: string]: Label };

/** The types whose values a field can hold. */
const PLAIN = /^(int\d+|float|double|bigint|decimal|string|uuid|date|datetime|duration)$/;

/** A key with its type, if it has the same one in all labels. */
function typed(key: string, labels: Labels): string {
  const known = Object.values(labels).flatMap(({ properties }) => properties[key] ?? []);
  const types = new Set(known.flatMap(({ types, cardinality }) => (cardinality === "single" ? types : ["list"])));
  const [type] = types;
  if (types.size !== 1 || type === undefined) return key;
  return type === "bool" ? `${key}:boolean` : PLAIN.test(type) ? `${key}:${type}` : key;
}
