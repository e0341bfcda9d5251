// The picture of the graph in view, drawn by sigma.

import { effect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import Sigma from "sigma";
import { extremityArrow, layerFill, layerPlain, pathCurved, pathLine, pathLoop, sdfCircle } from "sigma/rendering";
import { color, isDark } from "../theme";
import { expand } from "./fill";
import { picture, type Picture } from "./focus";
import { isLayingOut } from "./layout";
import { edgeOf, graph, pin, selected, version } from "./model";
import { layerRing, ringVariables, withRing, type Ring } from "./ring";
import { edgeStyle, isHidden, look, measure, styles } from "./style";

const FONT = "system-ui, sans-serif";
/** In larger graphs, only the edges of the selected vertex have names, if they are no more than this. */
const NAMES_MAX = 30;
/** In larger graphs, edges are straight, cannot be clicked, and only show while nothing moves. So moving stays smooth. */
const EDGES_MAX = 600;
const isLarge = (): boolean => graph.size > EDGES_MAX;

const primitives = {
  nodes: { shapes: [sdfCircle()], variables: ringVariables, layers: [layerFill(), layerRing()] },
  edges: {
    paths: [pathLine(), pathCurved(), pathLoop()],
    extremities: [extremityArrow()],
    layers: [layerPlain()],
    defaultHead: "arrow",
  },
};

/** Shows the one picture, which stays while other tabs are open: to make it takes long, and it knows where one looked. */
export function Canvas() {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const sigma = (picture.value ??= draw(document.createElement("div")));
    host.current!.append(sigma.getContainer());
    const stop = effect(() => {
      [styles.value, measure.value, isDark.value, selected.value, version.value, isLayingOut.value];
      sigma.setSettings({ renderEdgeLabels: !isLarge(), hideEdgesOnMove: isLarge(), enableEdgeEvents: !isLarge() });
      sigma.refresh({ schedule: true });
    });
    const watch = new ResizeObserver(() => sigma.scheduleRender());
    watch.observe(host.current!);
    return () => {
      stop();
      watch.disconnect();
    };
  }, []);
  return <div class="canvas" ref={host} aria-hidden="true" />;
}

function draw(host: HTMLElement): Picture {
  const sigma: Picture = new Sigma(graph, host, {
    primitives,
    settings: {
      enableNodeDrag: true,
      allowInvalidContainer: true,
      itemSizesReference: "screen",
      labelRenderedSizeThreshold: 0,
      labelGridCellSize: 70,
      minEdgeThickness: 0.6,
      enableCameraRotation: false,
      minCameraRatio: 0.02,
      maxCameraRatio: 20,
      doubleClickZoomingRatio: 1,
    },
    nodeReducer: (key, data) => ({ ...data, ...vertexDisplay(key) }),
    edgeReducer: (key, data) => ({ ...data, ...edgeDisplay(key) }),
  });
  sigma.on("clickNode", ({ node }) => (selected.value = { kind: "vertex", key: node }));
  sigma.on("clickEdge", ({ edge }) => (selected.value = { kind: "edge", key: edge }));
  sigma.on("clickStage", () => (selected.value = null));
  sigma.on("doubleClickNode", ({ node, preventSigmaDefault }) => {
    preventSigmaDefault();
    void expand(node);
  });
  sigma.on("nodeDragEnd", ({ allDraggedNodes }) => allDraggedNodes.forEach((key) => pin(key, true)));
  return sigma;
}

/** A ring around a vertex says that it is selected, or pinned. */
const RING_SELECTED: Ring = { width: 3, gap: 3 };
const RING_PINNED: Ring = { width: 1.5, gap: 2 };
const RING_NONE: Ring = { width: 0, gap: 0 };

function vertexDisplay(key: string) {
  const { color: fill, size, caption, isHidden } = look(key);
  const isSelected = selected.value?.key === key;
  const isPinned = graph.getNodeAttribute(key, "fixed");
  return {
    color: fill,
    ...withRing(size, isSelected ? RING_SELECTED : isPinned ? RING_PINNED : RING_NONE),
    ringColor: color(isSelected ? "accent-text" : "muted"),
    gapColor: color("ground"),
    label: caption,
    labelColor: color("text"),
    labelFont: FONT,
    labelVisibility: isSelected ? ("visible" as const) : ("auto" as const),
    visibility: isHidden ? ("hidden" as const) : ("visible" as const),
  };
}

function edgeDisplay(key: string) {
  const edge = edgeOf(key);
  const isSelected = selected.value?.key === key;
  const isNear = isSelected || graph.extremities(key).includes(selected.value?.key ?? "");
  const isNamed = graph.size <= NAMES_MAX || isSelected || (isNear && graph.degree(selected.value!.key) <= NAMES_MAX);
  return {
    label: edge.label,
    color: color(isNear ? "accent-text" : "edge"),
    labelVisibility: isNamed ? ("visible" as const) : ("hidden" as const),
    labelColor: color("muted"),
    labelFont: FONT,
    labelSize: 11,
    size: isSelected ? 3 : isLarge() ? 0.7 : 1.4,
    parallelPath: isLarge() ? "straight" : "curved",
    visibility:
      isHidden(edgeStyle(edge.label)) || (isLarge() && isLayingOut.value) ? ("hidden" as const) : ("visible" as const),
  };
}
