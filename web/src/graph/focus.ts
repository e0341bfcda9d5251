// Moves the picture: to a vertex, to the whole, nearer, farther, aside.

import { camera } from "./canvas";
import { stopLayout } from "./layout";
import { graph, selected } from "./model";

/** Selects a vertex and brings it to the middle. */
export function focus(key: string): void {
  selected.value = { kind: "vertex", key };
  stopLayout();
  const picture = camera.value;
  if (picture === null) return;
  const { x, y } = picture.graphToFramedGraph(graph.getNodeAttributes(key));
  void picture.getCamera().animate({ x, y, ratio: 0.5 }, { duration: 300 });
}

export function fit(): void {
  void camera.value?.getCamera().reset({ duration: 300 });
}

export function zoom(factor: number): void {
  const eye = camera.value?.getCamera();
  if (eye) eye.setState({ ratio: eye.getBoundedRatio(eye.ratio / factor) });
}

/** Moves by shares of what is seen. */
export function pan(right: number, up: number): void {
  const eye = camera.value?.getCamera();
  if (eye) eye.setState({ x: eye.x + right * eye.ratio, y: eye.y + up * eye.ratio });
}
