// Values as short texts, for cells, captions and lists.

import { Exact, isObject, stringify, type Json } from "../server/exact";
import { hasType, isEdge, isVertex, type Edge, type Vertex } from "./types";

/** A value on one line. Strings have no quotes. */
export function textOf(value: Json | undefined): string {
  if (value === undefined) return "";
  if (typeof value === "string") return value;
  if (isVertex(value)) return `v[${value.id}]`;
  if (isEdge(value)) return edgeText(value);
  if (hasType(value, "path")) return (value.objects as Json[]).map(textOf).join(" → ");
  if (Array.isArray(value)) return `[${value.map(textOf).join(", ")}]`;
  if (isObject(value))
    return `{${Object.entries(value)
      .map(([key, part]) => `${key}: ${textOf(part)}`)
      .join(", ")}}`;
  return value instanceof Exact ? value.text : stringify(value);
}

function edgeText({ id, label, outV, inV }: Edge): string {
  return `e[${id}][${outV}-${label}->${inV}]`;
}

/** The properties that name a vertex best, if it has them. */
const NAMES = ["name", "title", "code", "desc", "description", "label", "key"];

/** The property whose value is the caption of vertices, unless a person chooses another. */
export function captionKey(vertex: Vertex): string | null {
  return NAMES.find((name) => name in vertex.properties) ?? null;
}

const CAPTION_MAX = 40;

export function caption(vertex: Vertex, key: string | null): string {
  const value = key === null ? undefined : vertex.properties[key];
  const text = value === undefined || value === null ? String(vertex.id) : textOf(value);
  return text.length > CAPTION_MAX ? `${text.slice(0, CAPTION_MAX - 1)}…` : text;
}

const plain = new Intl.NumberFormat("en");
export const count = (number: number): string => plain.format(number);

/** `1 vertex`, `2 vertices`. */
export function counted(number: number, one: string, many = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : many}`;
}

export function bytes(number: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(number, 1)) / 3)));
  return `${(number / 1000 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`;
}

export function duration(seconds: number): string {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  return seconds < 60 ? `${seconds.toFixed(1)} s` : `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}
