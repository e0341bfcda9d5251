// The load tab: choose a file, see its first rows, say what they are, load them, and read the report.

import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import * as api from "../server/api";
import { bytes } from "../elements/text";
import { database, readSchema, whyNotWrite } from "../session";
import { Task, TaskView } from "../ui/job";
import { Action } from "../ui/parts";
import { previewOf, renamed, TYPES, type Preview } from "./file";
import { Plan, planFor, problemOf, renamesOf, type Rows } from "./plan";
import { Report } from "./report";

interface Chosen {
  file: File;
  preview: Preview;
}

const chosen = signal<Chosen | null>(null);
const plan = signal<Rows | null>(null);
const task = new Task();

export function LoadPage() {
  const file = chosen.value;
  return (
    <div class="sheet">
      {whyNotWrite.value !== null && <p class="note">{whyNotWrite.value}</p>}
      <fieldset disabled={whyNotWrite.value !== null}>
        <Wizard file={file} />
      </fieldset>
      <TaskView of={task} title="3. Report" name="The load" canStop summary={(of) => <Report of={of} />} />
    </div>
  );
}

function Wizard({ file }: { file: Chosen | null }) {
  return (
    <>
      <section aria-label="File">
        <h2>1. Choose a file</h2>
        <Drop />
      </section>
      {file !== null && (
        <section aria-label="Preview">
          <h2>
            {file.file.name} <span class="muted">{bytes(file.file.size)}</span>
          </h2>
          <FirstRows of={file.preview} />
        </section>
      )}
      {file !== null && plan.value !== null && (
        <section aria-label="Rows">
          <h2>2. Say what the rows are</h2>
          <Plan of={plan.value} columns={file.preview.columns} change={(rows) => (plan.value = rows)} />
          <Action
            kind="main"
            why={whyNotWrite.value ?? (task.isRunning ? "A load is running." : problemOf(plan.value))}
            onClick={() => void load(file, plan.value!)}
          >
            Load
          </Action>{" "}
          <span class="hint">{problemOf(plan.value) ?? "All rows are stored, or none."}</span>
        </section>
      )}
    </>
  );
}

async function take(file: File | undefined): Promise<void> {
  if (!file) return;
  const preview = await previewOf(file);
  task.forget();
  chosen.value = { file, preview };
  plan.value = planFor(file.name, preview.columns);
}

async function load({ file, preview }: Chosen, rows: Rows): Promise<void> {
  const names = renamesOf(rows);
  const sent = names.size > 0 ? renamed(file, preview, names) : file;
  const begin = () => api.ingest(database.value!, rows.parameters(), TYPES[preview.form], sent);
  await task.run(begin, readSchema, (job) => naming(job, file.name));
}

/** The server calls the file `rows`. A person knows it by its own name. */
function naming(job: api.Job, name: string): api.Job {
  const named = (text: string) => text.replace(/\brows(?=:\d)/g, () => name);
  const warnings = ((job.summary?.warnings ?? []) as string[]).map(named);
  return { ...job, error: job.error && named(job.error), summary: job.summary && { ...job.summary, warnings } };
}

function Drop() {
  const [isOver, setOver] = useState(false);
  const over = (is: boolean) => (event: DragEvent) => {
    event.preventDefault();
    setOver(is);
  };
  const drop = (event: DragEvent) => {
    over(false)(event);
    if (whyNotWrite.value === null) void take(event.dataTransfer?.files[0]);
  };
  return (
    <label class={isOver ? "drop over" : "drop"} onDragOver={over(true)} onDragLeave={over(false)} onDrop={drop}>
      <p>Drop a file here, or choose one: CSV, JSON lines or Parquet.</p>
      <input
        type="file"
        aria-label="File to load"
        accept=".csv,.tsv,.psv,.jsonl,.ndjson,.parquet,.pq,.gz,.zst"
        onChange={(event) => void take(event.currentTarget.files?.[0])}
      />
    </label>
  );
}

function FirstRows({ of }: { of: Preview }) {
  if (of.columns.length === 0) return <p class="hint">The page shows no preview of this file. The server reads it whole.</p>;
  return (
    <div class="preview" tabIndex={0} role="region" aria-label="First rows">
      <table>
        <thead>
          <tr>
            {of.columns.map((column) => (
              <th key={column}>{column}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {of.rows.map((row, at) => (
            <tr key={at}>
              {row.map((field, column) => (
                <td key={column}>{field}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
