// The analytics tab: choose an algorithm and its options, run it as a job, and see its values in a table or in the graph.

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import * as api from "../server/api";
import { wordsOf } from "../server/client";
import type { JsonObject } from "../server/exact";
import { textOf } from "../elements/text";
import { database, readSchema, schema, whyNotWrite } from "../session";
import { Task, TaskView } from "../ui/job";
import { Action, Field, Select } from "../ui/parts";
import { Labels, Option, todoOf, type Choices } from "./options";
import { Outcome } from "./outcome";
import { Values } from "./values";

const known = signal<api.Algorithm[]>([]);
const name = signal("pagerank");
const nothing: Choices = { options: {}, vertices: [], edges: [], weight: "", directed: true, write: "" };
const choices = signal<Choices>(nothing);
const task = new Task();
const values = signal<Values | null>(null);

export function AnalyzePage() {
  useEffect(() => {
    if (known.value.length === 0)
      api.algorithms().then(
        (read) => (known.value = read),
        (error: unknown) => (task.why.value = wordsOf(error)),
      );
  }, []);
  const algorithm = known.value.find((one) => one.name === name.value);
  return (
    <div class="sheet">
      <section aria-label="Algorithm">
        <h2>Algorithm</h2>
        <Select label="Algorithm" value={name.value} of={known.value.map((one) => [one.name, one.name])} choose={pick} />
        {algorithm && <p class="about">{algorithm.description}</p>}
        {algorithm && <Form of={algorithm} />}
      </section>
      <TaskView of={task} name={name.value} canStop summary={(of) => <Summary of={of} />} />
      {values.value !== null && <Outcome name={name.value} values={values.value} />}
    </div>
  );
}

function pick(chosen: string): void {
  name.value = chosen;
  choices.value = { ...choices.value, options: {} };
  forget();
}

function forget(): void {
  values.value = null;
  task.forget();
}

// Labels and values belong to one database.
database.subscribe(() => {
  choices.value = nothing;
  forget();
});

function Form({ of }: { of: api.Algorithm }) {
  const now = choices.value;
  const change = (some: Partial<Choices>) => (choices.value = { ...now, ...some });
  const keys = new Set(Object.values(schema.value?.edgeLabels ?? {}).flatMap(({ properties }) => Object.keys(properties)));
  return (
    <>
      <div class="fields">
        {of.options.map((option) => (
          <Option
            key={option.name}
            of={option}
            value={now.options[option.name] ?? ""}
            set={(value) => change({ options: { ...now.options, [option.name]: value } })}
          />
        ))}
      </div>
      <div class="fields">
        <Labels
          title="Vertices"
          of={Object.keys(schema.value?.vertexLabels ?? {})}
          chosen={now.vertices}
          set={(vertices) => change({ vertices })}
        />
        <Labels
          title="Edges"
          of={Object.keys(schema.value?.edgeLabels ?? {})}
          chosen={now.edges}
          set={(edges) => change({ edges })}
        />
        {of.takesWeights && (
          <Field label="Weight">
            <Select
              value={now.weight}
              of={[["", "each edge weighs 1"], ...[...keys].map((key): [string, string] => [key, key])]}
              choose={(weight) => change({ weight })}
            />
          </Field>
        )}
        {of.givesValues && (
          <Field label="Write the values to" hint={whyNotWrite.value ?? "A property of the vertices. Empty: show them only."}>
            <input
              disabled={whyNotWrite.value !== null}
              value={now.write}
              onInput={(event) => change({ write: event.currentTarget.value })}
            />
          </Field>
        )}
        <label class="check">
          <input
            type="checkbox"
            checked={now.directed}
            onChange={(event) => change({ directed: event.currentTarget.checked })}
          />
          Edges have a direction
        </label>
      </div>
      <Action kind="main" why={task.isRunning ? "It is running." : null} onClick={() => void run(of)}>
        Run
      </Action>
    </>
  );
}

async function run(algorithm: api.Algorithm): Promise<void> {
  values.value = null;
  const begin = async () => api.beginJob(database.value!, todoOf(algorithm, choices.value));
  await task.run(begin, async (ended) => {
    if (ended.hasValues) values.value = await Values.of(ended.id);
    else if (ended.state === "done") await readSchema();
  });
}

function Summary({ of }: { of: JsonObject }) {
  return (
    <p role="status">
      {Object.entries(of)
        .map(([key, value]) => `${key}: ${textOf(value)}`)
        .join(", ")}
    </p>
  );
}
