// The query in the editor, and what became of the last one that ran.

import { batch, signal } from "@preact/signals";
import * as api from "../server/api";
import { isAbort, wordsOf } from "../server/client";
import { isObject, parse, type Json } from "../server/exact";
import { BrokenOff, stream, type Query } from "../server/stream";
import { isGraph } from "../elements/find";
import { count } from "../elements/text";
import { database, readSchema } from "../session";
import { showResults } from "../graph/fill";
import { past, remember } from "./history";

export type What = "results" | "explain" | "profile";
export type Tab = "table" | "json" | "graph" | "explain" | "profile";

/** The most results that are shown. */
const ROWS_MAX = 10_000;
/** More results show as a table first. */
const DRAWN_MAX = 2000;

export const text = signal(past.peek()[0]?.text ?? "g.V().limit(25)");
export const parameters = signal(past.peek()[0]?.parameters ?? "");

export const isRunning = signal(false);
export const seconds = signal(0);
export const rows = signal<Json[]>([]);
export const tab = signal<Tab>("table");
/** What to know about the results, such as that they are not all. */
export const note = signal<string | null>(null);
export const error = signal<string | null>(null);
export const explanation = signal<api.Explanation | null>(null);
export const profile = signal<api.Profile | null>(null);
/** Whether something ran at all. */
export const hasRun = signal(false);

let abort = new AbortController();
let isStopped = false;

export function stop(): void {
  isStopped = true;
  abort.abort();
}

export async function run(what: What): Promise<void> {
  const name = database.value;
  if (isRunning.value || name === null || text.value.trim() === "") return;
  abort = new AbortController();
  isStopped = false;
  clear(what);
  const began = Date.now();
  const tabBefore = tab.value;
  const clock = setInterval(() => (seconds.value = (Date.now() - began) / 1000), 100);
  try {
    const query = asked();
    if (what === "explain") explanation.value = await api.explain(name, query, abort.signal);
    else if (what === "profile") profile.value = await api.profile(name, query, abort.signal);
    else await readRows(name, query);
  } catch (failure) {
    fail(failure);
  }
  clearInterval(clock);
  seconds.value = (Date.now() - began) / 1000;
  isRunning.value = false;
  if (what === "results") {
    if (tab.value === tabBefore) tab.value = tabFor(rows.value, tabBefore);
    void showResults(rows.value);
  }
  const results = error.value === null ? (profile.value?.results ?? rows.value.length) : null;
  if (what !== "explain") keepInHistory(name, began, results);
  if (what !== "explain" && /\b(addV|addE|property|drop|mergeV|mergeE)\b/.test(text.value)) void readSchema();
}

function clear(what: What): void {
  batch(() => {
    [isRunning.value, hasRun.value, seconds.value, error.value, note.value] = [true, true, 0, null, null];
    [rows.value, explanation.value, profile.value] = [[], null, null];
    if (what !== "results") tab.value = what;
    else if (tab.value === "explain" || tab.value === "profile") tab.value = "table";
  });
}

/** The query with its parameters. */
function asked(): Query {
  if (parameters.value.trim() === "") return { gremlin: text.value };
  let read: Json;
  try {
    read = parse(parameters.value);
  } catch {
    throw new Error('The parameters are no JSON. Write them as {"x": 1}.');
  }
  if (!isObject(read)) throw new Error('The parameters are no JSON object. Write them as {"x": 1}.');
  return { gremlin: text.value, parameters: read };
}

async function readRows(name: string, query: Query): Promise<void> {
  let isCut = false;
  const take = (more: Json[]): boolean => {
    const all = [...rows.value, ...more];
    isCut = all.length > ROWS_MAX;
    rows.value = isCut ? all.slice(0, ROWS_MAX) : all;
    return !isCut;
  };
  await stream(name, query, abort, take);
  if (isCut) note.value = `The first ${count(ROWS_MAX)} results. Add limit(), or export the graph with mangrove export.`;
}

/** Elements and paths show as a graph, unless they are too many to see. */
function tabFor(results: Json[], before: Tab): Tab {
  if (results.length <= DRAWN_MAX && isGraph(results)) return "graph";
  return before === "json" ? "json" : "table";
}

function fail(failure: unknown): void {
  const some = count(rows.value.length);
  if (isAbort(failure) && isStopped)
    note.value = rows.value.length === 0 ? "Stopped." : `Stopped. These ${some} results are not all.`;
  else if (failure instanceof BrokenOff)
    error.value = `The query failed after ${some} results. They are not all. Profile shows why it failed.`;
  else error.value = wordsOf(failure);
}

function keepInHistory(name: string, at: number, results: number | null): void {
  remember({ text: text.value, parameters: parameters.value, database: name, at, seconds: seconds.value, results });
}

// Results belong to one database.
database.subscribe(() => {
  [hasRun.value, error.value, note.value] = [false, null, null];
  [rows.value, explanation.value, profile.value] = [[], null, null];
});
