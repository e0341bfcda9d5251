// The graph tab: its tools, the picture or a list of the same vertices, the legend, and what is selected.

import { signal } from "@preact/signals";
import { counted } from "../elements/text";
import { Action } from "../ui/parts";
import { download } from "../ui/download";
import { Canvas } from "./canvas";
import { edgesCsv, verticesCsv } from "./csv";
import { isKept } from "./fill";
import { fit, pan, zoom } from "./focus";
import { isLayingOut, startLayout, stopLayout } from "./layout";
import { Legend } from "./legend";
import { List } from "./list";
import { clear, remark, size } from "./model";
import { Panel } from "./panel";
import { pngOf, svgOf } from "./picture";
import { Search } from "./search";

const isList = signal(false);

export function GraphView() {
  const { vertices, edges } = size.value;
  if (vertices === 0)
    return <p class="empty">Nothing to draw. Run a query that gives vertices, edges or paths: g.V().limit(25)</p>;
  return (
    <div class="graph">
      <div class="toolbar">
        <Search />
        <Action onClick={fit} title="Show the whole (0)">
          Fit
        </Action>
        <Action onClick={isLayingOut.value ? stopLayout : startLayout}>{isLayingOut.value ? "Stop layout" : "Layout"}</Action>
        <Action onClick={() => (isList.value = !isList.value)} isPressed={isList.value}>
          List
        </Action>
        <Action onClick={clear}>Clear</Action>
        <label class="check" title="Results are added to this view. Otherwise they replace it.">
          <input type="checkbox" checked={isKept.value} onChange={(event) => (isKept.value = event.currentTarget.checked)} />
          Keep when a query runs
        </label>
        <span class="spring" />
        <Exports />
      </div>
      <div class="graph-body" onKeyDown={isList.value ? undefined : onKey}>
        <div class="graph-main" tabIndex={isList.value ? undefined : 0} role="group" aria-label="Graph">
          {isList.value ? <List /> : <Canvas />}
          <p class="graph-note" role="status">
            {counted(vertices, "vertex", "vertices")}, {counted(edges, "edge")}.{remark.value !== null && ` ${remark.value}`}
          </p>
        </div>
        <aside class="side stacked" aria-label="Legend and selection">
          <Legend />
          <Panel />
        </aside>
      </div>
    </div>
  );
}

function Exports() {
  const save = (name: string, type: string, text: () => string) => () => download(name, text(), type);
  return (
    <span class="group" role="group" aria-label="Export">
      <Action onClick={() => void pngOf().then((blob) => download("graph.png", blob))}>PNG</Action>
      <Action onClick={save("graph.svg", "image/svg+xml", svgOf)}>SVG</Action>
      <Action onClick={save("vertices.csv", "text/csv", verticesCsv)}>Vertices CSV</Action>
      <Action onClick={save("edges.csv", "text/csv", edgesCsv)}>Edges CSV</Action>
    </span>
  );
}

const MOVES: { [key: string]: () => void } = {
  ArrowLeft: () => pan(-0.1, 0),
  ArrowRight: () => pan(0.1, 0),
  ArrowUp: () => pan(0, 0.1),
  ArrowDown: () => pan(0, -0.1),
  "+": () => zoom(1.3),
  "-": () => zoom(1 / 1.3),
  "0": fit,
};

function onKey(event: KeyboardEvent): void {
  const move = MOVES[event.key];
  const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
  if (!move || isTyping || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  move();
}
