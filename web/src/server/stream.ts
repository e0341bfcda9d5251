// The results of a query, one document a line, as they come.

import { isAbort, jsonBody, Problem, send } from "./client";
import { parse, type Json } from "./exact";

/** Says that a response broke off: the query failed after some results. */
export class BrokenOff extends Error {}

export interface Query {
  gremlin: string;
  parameters?: { [name: string]: Json };
}

/** Gives results in batches. Ends early if `take` returns false; the server then ends the query. */
export async function stream(
  database: string,
  query: Query,
  abort: AbortController,
  take: (rows: Json[]) => boolean,
): Promise<void> {
  const body = jsonBody(query);
  const headers = { ...(body.headers as Record<string, string>), accept: "application/x-ndjson" };
  const path = `/databases/${encodeURIComponent(database)}/query`;
  const response = await send(path, { ...body, headers, signal: abort.signal });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await next(reader);
    if (done) break;
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    if (lines.length > 0 && !take(lines.map(parse))) {
      abort.abort();
      return;
    }
  }
}

async function next(reader: ReadableStreamDefaultReader<string>): Promise<ReadableStreamReadResult<string>> {
  try {
    return await reader.read();
  } catch (error) {
    if (isAbort(error) || error instanceof Problem) throw error;
    throw new BrokenOff();
  }
}
