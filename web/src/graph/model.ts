// The graph in view: its vertices and edges, what is selected, what is pinned. Pictures and panels follow it.

import { computed, signal } from "@preact/signals";
import { MultiDirectedGraph } from "graphology";
import { keyOf, type Edge, type Vertex } from "../elements/types";

export interface VertexAttributes {
  x: number;
  y: number;
  vertex: Vertex;
  /** Pinned: the layout does not move it. */
  fixed: boolean;
}

export interface EdgeAttributes {
  edge: Edge;
}

type Selected = { kind: "vertex" | "edge"; key: string };

export const graph = new MultiDirectedGraph<VertexAttributes, EdgeAttributes>();

/** Goes up when vertices or edges come or go, or are pinned. */
export const version = signal(0);
export const selected = signal<Selected | null>(null);
/** What to know about the view, such as that it is not all. */
export const remark = signal<string | null>(null);

export const size = computed(() => (version.value, { vertices: graph.order, edges: graph.size }));

/** The most vertices of a view. More are slow to lay out, and nobody can read them. */
export const VERTICES_MAX = 5000;

/** Adds what is not there yet. Edges need both of their ends. Returns the number of new vertices. */
export function add(vertices: Iterable<Vertex>, edges: Iterable<Edge>, near?: string): number {
  const before = graph.order;
  let left = 0;
  for (const vertex of vertices) {
    const key = keyOf(vertex.id);
    if (graph.hasNode(key)) graph.setNodeAttribute(key, "vertex", vertex);
    else if (graph.order < VERTICES_MAX) graph.addNode(key, { ...placeFor(near), vertex, fixed: false });
    else left++;
  }
  for (const edge of edges) {
    const [key, [from, to]] = [keyOf(edge.id), endsOf(edge)];
    if (!graph.hasEdge(key) && graph.hasNode(from) && graph.hasNode(to)) graph.addDirectedEdgeWithKey(key, from, to, { edge });
  }
  if (left > 0) remark.value = `The view holds ${VERTICES_MAX} vertices at most. ${left} are left out.`;
  version.value++;
  return graph.order - before;
}

function endsOf(edge: Edge): [string, string] {
  return [keyOf(edge.outV), keyOf(edge.inV)];
}

/** A place beside a vertex, or anywhere. The same graph always gets the same places. */
function placeFor(near: string | undefined): { x: number; y: number } {
  const turn = graph.order * 2.399963;
  const reach = near === undefined ? 10 * Math.sqrt(graph.order + 1) : 8;
  const { x, y } = near === undefined ? { x: 0, y: 0 } : graph.getNodeAttributes(near);
  return { x: x + reach * Math.cos(turn), y: y + reach * Math.sin(turn) };
}

export function removeVertex(key: string): void {
  graph.dropNode(key);
  forgetMissing();
}

export function clear(): void {
  graph.clear();
  remark.value = null;
  forgetMissing();
}

function forgetMissing(): void {
  const now = selected.value;
  if (now !== null && !(now.kind === "vertex" ? graph.hasNode(now.key) : graph.hasEdge(now.key))) selected.value = null;
  version.value++;
}

export function pin(key: string, isPinned: boolean): void {
  graph.setNodeAttribute(key, "fixed", isPinned);
  version.value++;
}

export const vertexOf = (key: string): Vertex => graph.getNodeAttribute(key, "vertex");
export const edgeOf = (key: string): Edge => graph.getEdgeAttribute(key, "edge");

/** The labels in view, with the number of vertices or edges of each. */
export const labels = computed(() => {
  version.value;
  const vertices = new Map<string, number>();
  const edges = new Map<string, number>();
  const more = (counts: Map<string, number>, label: string) => counts.set(label, (counts.get(label) ?? 0) + 1);
  graph.forEachNode((_, { vertex }) => more(vertices, vertex.label));
  graph.forEachEdge((_, { edge }) => more(edges, edge.label));
  return { vertices, edges };
});
