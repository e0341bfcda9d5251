// How vertices and edges look: a colour and a caption for each label, or the values of an algorithm as colour or size.

import { signal } from "@preact/signals";
import { caption, captionKey } from "../elements/text";
import { graph, vertexOf, version } from "./model";

/** What a person chose for a label. What is missing is chosen by itself. */
interface LabelStyle {
  color?: string;
  caption?: string | null;
  isHidden?: boolean;
}

/** Values of vertices that an algorithm found. */
export interface Measure {
  name: string;
  as: "color" | "size";
  /** By the key of the vertex in view. */
  values: Map<string, number>;
  /** Whether each value is a group of its own, such as a component. */
  isGroups: boolean;
}

export interface Look {
  color: string;
  size: number;
  caption: string;
  isHidden: boolean;
}

/** Colours that differ for people who see colours differently, on light and on dark ground. */
const PALETTE = ["#0f9488", "#d97706", "#6d6fd8", "#d6497f", "#5b9c2f", "#2f83d6", "#b8860b", "#9a5cc4", "#c8553d", "#5f7f8f"];
/** From low to high. */
export const SCALE = ["#3b6fb6", "#33a3a0", "#8fc15c", "#f0b52e", "#e0562f"];
const NO_VALUE = "#9aa5a3";

export const styles = signal<ReadonlyMap<string, LabelStyle>>(new Map());
export const measure = signal<Measure | null>(null);

/** Labels get colours in the order in which they come into view. */
const order: string[] = [];

export function setStyle(label: string, style: LabelStyle): void {
  styles.value = new Map(styles.value).set(label, { ...styles.value.get(label), ...style });
}

export function colorOf(label: string): string {
  if (!order.includes(label)) order.push(label);
  return styles.value.get(label)?.color ?? PALETTE[order.indexOf(label) % PALETTE.length]!;
}

export function captionOf(key: string): string {
  const vertex = vertexOf(key);
  const chosen = styles.value.get(vertex.label)?.caption;
  return caption(vertex, chosen === undefined ? captionKey(vertex) : chosen);
}

/** How a vertex looks. One with many edges in view is a little larger: so its caption is among those that find room. */
export function look(key: string): Look {
  const { label } = vertexOf(key);
  const shown = measure.value;
  return {
    color: shown?.as === "color" ? colorOfValue(shown, key) : colorOf(label),
    size: shown?.as === "size" ? sizeOfValue(shown, key) : usualSize() * (0.85 + 0.25 * Math.log10(1 + graph.degree(key))),
    caption: captionOf(key),
    isHidden: isHidden(label),
  };
}

/** The name of the style of an edge label. Vertices may have the same label. */
export const edgeStyle = (label: string): string => `\u0000${label}`;

export function isHidden(style: string): boolean {
  return styles.value.get(style)?.isHidden ?? false;
}

function usualSize(): number {
  return graph.order > 500 ? 4 : graph.order > 100 ? 6 : 9;
}

let limits: { of: Measure; at: number; low: number; high: number } | null = null;

/** The least and the greatest value in view. */
export function limitsOf(shown: Measure): { low: number; high: number } {
  if (limits?.of !== shown || limits.at !== version.value) {
    const values = graph
      .nodes()
      .flatMap((key) => shown.values.get(key) ?? [])
      .filter(Number.isFinite);
    const [low, high] = values.reduce(
      ([low, high], value) => [Math.min(low, value), Math.max(high, value)],
      [Infinity, -Infinity],
    );
    limits = { of: shown, at: version.value, low: low!, high: high! };
  }
  return limits;
}

/** Where a value stands between the least (0) and the greatest (1). */
function share(shown: Measure, value: number): number {
  const { low, high } = limitsOf(shown);
  return high > low ? Math.min(1, Math.max(0, (value - low) / (high - low))) : 0.5;
}

function colorOfValue(shown: Measure, key: string): string {
  const value = shown.values.get(key);
  if (value === undefined || Number.isNaN(value)) return NO_VALUE;
  if (shown.isGroups) return PALETTE[Math.abs(Math.trunc(value)) % PALETTE.length]!;
  return SCALE[Math.round(share(shown, value) * (SCALE.length - 1))]!;
}

/** The area of a vertex grows with its value: from a fifth of the usual size to twice of it. */
function sizeOfValue(shown: Measure, key: string): number {
  const value = shown.values.get(key);
  const isMissing = value === undefined || Number.isNaN(value);
  return usualSize() * (0.2 + 1.8 * (isMissing ? 0 : Math.sqrt(share(shown, value))));
}
