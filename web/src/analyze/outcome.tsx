// What an algorithm found: the greatest values as a table, and all of them as colours or sizes in the graph.

import { useEffect, useMemo, useState } from "preact/hooks";
import { ask, type Id } from "../server/api";
import type { Json } from "../server/exact";
import { caption, captionKey, count, textOf } from "../elements/text";
import type { Vertex } from "../elements/types";
import { showVertices } from "../graph/fill";
import { graph, vertexOf } from "../graph/model";
import { measure, type Measure } from "../graph/style";
import { hasRun, tab } from "../query/run";
import { database } from "../session";
import { page } from "../tabs";
import { Action } from "../ui/parts";
import type { Values } from "./values";

const SHOWN = 50;
const LOADED = 200;

export function Outcome({ name, values }: { name: string; values: Values }) {
  const [isLeastFirst, setLeastFirst] = useState(false);
  const lines = useMemo(() => values.top(SHOWN, isLeastFirst), [values, isLeastFirst]);
  const names = useNames(lines.map(([id]) => id as Id));
  return (
    <section aria-label="Values">
      <h2>
        Values <span class="muted">{count(values.count)}</span>
      </h2>
      <div class="toolbar">
        <InGraph
          name={name}
          values={values}
          why={values.isOfVertices ? null : "These are not values of vertices."}
          isLeastFirst={isLeastFirst}
        />
        {values.isNumbers && values.isAll && (
          <Action onClick={() => setLeastFirst(!isLeastFirst)}>{isLeastFirst ? "Greatest first" : "Least first"}</Action>
        )}
      </div>
      <table aria-label="Values">
        <thead>
          <tr>
            {values.columns.map((column) => (
              <th key={column}>{column}</th>
            ))}
            <th>vertex</th>
          </tr>
        </thead>
        <tbody>
          {lines.map((line, at) => (
            <tr key={at}>
              {line.map((cell, column) => (
                <td key={column} class={typeof cell === "number" ? "number" : ""}>
                  {short(cell)}
                </td>
              ))}
              <td>{names.get(String(line[0]))}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {values.count > SHOWN && <p class="hint">The first {SHOWN} are shown.</p>}
      {!values.isAll && <p class="note">There are more values than the server sends at once. These are the largest.</p>}
    </section>
  );
}

/** The captions of vertices, once the server has given them. */
function useNames(ids: Id[]): Map<string, string> {
  const [names, setNames] = useState(new Map<string, string>());
  useEffect(() => {
    const named = (vertex: Vertex): [string, string] => [String(vertex.id), caption(vertex, captionKey(vertex))];
    ask<Vertex>(database.value ?? "", "g.V(ids)", { ids }).then(
      (found) => setNames(new Map(found.map(named))),
      () => undefined,
    );
  }, [ids.join("\u0000")]);
  return names;
}

/** A real number with six digits: more are hard to read. */
function short(cell: Json | undefined): string {
  return typeof cell === "number" && !Number.isInteger(cell) ? String(Number(cell.toPrecision(6))) : textOf(cell);
}

interface InGraphProps {
  name: string;
  values: Values;
  why: string | null;
  isLeastFirst: boolean;
}

function InGraph({ name, values, why, isLeastFirst }: InGraphProps) {
  const show = (as: Measure["as"], isGroups: boolean) => {
    measure.value = measureOf(name, values, as, isGroups);
    openGraph();
  };
  const load = async () => {
    await showVertices(values.top(LOADED, isLeastFirst).map(([id]) => id as Id));
    show(values.isNumbers ? "size" : "color", !values.isNumbers);
  };
  const whyNumbers = why ?? (values.isNumbers ? null : "The values are no numbers.");
  const whyView = graph.order === 0 ? "The view is empty: run a query, or load the first vertices." : null;
  return (
    <div class="actions" role="group" aria-label="Show in the graph">
      <Action why={whyNumbers ?? whyView} onClick={() => show("color", false)}>
        Show as colour
      </Action>
      <Action why={whyNumbers ?? whyView} onClick={() => show("size", false)}>
        Show as size
      </Action>
      <Action why={why ?? whyView} onClick={() => show("color", true)} title="A colour for each value, such as a component">
        Show as groups
      </Action>
      <Action why={why} onClick={() => void load()}>
        Load the first {LOADED} into the view
      </Action>
    </div>
  );
}

/** The values of the vertices in view. */
function measureOf(name: string, values: Values, as: Measure["as"], isGroups: boolean): Measure {
  const keys = graph.nodes();
  const idOf = (key: string) => String(vertexOf(key).id);
  const found = values.of(new Set(keys.map(idOf)));
  const own = keys.flatMap((key): [string, number][] => {
    const value = found.get(idOf(key));
    return value === undefined ? [] : [[key, value]];
  });
  return { name, as, values: new Map(own), isGroups };
}

function openGraph(): void {
  hasRun.value = true;
  tab.value = "graph";
  page.value = "query";
}
