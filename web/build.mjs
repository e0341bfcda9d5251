// Builds the page: one script, one style sheet, and the licences of all that is in them. The same inputs give the same bytes.

import { readdirSync, readFileSync, writeFileSync, copyFileSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const HERE = dirname(fileURLToPath(import.meta.url));
const OUT = join(HERE, "../crates/server/explorer");
const ALLOWED = new Set(["MIT", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "ISC"]);

export const options = {
  absWorkingDir: HERE,
  entryPoints: { explorer: "src/main.tsx" },
  outdir: OUT,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  metafile: true,
  logLevel: "warning",
  define: { "process.env.NODE_ENV": '"production"' },
};

export async function buildPage() {
  mkdirSync(OUT, { recursive: true });
  const { metafile } = await build(options);
  for (const name of ["index.html", "icon.svg"]) copyFileSync(join(HERE, "src", name), join(OUT, name));
  writeFileSync(join(OUT, "licences.txt"), licences(metafile));
}

/** The licence of each package that gave bytes to the page. Fails if one has no text, or terms that we do not take. */
function licences(metafile) {
  const roots = Object.keys(metafile.inputs).map((path) => path.match(/^node_modules\/(@[^/]+\/)?[^/]+/)?.[0]);
  const texts = [...new Set(roots)]
    .filter(Boolean)
    .sort()
    .map((root) => {
      const { name, version, license } = JSON.parse(readFileSync(join(HERE, root, "package.json"), "utf8"));
      if (!ALLOWED.has(license)) throw new Error(`${name} has the licence ${license}`);
      return `${name} ${version} (${license})\n\n${licenceText(join(HERE, root), name)}\n`;
    });
  return texts.join(`\n${"-".repeat(80)}\n\n`);
}

function licenceText(root, name) {
  const file = readdirSync(root).find((file) => /^licen[cs]e/i.test(file));
  if (!file) throw new Error(`${name} comes without the text of its licence`);
  return readFileSync(join(root, file), "utf8").trim();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildPage();
