// Which vertex labels an edge label connects. The schema does not say it: a sample of edges does.

import * as api from "../server/api";
import type { Schema } from "../server/api";

export interface Connection {
  edge: string;
  from: string;
  to: string;
}

/** The edges of each label that are looked at, the vertices of each label whose edges are, and the most labels. */
export const EDGES_SAMPLE = 1000;
export const VERTICES_SAMPLE = 200;
const LABELS_MAX = 40;

const PAIRS = ".project('edge', 'from', 'to').by(__.label()).by(__.outV().label()).by(__.inV().label()).dedup()";
const OF_EDGES = `g.E().hasLabel(name).limit(most)${PAIRS}`;
const OF_VERTICES = `g.V().hasLabel(name).limit(most).local(__.outE().limit(50))${PAIRS}`;

export async function connections(database: string, schema: Schema): Promise<Connection[]> {
  const ask = (gremlin: string, most: number) => (name: string) => api.ask<Connection>(database, gremlin, { name, most });
  const found = await Promise.all([
    ...greatest(schema.edgeLabels).map(ask(OF_EDGES, EDGES_SAMPLE)),
    ...greatest(schema.vertexLabels).map(ask(OF_VERTICES, VERTICES_SAMPLE)),
  ]);
  const keyed = found.flat().map((one): [string, Connection] => [JSON.stringify([one.edge, one.from, one.to]), one]);
  return [...new Map(keyed).values()];
}

function greatest(labels: Schema["vertexLabels"]): string[] {
  const sorted = Object.entries(labels).sort(([, a], [, b]) => b.count - a.count);
  return sorted.slice(0, LABELS_MAX).map(([label]) => label);
}
