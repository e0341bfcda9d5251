// What a load did: counts, warnings, and rows that were left out.

import type { Json, JsonObject } from "../server/exact";
import { counted, textOf } from "../elements/text";

export function Report({ of }: { of: JsonObject }) {
  const rejects = listOf(of.rejects);
  const warnings = listOf(of.warnings);
  return (
    <div>
      <p role="status">
        {counted(Number(of.vertices), "vertex", "vertices")} and {counted(Number(of.edges), "edge")} stored, with{" "}
        {counted(Number(of.properties), "property", "properties")}.
      </p>
      <Lines title="Warnings" of={warnings} />
      <Lines title="Rows that were left out" of={rejects} />
    </div>
  );
}

function listOf(value: Json | undefined): string[] {
  if (Array.isArray(value)) return value.map(textOf);
  return value === undefined || value === 0 || value === null ? [] : [textOf(value)];
}

function Lines({ title, of }: { title: string; of: string[] }) {
  if (of.length === 0) return null;
  return (
    <div class="note">
      <strong>{title}</strong>
      <ul>
        {of.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </div>
  );
}
