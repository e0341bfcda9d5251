// Vertices and edges as the server shows them, and how to tell them from other values.

import { isObject, type Json, type JsonObject } from "../server/exact";
import type { Id } from "../server/api";

export interface Vertex {
  type: "vertex";
  id: Id;
  label: string;
  furtherLabels?: string[];
  properties: JsonObject;
}

export interface Edge {
  type: "edge";
  id: Id;
  label: string;
  outV: Id;
  outVLabel: string;
  inV: Id;
  inVLabel: string;
  properties: JsonObject;
}

type Element = Vertex | Edge;

export function isVertex(value: unknown): value is Vertex {
  return hasType(value, "vertex") && "label" in value && isObject(value.properties);
}

export function isEdge(value: unknown): value is Edge {
  return hasType(value, "edge") && "outV" in value && isObject(value.properties);
}

export function isElement(value: unknown): value is Element {
  return isVertex(value) || isEdge(value);
}

export function hasType(value: unknown, type: string): value is JsonObject {
  return isObject(value as Json) && (value as JsonObject).type === type;
}

/** The name of an element in this page. Ids of different types are different: 7 is not "7". */
export function keyOf(id: Id): string {
  return typeof id === "string" ? `"${id}` : String(id);
}
