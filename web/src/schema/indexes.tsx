// The indexes, and making and removing them.

import { useState } from "preact/hooks";
import { dropIndex, makeIndex, type Index, type Schema } from "../server/api";
import { wordsOf } from "../server/client";
import { database, readSchema, whyNotAdmin } from "../session";
import { Action, Alert, Field, Select } from "../ui/parts";

export function Indexes({ of }: { of: Schema }) {
  const [why, setWhy] = useState<string | null>(null);
  const change = async (work: Promise<unknown>) => {
    setWhy(null);
    await work.catch((error: unknown) => setWhy(wordsOf(error)));
    await readSchema();
  };
  const drop = (index: Index) => void change(dropIndex(database.value!, index));
  return (
    <section aria-label="Indexes">
      <h2>Indexes</h2>
      {of.indexes.length === 0 && <p class="hint">There is none. An index finds elements by a property without a scan.</p>}
      {of.indexes.length > 0 && (
        <table>
          <thead>
            <tr>
              <th>of</th>
              <th>label</th>
              <th>property</th>
              <th>unique</th>
              <th />
            </tr>
          </thead>
          <tbody>
            {of.indexes.map((index) => (
              <tr key={`${index.kind}.${index.label}.${index.key}`}>
                <td>{index.kind === "vertex" ? "vertices" : "edges"}</td>
                <td>{index.label}</td>
                <td>{index.key}</td>
                <td>{index.unique ? "yes" : "no"}</td>
                <td>
                  <Action why={whyNotAdmin.value} onClick={() => drop(index)}>
                    Remove
                  </Action>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <NewIndex of={of} make={(index) => void change(makeIndex(database.value!, index))} />
      <Alert of={why} />
    </section>
  );
}

function NewIndex({ of, make }: { of: Schema; make: (index: Index) => void }) {
  const [kind, setKind] = useState<Index["kind"]>("vertex");
  const labels = kind === "vertex" ? of.vertexLabels : of.edgeLabels;
  const [chosenLabel, setLabel] = useState("");
  const label = chosenLabel in labels ? chosenLabel : (Object.keys(labels)[0] ?? "");
  const keys = Object.keys(labels[label]?.properties ?? {});
  const [chosenKey, setKey] = useState("");
  const key = keys.includes(chosenKey) ? chosenKey : (keys[0] ?? "");
  const [unique, setUnique] = useState(false);
  const named = (names: string[]): [string, string][] => names.map((name) => [name, name]);
  return (
    <div class="fields" role="group" aria-label="A new index">
      <Field label="Of">
        <Select
          value={kind}
          of={[
            ["vertex", "vertices"],
            ["edge", "edges"],
          ]}
          choose={(chosen) => setKind(chosen as Index["kind"])}
        />
      </Field>
      <Field label="Label">
        <Select value={label} of={named(Object.keys(labels))} choose={setLabel} />
      </Field>
      <Field label="Property">
        <Select value={key} of={named(keys)} choose={setKey} />
      </Field>
      <label class="check">
        <input type="checkbox" checked={unique} onChange={(event) => setUnique(event.currentTarget.checked)} />
        Unique
      </label>
      <Action
        why={whyNotAdmin.value ?? (key === "" ? "The label has no properties." : null)}
        onClick={() => make({ kind, label, key, unique })}
      >
        Make an index
      </Action>
    </div>
  );
}
