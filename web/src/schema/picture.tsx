// The schema as a picture: vertex labels as circles, edge labels as arrows between those they connect, with counts.

import type { Schema } from "../server/api";
import { count } from "../elements/text";
import { colorOf } from "../graph/style";
import { curve, type Disc } from "../ui/curves";
import type { Connection } from "./ends";

const WIDTH = 960;
const HEIGHT = 520;
const RADIUS_MIN = 16;
const RADIUS_MAX = 52;

interface Circle extends Disc {
  label: string;
  count: number;
}

export function Picture({ schema, connections }: { schema: Schema; connections: Connection[] }) {
  const circles = place(schema);
  const pairs = Map.groupBy(connections, ({ from, to }) => [from, to].sort().join("\u0000"));
  return (
    <svg class="schema-picture" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={words(schema, connections)}>
      <marker
        id="head"
        viewBox="0 0 10 10"
        refX="9"
        refY="5"
        markerWidth="9"
        markerHeight="9"
        markerUnits="userSpaceOnUse"
        orient="auto"
      >
        <path d="M0 0 10 5 0 10z" fill="var(--muted)" />
      </marker>
      {[...pairs.values()].flatMap((same) =>
        same.map((one, at) => (
          <Arrow key={one.edge + one.from} of={one} at={at} all={same.length} circles={circles} schema={schema} />
        )),
      )}
      {[...circles.values()].map((circle) => (
        <g key={circle.label}>
          <circle cx={circle.x} cy={circle.y} r={circle.r} fill={colorOf(circle.label)} />
          <text class="name" x={circle.x} y={circle.y + circle.r + 18} text-anchor="middle" font-size="14">
            {circle.label} <tspan>{count(circle.count)}</tspan>
          </text>
        </g>
      ))}
    </svg>
  );
}

/** On an ellipse, the greatest first. Labels that no vertex has any more are left out. */
function place(schema: Schema): Map<string, Circle> {
  const used = Object.entries(schema.vertexLabels).filter(([, { count }]) => count > 0);
  const labels = used.sort(([, a], [, b]) => b.count - a.count);
  const most = Math.log(1 + Math.max(1, ...labels.map(([, { count }]) => count)));
  const crowd = Math.min(1, 8 / Math.max(labels.length, 1));
  const circle = ([label, { count }]: (typeof labels)[number], at: number): [string, Circle] => {
    const turn = (at / labels.length) * 2 * Math.PI + Math.PI;
    const r = (RADIUS_MIN + (RADIUS_MAX - RADIUS_MIN) * (Math.log(1 + count) / most)) * (0.4 + 0.6 * crowd);
    const reach = labels.length === 1 ? 0 : 1;
    const [x, y] = [
      WIDTH / 2 + reach * (WIDTH / 2 - 170) * Math.cos(turn),
      HEIGHT / 2 + reach * (HEIGHT / 2 - 100) * Math.sin(turn),
    ];
    return [label, { label, count, x, y, r }];
  };
  return new Map(labels.map(circle));
}

interface ArrowProps {
  of: Connection;
  at: number;
  all: number;
  circles: Map<string, Circle>;
  schema: Schema;
}

/** Arrows between the same labels spread out. One from a label to itself leaves the middle of the picture. */
function Arrow({ of, at, all, circles, schema }: ArrowProps) {
  const [from, to] = [circles.get(of.from), circles.get(of.to)];
  if (!from || !to) return null;
  const { path, x, y, anchor } = curve(from, to, at, all, Math.atan2(from.y - HEIGHT / 2, from.x - WIDTH / 2 - 1));
  return (
    <g>
      <path d={path} fill="none" stroke="var(--muted)" stroke-width="1.6" marker-end="url(#head)" />
      <text class="edge-name" x={x} y={y} text-anchor={anchor} font-size="12.5">
        {of.edge} <tspan>{count(schema.edgeLabels[of.edge]?.count ?? 0)}</tspan>
      </text>
    </g>
  );
}

/** The picture in words. */
function words(schema: Schema, connections: Connection[]): string {
  const labels = Object.entries(schema.vertexLabels).map(([label, { count: number }]) => `${label} (${count(number)})`);
  const arrows = connections.map(({ edge, from, to }) => `${from} ${edge} ${to}`);
  return `Schema. Vertices: ${labels.join(", ")}. Edges: ${arrows.join(", ")}.`;
}
