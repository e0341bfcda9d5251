// Serves the page while it is written, as the binary does, and passes everything else on to a running `mangrove serve`.
//
//   npm run dev -- --server 127.0.0.1:8182 --port 5173

import { createServer, request } from "node:http";
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { context } from "esbuild";
import { buildPage, options } from "./build.mjs";

const { values } = parseArgs({
  options: { server: { type: "string", default: "127.0.0.1:8182" }, port: { type: "string", default: "5173" } },
});
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self'; " +
  "worker-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const FILES = {
  "/": ["index.html", "text/html; charset=utf-8"],
  "/explorer/explorer.js": ["explorer.js", "text/javascript"],
  "/explorer/explorer.css": ["explorer.css", "text/css"],
  "/explorer/icon.svg": ["icon.svg", "image/svg+xml"],
  "/explorer/licences.txt": ["licences.txt", "text/plain; charset=utf-8"],
};

await buildPage();
await (await context(options)).watch();

createServer((incoming, outgoing) => {
  const file = FILES[new URL(incoming.url, "http://page").pathname];
  return file ? show(file, outgoing) : pass(incoming, outgoing);
}).listen(Number(values.port), "127.0.0.1", () => console.log(`http://127.0.0.1:${values.port}`));

function show([name, type], outgoing) {
  outgoing.writeHead(200, { "content-type": type, "content-security-policy": POLICY, "cache-control": "no-cache" });
  outgoing.end(readFileSync(`${options.outdir}/${name}`));
}

/** The server refuses pages of other origins: so this one says it is the server's own. */
function pass(incoming, outgoing) {
  const [hostname, port] = values.server.split(":");
  const headers = { ...incoming.headers, host: values.server };
  delete headers.origin;
  const onward = request({ hostname, port, path: incoming.url, method: incoming.method, headers }, (answer) => {
    outgoing.writeHead(answer.statusCode, answer.headers);
    answer.pipe(outgoing);
    answer.on("aborted", () => outgoing.destroy());
  });
  onward.on("error", () => (outgoing.headersSent ? outgoing.destroy() : outgoing.writeHead(502).end()));
  outgoing.on("close", () => onward.destroy());
  incoming.pipe(onward);
}
