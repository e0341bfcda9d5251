// The tabs of the page, and which one is open.

import { signal } from "@preact/signals";

type PageName = "query" | "schema" | "load" | "analytics";

export const PAGES: [PageName, string][] = [
  ["query", "Query"],
  ["schema", "Schema"],
  ["load", "Load"],
  ["analytics", "Analytics"],
];

export const page = signal<PageName>("query");
