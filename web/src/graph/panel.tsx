// What is selected: its label, id and properties, and what can be done with it.

import { useState } from "preact/hooks";
import type { JsonObject } from "../server/exact";
import { textOf } from "../elements/text";
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
  const { id, label: own, furtherLabels, properties } = vertexOf(of);
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
      <Properties of={{ label: [own, ...(furtherLabels ?? [])].join(", "), id: id as never }} properties={properties} />
    </>
  );
}

function EdgePanel({ of }: { of: string }) {
  const { id, label, properties } = edgeOf(of);
  const [from, to] = graph.extremities(of);
  return (
    <>
      <h3>{label}</h3>
      <p>
        <button class="link" onClick={() => focus(from)}>
          {captionOf(from)}
        </button>
        {" → "}
        <button class="link" onClick={() => focus(to)}>
          {captionOf(to)}
        </button>
      </p>
      <Properties of={{ id: id as never }} properties={properties} />
    </>
  );
}

function Properties({ of, properties }: { of: JsonObject; properties: JsonObject }) {
  const line = (key: string, text: string, isOwn: boolean) => (
    <div key={`${isOwn}${key}`}>
      <dt class={isOwn ? "own" : ""}>{key}</dt>
      <dd>{text}</dd>
    </div>
  );
  return (
    <dl class="properties">
      {Object.entries(of).map(([key, value]) => line(key, textOf(value), true))}
      {Object.entries(properties).map(([key, value]) => line(key, textOf(value), false))}
    </dl>
  );
}
