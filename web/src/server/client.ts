// Requests to the server: the token of whoever is logged in, and errors as problem documents say them.

import { signal } from "@preact/signals";
import { parse, stringify, type JsonObject } from "./exact";

/** Why a request failed: the server's own words, which may have several lines. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly detail: string,
  ) {
    super(detail);
  }
}

const TOKEN = "mangrove.token";

/** The token of whoever is logged in. */
export const token = signal<string | null>(sessionStorage.getItem(TOKEN));
/** Whether the server wants a name and a password. */
export const loginWanted = signal(false);

export function keepToken(text: string | null): void {
  token.value = text;
  if (text === null) sessionStorage.removeItem(TOKEN);
  else sessionStorage.setItem(TOKEN, text);
}

/** Sends a request. Every answer that is no success is a `Problem`; one for strangers shows the login, too. */
export async function send(path: string, options: RequestInit = {}): Promise<Response> {
  const headers = new Headers(options.headers);
  if (token.value !== null) headers.set("authorization", `Bearer ${token.value}`);
  const response = await reach(path, { ...options, headers });
  if (response.ok) return response;
  if (response.status === 401) {
    keepToken(null);
    loginWanted.value = true;
  }
  throw await problemOf(response);
}

export async function reach(path: string, options: RequestInit): Promise<Response> {
  try {
    return await fetch(`/api${path}`, options);
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new Problem(0, "The server gave no answer. It is not running, or it broke the answer off.");
  }
}

export async function problemOf(response: Response): Promise<Problem> {
  const text = await response.text();
  try {
    const { detail } = JSON.parse(text) as { detail?: string };
    if (detail !== undefined) return new Problem(response.status, detail);
  } catch {
    // It is no document: its text says it.
  }
  return new Problem(response.status, text.trim() || `The server answers ${response.status} ${response.statusText}.`);
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

export async function get<T = JsonObject>(path: string): Promise<T> {
  return parse(await (await send(path)).text()) as T;
}

export async function post<T = JsonObject>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  const response = await send(path, { ...jsonBody(body), signal });
  const text = await response.text();
  return (text === "" ? null : parse(text)) as T;
}

export async function remove(path: string): Promise<void> {
  await send(path, { method: "DELETE" });
}

export function jsonBody(body: unknown): RequestInit {
  return { method: "POST", headers: { "content-type": "application/json" }, body: stringify(body) };
}

/** What to show a person about an error. */
export function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
