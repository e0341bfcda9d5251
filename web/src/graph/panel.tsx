// What is selected: its label, id and properties, and what can be done with it.

import { useState } from "preact/hooks";
import { repeatsId } from "../elements/columns";
import { textOf } from "../elements/text";
import type { Edge, Vertex } from "../elements/types";
import { schema } from "../session";
import { Action, Field, Select } from "../ui/parts";
import { expand, type Direction } from "./fill";
import { focus } from "./focus";
import { edgeOf, graph, pin, removeVertex, selected, version, vertexOf } from "./model";
import { captionOf } from "./style";

export function Panel() {
  const now = selected.value;
  if (now === null) return <p class="hint">Click a vertex to see it. Double click brings its neighbours. Drag pins it.</p>;
  return (
    <section class="panel" aria-label="Selected">
      {now.kind === "vertex" ? <VertexPanel key={now.key} of={now.key} /> : <EdgePanel of={now.key} />}
    </section>
  );
}

const ANY = "";
const DIRECTIONS: [Direction, string][] = [
  ["both", "both ways"],
  ["out", "outgoing"],
  ["in", "incoming"],
];

function VertexPanel({ of }: { of: string }) {
  version.value;
  const [direction, setDirection] = useState<Direction>("both");
  const [label, setLabel] = useState(ANY);
  const vertex = vertexOf(of);
  const labels = [vertex.label, ...(vertex.furtherLabels ?? [])];
  const isPinned = graph.getNodeAttribute(of, "fixed");
  const names = Object.keys(schema.value?.edgeLabels ?? {}).map((name): [string, string] => [name, name]);
  return (
    <>
      <h3>{captionOf(of)}</h3>
      <div class="fields">
        <Field label="Edges">
          <Select value={label} of={[[ANY, "of all labels"], ...names]} choose={setLabel} />
        </Field>
        <Field label="Direction">
          <Select value={direction} of={DIRECTIONS} choose={(chosen) => setDirection(chosen as Direction)} />
        </Field>
      </div>
      <div class="actions">
        <Action kind="main" onClick={() => void expand(of, direction, label === ANY ? null : label)}>
          Expand
        </Action>
        <Action onClick={() => pin(of, !isPinned)} isPressed={isPinned}>
          {isPinned ? "Unpin" : "Pin"}
        </Action>
        <Action onClick={() => removeVertex(of)}>Remove from view</Action>
      </div>
      <Properties of={vertex} own={{ label: labels.join(", "), id: textOf(vertex.id) }} />
    </>
  );
}

function EdgePanel({ of }: { of: string }) {
  const edge = edgeOf(of);
  const [from, to] = graph.extremities(of);
  return (
    <>
      <h3>{edge.label}</h3>
      <p>
        <button class="link" onClick={() => focus(from)}>
          {captionOf(from)}
        </button>
        {" → "}
        <button class="link" onClick={() => focus(to)}>
          {captionOf(to)}
        </button>
      </p>
      <Properties of={edge} own={{ id: textOf(edge.id) }} />
    </>
  );
}

/** Its own facts, and its properties. A property that says the id again is left out. */
function Properties({ of, own }: { of: Vertex | Edge; own: { [name: string]: string } }) {
  const line = (key: string, text: string, isOwn: boolean) => (
    <div key={`${isOwn}${key}`}>
      <dt class={isOwn ? "own" : ""}>{key}</dt>
      <dd>{text}</dd>
    </div>
  );
  return (
    <dl class="properties">
      {Object.entries(own).map(([key, text]) => line(key, text, true))}
      {Object.entries(of.properties).map(([key, value]) => !repeatsId(of, key) && line(key, textOf(value), false))}
    </dl>
  );
}
