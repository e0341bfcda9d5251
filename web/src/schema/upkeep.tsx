// Checking, compressing and backing up the database, as jobs.

import { useState } from "preact/hooks";
import { beginJob } from "../server/api";
import type { JsonObject } from "../server/exact";
import { bytes, counted, textOf } from "../elements/text";
import { database, readSchema, whyNotAdmin } from "../session";
import { Task, TaskView } from "../ui/job";
import { Action, Field } from "../ui/parts";

const task = new Task();
const NAMES: { [todo: string]: string } = { check: "Check", compact: "Compress", backup: "Backup" };

// Jobs belong to one database.
database.subscribe(() => task.forget());

export function Upkeep() {
  const [name, setName] = useState("");
  const begin = (todo: object) => task.run(() => beginJob(database.value!, todo), readSchema);
  const off = whyNotAdmin.value ?? (task.isRunning ? "A job is running." : null);
  const todo = task.job.value?.do ?? "";
  return (
    <section aria-label="Upkeep">
      <h2>Upkeep</h2>
      <div class="fields">
        <Action why={off} title="Read everything, and report every contradiction" onClick={() => void begin({ do: "check" })}>
          Check
        </Action>
        <Action why={off} title="Compress the whole database" onClick={() => void begin({ do: "compact" })}>
          Compress
        </Action>
        <Field label="Name of a backup" hint="It goes to the directory that --backups names.">
          <input value={name} onInput={(event) => setName(event.currentTarget.value)} />
        </Field>
        <Action
          why={off ?? (name === "" ? "The backup needs a name." : null)}
          onClick={() => void begin({ do: "backup", name })}
        >
          Back up
        </Action>
      </div>
      <TaskView
        of={task}
        name={NAMES[todo] ?? todo}
        canStop={todo === "compact"}
        summary={(of) => <p role="status">{outcome(todo, of)}</p>}
      />
    </section>
  );
}

function outcome(todo: string, summary: JsonObject): string {
  if (todo === "compact") return `The compressed segments take ${bytes(Number(summary.segmentBytes))}.`;
  if (todo === "backup") return `The backup is named ${textOf(summary.name)}.`;
  const violations = summary.violations as string[];
  if (violations.length > 0) return `${counted(Number(summary.violationsTotal), "contradiction")}: ${violations.join("; ")}`;
  const [vertices, edges] = [Number(summary.vertices), Number(summary.edges)];
  return `No contradictions in ${counted(vertices, "vertex", "vertices")} and ${counted(edges, "edge")}.`;
}
