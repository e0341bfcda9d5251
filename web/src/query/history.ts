// The queries that ran, the newest first. The browser keeps them for this server.

import { signal } from "@preact/signals";

export interface Past {
  text: string;
  parameters: string;
  database: string;
  /** When it began, in milliseconds. */
  at: number;
  seconds: number;
  /** The number of results, or null if it failed. */
  results: number | null;
}

const KEY = "mangrove.history";
const MOST = 200;

export const past = signal<Past[]>(read());

function read(): Past[] {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "[]") as Past[];
  } catch {
    return [];
  }
}

/** The same query is kept once: as it ran last. */
export function remember(query: Past): void {
  const isOther = ({ text, database }: Past) => text !== query.text || database !== query.database;
  keep([query, ...past.value.filter(isOther)].slice(0, MOST));
}

export function forgetAll(): void {
  keep([]);
}

function keep(queries: Past[]): void {
  past.value = queries;
  try {
    localStorage.setItem(KEY, JSON.stringify(queries));
  } catch {
    // The browser keeps nothing more: the history then ends with the page.
  }
}
