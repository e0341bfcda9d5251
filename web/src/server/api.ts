// The resources of the server that the page uses, with their types.

import { get, keepToken, post, problemOf, reach, remove, send, jsonBody } from "./client";
import { parse, type Exact, type Json, type JsonObject } from "./exact";
import type { Query } from "./stream";

export type Role = "read" | "write" | "admin";

export interface Databases {
  databases: { name: string; readOnly: boolean }[];
  role: Role;
  /** Who is logged in, on a server with users. */
  user: string | null;
}

export interface Property {
  types: string[];
  declared: string | null;
  cardinality: string;
  encoding: string;
}

export interface Label {
  count: number;
  properties: { [key: string]: Property };
}

export interface Index {
  kind: "vertex" | "edge";
  label: string;
  key: string;
  unique: boolean;
}

export interface Schema {
  vertices: number;
  edges: number;
  vertexLabels: { [label: string]: Label };
  edgeLabels: { [label: string]: Label };
  indexes: Index[];
  diskBytes: number;
  segmentBytes: number;
  segments: number;
  freeBytes: number;
  /** The parts of the compressed segments. */
  segment: { of: string; label: string | null; part: string; bytes: number; form: string }[];
}

export interface Language {
  steps: { name: string; description: string }[];
  words: string[];
  members: { [word: string]: string[] };
}

export interface AlgorithmOption {
  name: string;
  kind: "real" | "count" | "flag" | "vertex" | "vertexWeights";
  default: string | null;
  description: string;
}

export interface Algorithm {
  name: string;
  description: string;
  takesWeights: boolean;
  /** Whether it gives a value for each vertex, which can be written. */
  givesValues: boolean;
  options: AlgorithmOption[];
}

export interface Job {
  id: number;
  do: string;
  database: string;
  state: "running" | "done" | "failed" | "cancelled";
  seconds: number;
  progress?: { stage: string; done: number; of: number | null };
  summary?: JsonObject;
  hasValues?: boolean;
  error?: string;
}

export interface ExplainedStep {
  step: string;
  depth: number;
  first: boolean;
  access: string | null;
  hint: string | null;
  expected: number;
  flow: string;
}

export interface Explanation {
  original: string;
  rules: { rule: string; plan: string }[];
  steps: ExplainedStep[];
}

export interface ProfiledStep {
  step: string;
  depth: number;
  first: boolean;
  time_us: number;
  batches: number;
  rows: number;
  traversers: number;
  expected: number | null;
  messages: number;
  helped: number;
  threads: number;
}

export interface Profile {
  time_us: number;
  results: number;
  steps: ProfiledStep[];
}

export type Id = string | number | Exact;

const of = (database: string) => `/databases/${encodeURIComponent(database)}`;

export const databases = () => get<Databases>("/databases");
export const schemaOf = (database: string) => get<Schema>(of(database));
export const language = () => get<Language>("/language");
export const algorithms = async () => (await get<{ algorithms: Algorithm[] }>("/algorithms")).algorithms;
export const explain = (database: string, query: Query, signal: AbortSignal) =>
  post<Explanation>(`${of(database)}/explain`, query, signal);
export const profile = (database: string, query: Query, signal: AbortSignal) =>
  post<Profile>(`${of(database)}/profile`, query, signal);

/** The longest time of a query that the page runs by itself. */
const OWN_MS = 10_000;

/** The results of a query of this page itself, which are few. */
export async function ask<T = Json>(database: string, gremlin: string, parameters: { [name: string]: Json }): Promise<T[]> {
  const query = { gremlin, parameters, timeoutMs: OWN_MS };
  return (await post<{ results: T[] }>(`${of(database)}/query`, query)).results;
}

export const makeIndex = (database: string, index: Index) => post<null>(`${of(database)}/indexes`, index);
export const dropIndex = (database: string, { kind, label, key }: Index) =>
  remove(`${of(database)}/indexes?${new URLSearchParams({ kind, label, key })}`);

export const beginJob = (database: string, todo: object) => post<Job>(`${of(database)}/jobs`, todo);
export const job = (id: number) => get<Job>(`/jobs/${id}`);
export const stopJob = (id: number) => remove(`/jobs/${id}`);
/** One line of the values of an algorithm. Some algorithms give pairs. A vertex without a value has none here. */
export interface Value {
  id: Id;
  other?: Id;
  value?: Json;
}

export async function valuesOf(id: number, largest?: number): Promise<Value[]> {
  const part = largest === undefined ? "" : `?largest=${largest}`;
  const response = await send(`/jobs/${id}/values${part}`, { headers: { accept: "application/json" } });
  return (parse(await response.text()) as unknown as { values: Value[] }).values;
}

export async function ingest(database: string, what: Record<string, string>, type: string, rows: Blob): Promise<Job> {
  const path = `${of(database)}/ingest?${new URLSearchParams({ ...what, background: "true" })}`;
  const response = await send(path, { method: "POST", headers: { "content-type": type }, body: rows });
  return (await response.json()) as Job;
}

/** Gets a token for a name and a password, and keeps it. */
export async function logIn(name: string, password: string): Promise<void> {
  const response = await reach("/tokens", jsonBody({ name, password }));
  if (!response.ok) throw await problemOf(response);
  keepToken(((await response.json()) as { token: string }).token);
}

export async function logOut(): Promise<void> {
  await remove("/tokens").catch(() => undefined);
  keepToken(null);
}
