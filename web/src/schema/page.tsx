// The schema tab: the picture, labels with their properties, indexes, sizes, and upkeep for those who may.

import { useEffect, useState } from "preact/hooks";
import type { Label, Schema } from "../server/api";
import { wordsOf } from "../server/client";
import { bytes, count, counted } from "../elements/text";
import { run, text } from "../query/run";
import { database, readSchema, schema } from "../session";
import { page } from "../tabs";
import { connections, EDGES_SAMPLE, VERTICES_SAMPLE, type Connection } from "./ends";
import { Indexes } from "./indexes";
import { Picture } from "./picture";
import { Upkeep } from "./upkeep";

export function SchemaPage() {
  const known = schema.value;
  useEffect(() => void readSchema(), []);
  if (known === null) return <p class="empty">Reading the schema.</p>;
  return (
    <div class="sheet">
      <Facts of={known} />
      <PictureOf of={known} />
      <div class="columns">
        <Labels title="Vertices" labels={known.vertexLabels} from="g.V()" />
        <Labels title="Edges" labels={known.edgeLabels} from="g.E()" />
      </div>
      <Indexes of={known} />
      <Parts of={known.segment} />
      <Upkeep />
    </div>
  );
}

function Facts({ of }: { of: Schema }) {
  const facts: [string, string][] = [
    [count(of.vertices), of.vertices === 1 ? "vertex" : "vertices"],
    [count(of.edges), of.edges === 1 ? "edge" : "edges"],
    [bytes(of.diskBytes), "on disk"],
    [bytes(of.segmentBytes), `in ${counted(of.segments, "compressed segment")}`],
    [bytes(of.freeBytes), "free inside"],
  ];
  return (
    <section class="facts" aria-label="Sizes">
      {facts.map(([number, what]) => (
        <div key={what}>
          <strong>{number}</strong>
          <span class="muted">{what}</span>
        </div>
      ))}
    </section>
  );
}

function PictureOf({ of }: { of: Schema }) {
  const [found, setFound] = useState<Connection[]>([]);
  const [why, setWhy] = useState<string | null>(null);
  useEffect(() => {
    connections(database.value ?? "", of).then(setFound, (error: unknown) => setWhy(wordsOf(error)));
  }, [of]);
  if (of.vertices === 0) return <p class="empty">The database is empty. Load some rows, or add vertices with a query.</p>;
  return (
    <section aria-label="Picture">
      <Picture schema={of} connections={found} />
      <p class="hint">
        {why ??
          `Which labels an edge label connects comes from a sample: ${count(EDGES_SAMPLE)} edges of each label, and edges of ` +
            `${count(VERTICES_SAMPLE)} vertices of each label. Rare pairs may be missing. Numbers count all edges of a label.`}
      </p>
    </section>
  );
}

function Labels({ title, labels, from }: { title: string; labels: { [label: string]: Label }; from: string }) {
  const ask = (label: string) => {
    text.value = `${from}.hasLabel(${quoted(label)}).limit(25)`;
    page.value = "query";
    void run("results");
  };
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      {Object.entries(labels).map(([label, { count: number, properties }]) => (
        <details key={label} open={Object.keys(labels).length <= 6}>
          <summary>
            <strong>{label}</strong> <span class="muted">{count(number)}</span>{" "}
            <button class="link" aria-label={`Show some: ${label}`} onClick={() => ask(label)}>
              Show some
            </button>
          </summary>
          <Properties of={properties} />
        </details>
      ))}
    </section>
  );
}

function Properties({ of }: { of: Label["properties"] }) {
  if (Object.keys(of).length === 0) return <p class="hint">No properties.</p>;
  return (
    <table>
      <thead>
        <tr>
          <th>property</th>
          <th>types</th>
          <th>values</th>
          <th>encoding</th>
        </tr>
      </thead>
      <tbody>
        {Object.entries(of).map(([key, { types, declared, cardinality, encoding }]) => (
          <tr key={key}>
            <td>{key}</td>
            <td>{declared === null ? types.join(", ") : `${declared} (declared)`}</td>
            <td>{cardinality}</td>
            <td class="muted">{encoding}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** What takes the room of compressed segments, the greatest first. */
function Parts({ of }: { of: Schema["segment"] }) {
  if (of.length === 0) return null;
  return (
    <section aria-label="Compressed parts">
      <details>
        <summary>
          <strong>Compressed parts</strong> <span class="muted">{count(of.length)}</span>
        </summary>
        <table>
          <thead>
            <tr>
              <th>of</th>
              <th>label</th>
              <th>part</th>
              <th class="number">size</th>
              <th>form</th>
            </tr>
          </thead>
          <tbody>
            {of
              .toSorted((a, b) => b.bytes - a.bytes)
              .map(({ of: kind, label, part, bytes: size, form }, at) => (
                <tr key={at}>
                  <td>{kind}</td>
                  <td>{label}</td>
                  <td>{part}</td>
                  <td class="number">{bytes(size)}</td>
                  <td class="muted">{form}</td>
                </tr>
              ))}
          </tbody>
        </table>
      </details>
    </section>
  );
}

/** A text as a query writes it. */
function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, "\\$&").replace(/\n/g, "\\n")}'`;
}
