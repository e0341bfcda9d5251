// The vertices and edges anywhere in the results of a query: in lists, maps, paths, trees and subgraphs.

import { isObject, type Json } from "../server/exact";
import { isEdge, isVertex, keyOf, type Edge, type Vertex } from "./types";

interface Found {
  vertices: Map<string, Vertex>;
  edges: Map<string, Edge>;
}

export function find(results: Json[]): Found {
  const found: Found = { vertices: new Map(), edges: new Map() };
  results.forEach((result) => visit(result, found));
  return found;
}

function visit(value: Json, found: Found): void {
  if (Array.isArray(value)) {
    value.forEach((item) => visit(item, found));
  } else if (isVertex(value)) {
    if (value.id !== null) found.vertices.set(keyOf(value.id), value);
  } else if (isEdge(value)) {
    if (value.id !== null) found.edges.set(keyOf(value.id), value);
  } else if (isObject(value)) {
    Object.values(value).forEach((part) => visit(part, found));
  }
}

/** Whether results are best shown as a graph: most of them are elements, paths, trees or subgraphs. */
export function isGraph(results: Json[]): boolean {
  const some = results.slice(0, 20);
  const graphs = some.filter(
    (result) =>
      isVertex(result) ||
      isEdge(result) ||
      (isObject(result) && ["path", "tree", "graph"].includes(String(result.type)) && holdsVertex(result)),
  );
  return some.length > 0 && graphs.length * 2 > some.length;
}

function holdsVertex(value: Json): boolean {
  const { vertices, edges } = find([value]);
  return vertices.size + edges.size > 0;
}
