// Results as a table. Only the rows that are seen are made, so that ten thousand stay quick.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Json } from "../server/exact";
import { Exact } from "../server/exact";
import { columnsOf } from "../elements/columns";
import { textOf } from "../elements/text";
import { isVertex, type Vertex } from "../elements/types";

const ROW_HEIGHT = 29;
/** Rows above and below those that are seen. */
const SPARE = 15;

export function Table(props: { rows: Json[]; showVertex: (vertex: Vertex) => void }) {
  const { rows } = props;
  const columns = useMemo(() => columnsOf(rows), [rows]);
  const host = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => setHeight(entry!.contentRect.height));
    watch.observe(host.current!);
    return () => watch.disconnect();
  }, []);
  const first = Math.max(0, Math.floor(top / ROW_HEIGHT) - SPARE);
  const last = Math.min(rows.length, Math.ceil((top + height) / ROW_HEIGHT) + SPARE);
  const links = rows.some(isVertex);
  return (
    <div
      class="table"
      ref={host}
      tabIndex={0}
      aria-label="Results"
      role="region"
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
    >
      <table aria-rowcount={rows.length + 1}>
        <thead>
          <tr>
            <th class="number">#</th>
            {columns.map(({ name }) => (
              <th key={name}>{name}</th>
            ))}
            {links && <th />}
          </tr>
        </thead>
        <tbody>
          <Gap rows={first} />
          {rows.slice(first, last).map((row, at) => (
            <tr key={first + at} aria-rowindex={first + at + 2}>
              <td class="number muted">{first + at + 1}</td>
              {columns.map(({ name, cell }) => (
                <Cell key={name} value={cell(row)} />
              ))}
              {links && <td>{isVertex(row) && <Show vertex={row} show={props.showVertex} />}</td>}
            </tr>
          ))}
          <Gap rows={rows.length - last} />
        </tbody>
      </table>
    </div>
  );
}

function Gap({ rows }: { rows: number }) {
  return rows > 0 ? <tr aria-hidden="true" style={{ height: `${rows * ROW_HEIGHT}px` }} /> : null;
}

function Cell({ value }: { value: Json | undefined }) {
  if (value === null) return <td class="muted">null</td>;
  const text = textOf(value);
  const isNumber = typeof value === "number" || value instanceof Exact;
  return (
    <td class={isNumber ? "number" : ""} title={text.length > 40 ? text : undefined}>
      {text}
    </td>
  );
}

function Show(props: { vertex: Vertex; show: (vertex: Vertex) => void }) {
  return (
    <button class="link" aria-label={`Show in graph: ${props.vertex.id}`} onClick={() => props.show(props.vertex)}>
      Show in graph
    </button>
  );
}
