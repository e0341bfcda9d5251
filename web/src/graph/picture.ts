// The graph in view as an SVG picture, and as a PNG of it.

import { color } from "../theme";
import { edgeOf, graph } from "./model";
import { curve, type Curve, type Disc } from "../ui/curves";
import { edgeStyle, isHidden, look, type Look } from "./style";

const NAMESPACE = "http://www.w3.org/2000/svg";
const WIDTH = 1600;
const MARGIN = 80;
/** In larger graphs, edges have no names. */
const NAMES_MAX = 150;

type Placed = Look & Disc;

export function svgOf(): string {
  const { placed, height } = places();
  const svg = make("svg", { xmlns: NAMESPACE, viewBox: `0 0 ${WIDTH} ${height}`, width: WIDTH, height });
  svg.setAttribute("font-family", "system-ui, sans-serif");
  svg.append(make("rect", { width: WIDTH, height, fill: color("ground") }), arrow());
  svg.append(...lines(placed));
  for (const vertex of placed.values()) svg.append(...disc(vertex));
  return new XMLSerializer().serializeToString(svg);
}

/** The edges whose ends are shown. Those between the same two vertices lie beside each other. */
function lines(placed: Map<string, Placed>): SVGElement[] {
  const shown = graph.filterEdges(
    (_, { edge }, from, to) => placed.has(from) && placed.has(to) && !isHidden(edgeStyle(edge.label)),
  );
  const pairs = Map.groupBy(shown, (key) => graph.extremities(key).toSorted().join("\u0001"));
  return [...pairs.values()].flatMap((same) =>
    same.flatMap((key, at) => {
      const [from, to] = graph.extremities(key).map((end) => placed.get(end)!);
      return line(edgeOf(key).label, curve(from!, to!, at, same.length), shown.length <= NAMES_MAX);
    }),
  );
}

/** The places of all vertices that are not hidden, so that they fill the picture. */
function places(): { placed: Map<string, Placed>; height: number } {
  const keys = graph.nodes().filter((key) => !look(key).isHidden);
  const of = (axis: "x" | "y") => keys.map((key) => graph.getNodeAttribute(key, axis));
  const least = (values: number[]) => values.reduce((a, b) => Math.min(a, b), Infinity);
  const [left, bottom] = [least(of("x")), least(of("y"))];
  const [right, top] = [-least(of("x").map((x) => -x)), -least(of("y").map((y) => -y))];
  const scale = (WIDTH - 2 * MARGIN) / Math.max(right - left, top - bottom, 1e-9);
  const height = Math.round(Math.max(200, (top - bottom) * scale + 2 * MARGIN));
  const at = (key: string): Placed => {
    const { x, y } = graph.getNodeAttributes(key);
    const own = look(key);
    return { ...own, r: own.size, x: MARGIN + (x - left) * scale, y: MARGIN + (top - y) * scale };
  };
  return { placed: new Map(keys.map((key) => [key, at(key)])), height };
}

function make(name: string, attributes: { [name: string]: string | number }, text?: string): SVGElement {
  const element = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) if (key !== "xmlns") element.setAttribute(key, String(value));
  if (text !== undefined) element.textContent = text;
  return element;
}

function arrow(): SVGElement {
  const marker = make("marker", {
    id: "arrow",
    viewBox: "0 0 8 8",
    refX: 8,
    refY: 4,
    markerWidth: 7,
    markerHeight: 7,
    orient: "auto",
  });
  marker.append(make("path", { d: "M0 0 8 4 0 8z", fill: color("edge") }));
  return marker;
}

function line(label: string, { path: d, x, y, anchor }: Curve, isNamed: boolean): SVGElement[] {
  const stroke = { fill: "none", stroke: color("edge"), "stroke-width": 1.5, "marker-end": "url(#arrow)" };
  const path = make("path", { d, ...stroke });
  path.append(make("title", {}, label));
  const name = { x: x.toFixed(1), y: y.toFixed(1), "font-size": 11, "text-anchor": anchor, fill: color("muted") };
  return isNamed ? [path, make("text", name, label)] : [path];
}

function disc({ x, y, r, color: fill, caption }: Placed): SVGElement[] {
  const [cx, cy] = [x.toFixed(1), y.toFixed(1)];
  const text = make(
    "text",
    { x: (x + r + 4).toFixed(1), y: (y + 4).toFixed(1), "font-size": 12, fill: color("text") },
    caption,
  );
  return [make("circle", { cx, cy, r, fill }), text];
}

/** The same picture in pixels. */
export async function pngOf(): Promise<Blob> {
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([svgOf()], { type: "image/svg+xml" }));
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
  canvas.getContext("2d")!.drawImage(image, 0, 0);
  URL.revokeObjectURL(image.src);
  return new Promise((resolve) => canvas.toBlob((blob) => resolve(blob!), "image/png"));
}
