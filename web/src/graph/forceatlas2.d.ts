// The parts of the layout that run it step by step. The package types only its whole.

declare module "graphology-layout-forceatlas2/helpers.js" {
  import type Graph from "graphology-types";
  import type { ForceAtlas2Settings } from "graphology-layout-forceatlas2";

  const helpers: {
    graphToByteArrays(graph: Graph, weight: () => number): { nodes: Float32Array; edges: Float32Array };
    assignLayoutChanges(graph: Graph, nodes: Float32Array, change: null): void;
  };
  export default helpers;
  export type { ForceAtlas2Settings };
}

declare module "graphology-layout-forceatlas2/iterate.js" {
  export default function iterate(settings: object, nodes: Float32Array, edges: Float32Array): void;
}

declare module "graphology-layout-forceatlas2/defaults.js" {
  const defaults: object;
  export default defaults;
}
