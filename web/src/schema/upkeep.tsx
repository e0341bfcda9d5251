// Checking, compressing and backing up the database, as jobs.

import { useState } from "preact/hooks";
import { beginJob, type Job } from "../server/api";
import { wordsOf } from "../server/client";
import type { JsonObject } from "../server/exact";
import { follow } from "../server/follow";
import { bytes, counted, textOf } from "../elements/text";
import { database, readSchema, whyNotAdmin } from "../session";
import { JobCard } from "../ui/job";
import { Action, Field } from "../ui/parts";

const NAMES: { [todo: string]: string } = { check: "Check", compact: "Compress", backup: "Backup" };

export function Upkeep() {
  const [job, setJob] = useState<Job | null>(null);
  const [name, setName] = useState("");
  const [why, setWhy] = useState<string | null>(null);
  const begin = async (todo: object) => {
    setWhy(null);
    try {
      await follow(await beginJob(database.value!, todo), setJob);
      await readSchema();
    } catch (error) {
      setWhy(wordsOf(error));
    }
  };
  const off = whyNotAdmin.value ?? (job?.state === "running" ? "A job is running." : null);
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
      {why !== null && (
        <p class="error" role="alert">
          {why}
        </p>
      )}
      {job !== null && <JobCard job={job} name={NAMES[job.do] ?? job.do} canStop={job.do === "compact"} />}
      {job?.summary && <p role="status">{outcome(job.do, job.summary)}</p>}
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
