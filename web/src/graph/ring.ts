// A ring around a vertex: it is part of its disc, so that edges end at the ring, and their arrowheads stay in sight.
//
//   | ring | gap |        fill        | gap | ring |

import type { FragmentLayer } from "sigma/rendering";

/** Widths in pixels. */
export interface Ring {
  width: number;
  gap: number;
}

/** What the layer reads of a vertex. Shares are of the radius: they stay as they are when one comes nearer. */
export const ringVariables = {
  ringColor: { type: "color", default: "#000000" },
  gapColor: { type: "color", default: "#ffffff" },
  ringShare: { type: "number", default: 0 },
  gapShare: { type: "number", default: 0 },
} as const;

/** The disc of a vertex of this size with a ring. */
export function withRing(size: number, { width, gap }: Ring): { size: number; ringShare: number; gapShare: number } {
  const whole = size + gap + width;
  return { size: whole, ringShare: width / whole, gapShare: gap / whole };
}

export function layerRing(): FragmentLayer {
  const { FLOAT, UNSIGNED_BYTE } = WebGL2RenderingContext;
  const colorOf = (name: string) => ({ name, size: 4 as const, type: UNSIGNED_BYTE, normalized: true, source: name });
  const numberOf = (name: string) => ({ name, size: 1 as const, type: FLOAT, source: name });
  return {
    name: "ring",
    uniforms: [],
    attributes: [colorOf("ringColor"), colorOf("gapColor"), numberOf("ringShare"), numberOf("gapShare")],
    glsl: `
vec4 layer_ring(vec4 v_ringColor, vec4 v_gapColor, float v_ringShare, float v_gapShare) {
  if (v_ringShare == 0.0) return vec4(0.0);
  float depth = -context.sdf / context.shapeSize;
  float soft = context.aaWidth / context.shapeSize;
  float isGap = smoothstep(v_ringShare - soft, v_ringShare + soft, depth);
  float isFill = smoothstep(v_ringShare + v_gapShare - soft, v_ringShare + v_gapShare + soft, depth);
  return mix(mix(v_ringColor, v_gapColor, isGap), vec4(0.0), isFill);
}
`,
  };
}
