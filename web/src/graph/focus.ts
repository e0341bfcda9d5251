// Moves the picture: to a vertex, to the whole, nearer, farther, aside.

import { signal } from "@preact/signals";
import type Sigma from "sigma";
import { isStill } from "../ui/motion";
import { stopLayout } from "./layout";
import { graph, selected, type EdgeAttributes, type VertexAttributes } from "./model";

export type Picture = Sigma<VertexAttributes, EdgeAttributes>;

/** The picture, once it was shown. */
export const picture = signal<Picture | null>(null);

const MOVE_MS = 300;
const WHOLE = { x: 0.5, y: 0.5, ratio: 1 };

function move(to: { x: number; y: number; ratio: number }): void {
  const eye = picture.value?.getCamera();
  if (isStill()) eye?.setState(to);
  else void eye?.animate(to, { duration: MOVE_MS });
}

/** Selects a vertex and brings it to the middle. */
export function focus(key: string): void {
  selected.value = { kind: "vertex", key };
  stopLayout();
  // The end of the layout may have changed the scale of the picture.
  const drawn = picture.value?.refresh();
  if (drawn) move({ ...drawn.graphToFramedGraph(graph.getNodeAttributes(key)), ratio: 0.5 });
}

export function fit(): void {
  move(WHOLE);
}

/** Shows the whole of a new content at once. */
export function fitNow(): void {
  picture.value?.getCamera().cancelAnimation().setState(WHOLE);
}

export function zoom(factor: number): void {
  const eye = picture.value?.getCamera();
  if (eye) eye.setState({ ratio: eye.getBoundedRatio(eye.ratio / factor) });
}

/** Moves by shares of what is seen. */
export function pan(right: number, up: number): void {
  const eye = picture.value?.getCamera();
  if (eye) eye.setState({ x: eye.x + right * eye.ratio, y: eye.y + up * eye.ratio });
}
