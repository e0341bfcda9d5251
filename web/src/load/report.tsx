// What a load did: counts, and warnings with the lines of the file that they are about.

import type { JsonObject } from "../server/exact";
import { counted } from "../elements/text";

export function Report({ of }: { of: JsonObject }) {
  const warnings = of.warnings as string[];
  const rejects = Number(of.rejects);
  return (
    <>
      <p role="status">
        {counted(Number(of.vertices), "vertex", "vertices")} and {counted(Number(of.edges), "edge")} stored, with{" "}
        {counted(Number(of.properties), "property", "properties")}.
      </p>
      {rejects > 0 && <p class="note">{counted(rejects, "row")} left out.</p>}
      {warnings.length > 0 && (
        <div class="note">
          <strong>{counted(warnings.length, "warning")}</strong>
          <ul>
            {warnings.map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
        </div>
      )}
    </>
  );
}
