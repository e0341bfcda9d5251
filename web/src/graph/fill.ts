// Brings elements into the view: results, what joins them, and neighbours.

import { signal } from "@preact/signals";
import * as api from "../server/api";
import type { Json } from "../server/exact";
import { wordsOf } from "../server/client";
import { find } from "../elements/find";
import { keyOf, type Edge, type Vertex } from "../elements/types";
import { counted } from "../elements/text";
import { database } from "../session";
import { fitNow } from "./focus";
import { add, clear, graph, remark, vertexOf, VERTICES_MAX } from "./model";
import { startLayout } from "./layout";

/** The most edges that are looked up by themselves. */
const EDGES_MAX = 5000;
/** The most neighbours that come at a time. */
const NEIGHBOURS_MAX = 50;

/** Whether results are added to what is in view, and do not replace it. */
export const isKept = signal(false);

export type Direction = "both" | "out" | "in";

/** Goes up with each new content of the view: what was asked for an older one is then left out. */
let turn = 0;

/** Says in the view why something could not be brought. The place in a query of this page helps nobody. */
async function told(work: Promise<void>): Promise<void> {
  await work.catch((error: unknown) => (remark.value = `Not all could be brought: ${wordsOf(error).split("\n")[0]}.`));
}

export const showResults = (results: Json[]) => told(bringResults(results));
export const showVertices = (ids: api.Id[]) => told(bringVertices(ids));
export const expand = (key: string, direction: Direction = "both", label: string | null = null) =>
  told(bringNeighbours(key, direction, label));

/** Puts the elements of results into the view, with the ends of their edges, or with the edges between them. */
async function bringResults(results: Json[]): Promise<void> {
  const own = ++turn;
  if (!isKept.value) {
    clear();
    fitNow();
  }
  const found = find(results);
  const [vertices, edges] = [[...found.vertices.values()], [...found.edges.values()]];
  if (vertices.length + edges.length === 0) return;
  const ends = await missingEnds(edges, found.vertices);
  if (own !== turn) return;
  add([...vertices, ...ends], edges);
  if (edges.length === 0) await addEdgesBetween(graph.nodes());
  startLayout();
}

/** Shows one vertex, in what is in view already. */
export async function showVertex(vertex: Vertex): Promise<string> {
  const key = keyOf(vertex.id);
  if (!graph.hasNode(key)) {
    add([vertex], []);
    await addEdgesBetween([key]);
    startLayout();
  }
  return key;
}

async function bringVertices(ids: api.Id[]): Promise<void> {
  const vertices = await ask<Vertex>("g.V(ids)", { ids });
  add(vertices, []);
  if (vertices.length < ids.length) remark.value = `${vertices.length} of ${ids.length} vertices were found.`;
  await addEdgesBetween(graph.nodes());
  fitNow();
  startLayout();
}

function ask<T>(gremlin: string, parameters: { [name: string]: Json }): Promise<T[]> {
  return api.ask<T>(database.value ?? "", gremlin, parameters);
}

/** The ends of edges that are no results themselves. */
async function missingEnds(edges: Edge[], known: Map<string, Vertex>): Promise<Vertex[]> {
  const ends = new Map<string, api.Id>();
  for (const { outV, inV } of edges) {
    ends.set(keyOf(outV), outV);
    ends.set(keyOf(inV), inV);
  }
  const missing = [...ends].filter(([key]) => !known.has(key) && !graph.hasNode(key)).slice(0, VERTICES_MAX);
  if (missing.length === 0) return [];
  return ask<Vertex>("g.V(ids)", { ids: missing.map(([, id]) => id) });
}

/** Adds the edges that lead from these vertices to others in view, and the other way. */
async function addEdgesBetween(keys: string[]): Promise<void> {
  const ids = idsOf(keys);
  if (ids.length === 0) return;
  const parameters = { ids, inside: idsOf(graph.nodes()), most: EDGES_MAX };
  const out = await ask<Edge>("g.V(ids).outE().where(__.inV().hasId(within(inside))).limit(most)", parameters);
  const isAll = keys.length === graph.order;
  const inward = isAll ? [] : await ask<Edge>("g.V(ids).inE().where(__.outV().hasId(within(inside))).limit(most)", parameters);
  if (out.length === EDGES_MAX) remark.value = `The first ${EDGES_MAX} edges between these vertices. There may be more.`;
  add([], [...out, ...inward]);
}

function idsOf(keys: string[]): api.Id[] {
  return keys.map((key) => vertexOf(key).id);
}

/** Brings neighbours of a vertex that are not in view yet, at most fifty at a time, and says how many are left. */
async function bringNeighbours(key: string, direction: Direction, label: string | null): Promise<void> {
  const center = vertexOf(key).id;
  const step = `${direction}(${label === null ? "" : "along"})`;
  const from = `g.V(center).${step}.dedup()`;
  const known = graph.neighbors(key).map((near) => vertexOf(near).id);
  const parameters = { center, known, ...(label === null ? {} : { along: label }) };
  const isNew = "not(__.hasId(within(known)))";
  const [found, counts] = await Promise.all([
    ask<Vertex>(`${from}.${isNew}.limit(most)`, { ...parameters, most: NEIGHBOURS_MAX }),
    ask<number>(`${from}.${isNew}.count()`, parameters),
  ]);
  const keys = found.map((vertex) => keyOf(vertex.id));
  const isNewHere = keys.filter((one) => !graph.hasNode(one));
  const added = add(found, [], key);
  await addEdgesBetween([key, ...isNewHere]);
  const left = Number(counts[0] ?? 0) - found.length;
  remark.value =
    found.length === 0
      ? "It has no other neighbours like these."
      : `${counted(added, "vertex", "vertices")} added.` +
        (left > 0 ? ` ${counted(left, "neighbour")} more: expand again for the next ${NEIGHBOURS_MAX}.` : "");
  if (added > 0) startLayout();
}

// The view shows one database.
database.subscribe(clear);
