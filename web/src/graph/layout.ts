// Moves vertices until those joined by edges are near each other: ForceAtlas2, a little in each frame. Without motion, the
// picture changes once, at the end.

import { signal } from "@preact/signals";
import { inferSettings } from "graphology-layout-forceatlas2";
import defaults from "graphology-layout-forceatlas2/defaults.js";
import helpers from "graphology-layout-forceatlas2/helpers.js";
import iterate from "graphology-layout-forceatlas2/iterate.js";
import { isStill } from "../ui/motion";
import { graph, version } from "./model";

export const isLayingOut = signal(false);

/** The least and the most time that the layout takes of a frame. Where drawing is slow, it takes half of the time. */
const SLICE_MS_MIN = 8;
const SLICE_MS_MAX = 100;
/** It ends by itself after so many rounds, or after this time. */
const ROUNDS_MAX = 600;
const TIME_MS_MAX = 10_000;
/** With more vertices, those that are far push together: that takes less time. */
const EXACT_MAX = 500;
/** How far is far: Gephi's value. With the library's own, a layout takes more than twice the time. */
const THETA = 1.2;

let frame = 0;
/** Puts the vertices where the layout has them now. */
let place = () => {};

/** Begins, or begins anew with what is in view now. */
export function startLayout(): void {
  stopLayout();
  if (graph.order < 2) return;
  isLayingOut.value = true;
  const settings = {
    ...defaults,
    ...inferSettings(graph),
    gravity: 1,
    slowDown: 2 + Math.log(graph.order),
    barnesHutOptimize: graph.order > EXACT_MAX,
    barnesHutTheta: THETA,
  };
  let seen = version.peek();
  let matrices = helpers.graphToByteArrays(graph, () => 1);
  let rounds = 0;
  const began = performance.now();
  let last = began;
  place = () => {
    if (seen === version.peek()) helpers.assignLayoutChanges(graph, matrices.nodes, null);
  };
  const step = () => {
    if (seen !== version.peek()) [seen, matrices] = [version.peek(), helpers.graphToByteArrays(graph, () => 1)];
    const now = performance.now();
    const end = now + (isStill() ? SLICE_MS_MAX : Math.min(SLICE_MS_MAX, Math.max(SLICE_MS_MIN, (now - last) / 2)));
    last = now;
    do iterate(settings, matrices.nodes, matrices.edges);
    while (++rounds < ROUNDS_MAX && performance.now() < end);
    if (!isStill()) place();
    if (rounds < ROUNDS_MAX && now - began < TIME_MS_MAX) frame = requestAnimationFrame(step);
    else stopLayout();
  };
  frame = requestAnimationFrame(step);
}

export function stopLayout(): void {
  cancelAnimationFrame(frame);
  if (isLayingOut.value) place();
  isLayingOut.value = false;
}
