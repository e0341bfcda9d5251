// The lines between discs in SVG pictures: straight ones, bows beside each other, and loops around each other.

export interface Disc {
  x: number;
  y: number;
  r: number;
}

export interface Curve {
  path: string;
  /** The place of its name. */
  x: number;
  y: number;
  anchor: "start" | "middle" | "end";
}

const BEND = 50;
const LOOP = 46;

/** The curve of one of several edges between the same two discs. `at` counts them, and `away` is where loops lead. */
export function curve(from: Disc, to: Disc, at: number, all: number, away = -Math.PI / 2): Curve {
  const off = at - (all - 1) / 2;
  return from === to ? loop(from, away + off * 0.9) : bow(from, to, off * BEND);
}

function bow(from: Disc, to: Disc, bend: number): Curve {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const length = Math.max(Math.hypot(dx, dy), 1e-6);
  // The side does not depend on the direction: so opposite edges do not lie on each other.
  const side = dx > 0 || (dx === 0 && dy > 0) ? bend : -bend;
  const [mx, my] = [(from.x + to.x) / 2 - (dy / length) * side, (from.y + to.y) / 2 + (dx / length) * side];
  const path = `M${rim(from, mx, my)}Q${point(mx, my)} ${rim(to, mx, my)}`;
  return { path, ...beside((from.x + 2 * mx + to.x) / 4, (from.y + 2 * my + to.y) / 4, dx, dy) };
}

/** The place of a name beside a point of a line: above a flat line, and to the right of a steep one. */
function beside(x: number, y: number, dx: number, dy: number): Omit<Curve, "path"> {
  if (Math.abs(dy) < Math.abs(dx) / 4) return { x, y: y - 5, anchor: "middle" };
  return { x: x + 6, y: y + (dx * dy > 0 ? -4 : 14), anchor: "start" };
}

function loop({ x, y, r }: Disc, turn: number): Curve {
  const reach = r + LOOP;
  const on = (angle: number, far: number) => point(x + far * Math.cos(turn + angle), y + far * Math.sin(turn + angle));
  const path = `M${on(-0.35, r)}C${on(-0.45, reach)} ${on(0.45, reach)} ${on(0.35, r)}`;
  const far = (3 * reach + r) / 4 + 8;
  const [right, down] = [Math.cos(turn), Math.sin(turn)];
  const anchor = right < -0.3 ? "end" : right > 0.3 ? "start" : "middle";
  return { path, x: x + far * right, y: y + far * down + 4, anchor };
}

/** Where a line from the middle of a disc to a point leaves the disc. */
function rim({ x, y, r }: Disc, toX: number, toY: number): string {
  const [dx, dy] = [toX - x, toY - y];
  const far = Math.max(Math.hypot(dx, dy), 1e-6);
  return point(x + (dx / far) * r, y + (dy / far) * r);
}

function point(x: number, y: number): string {
  return `${x.toFixed(1)} ${y.toFixed(1)}`;
}
