// Whether things move on the page. Who asks the system for less motion gets none.

const reduced = matchMedia("(prefers-reduced-motion: reduce)");

export const isStill = (): boolean => reduced.matches;
