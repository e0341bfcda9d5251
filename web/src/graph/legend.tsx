// The labels in view. Each can get another colour and caption, or be hidden. And the values that are shown as colour or size.

import { useState } from "preact/hooks";
import { captionKey, count } from "../elements/text";
import { Field, Select } from "../ui/parts";
import { graph, labels, vertexOf } from "./model";
import { captionOf, colorOf, edgeStyle, isHidden, limitsOf, measure, SCALE, setStyle, styles, type Measure } from "./style";

export function Legend() {
  const [open, setOpen] = useState<string | null>(null);
  const { vertices, edges } = labels.value;
  return (
    <section class="legend" aria-label="Legend">
      {measure.value !== null && <Values measure={measure.value} />}
      <h3>Vertices</h3>
      <ul>
        {[...vertices].map(([label, number]) => (
          <li key={label}>
            <div class="legend-line">
              <button class="quiet entry" aria-expanded={open === label} onClick={() => setOpen(open === label ? null : label)}>
                <span class="dot" style={{ background: colorOf(label) }} />
                {label} <span class="muted">{count(number)}</span>
              </button>
              <Hide name={label} of={label} />
            </div>
            {open === label && <Style label={label} />}
          </li>
        ))}
      </ul>
      {edges.size > 0 && <h3>Edges</h3>}
      <ul>
        {[...edges].map(([label, number]) => (
          <li key={label} class="legend-line">
            <span class="entry">
              <span class="dash" />
              {label} <span class="muted">{count(number)}</span>
            </span>
            <Hide name={label} of={edgeStyle(label)} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Hide({ name, of }: { name: string; of: string }) {
  const hidden = isHidden(of);
  return (
    <button class="quiet" aria-pressed={hidden} aria-label={`Hide ${name}`} onClick={() => setStyle(of, { isHidden: !hidden })}>
      {hidden ? "Show" : "Hide"}
    </button>
  );
}

const BY_ID = "";

function Style({ label }: { label: string }) {
  const first = graph.findNode((_, { vertex }) => vertex.label === label);
  if (first === undefined) return null;
  const keys = new Set(
    graph.filterNodes((_, { vertex }) => vertex.label === label).flatMap((key) => Object.keys(vertexOf(key).properties)),
  );
  const chosen = styles.value.get(label)?.caption;
  const now = (chosen === undefined ? captionKey(vertexOf(first)) : chosen) ?? BY_ID;
  return (
    <div class="style-box">
      <Field label="Colour">
        <input type="color" value={colorOf(label)} onInput={(event) => setStyle(label, { color: event.currentTarget.value })} />
      </Field>
      <Field label="Caption" hint={`Such as ${captionOf(first)}`}>
        <Select
          value={now}
          of={[[BY_ID, "the id"], ...[...keys].map((key): [string, string] => [key, key])]}
          choose={(key) => setStyle(label, { caption: key === BY_ID ? null : key })}
        />
      </Field>
    </div>
  );
}

/** What colours or sizes mean, while they show values. */
function Values({ measure: shown }: { measure: Measure }) {
  const { low, high } = limitsOf(shown);
  return (
    <div class="measure">
      <h3>
        {shown.name} as {shown.as === "color" ? "colour" : "size"}
      </h3>
      {shown.as === "color" && !shown.isGroups && (
        <div class="scale" style={{ background: `linear-gradient(90deg, ${SCALE.join()})` }} />
      )}
      {shown.isGroups && <p>Each group has a colour.</p>}
      {!shown.isGroups && Number.isFinite(low) && (
        <p class="ends">
          <span>{low.toPrecision(3)}</span>
          <span>{high.toPrecision(3)}</span>
        </p>
      )}
      <button onClick={() => (measure.value = null)}>Show labels again</button>
    </div>
  );
}
