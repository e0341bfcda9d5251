// The vertices in view as a list, for those who cannot see or point at the picture.

import { textOf, counted } from "../elements/text";
import { graph, selected, version, vertexOf } from "./model";
import { captionOf } from "./style";

const SHOWN_MAX = 1000;

export function List() {
  version.value;
  const keys = graph.nodes();
  return (
    <div class="list">
      <table aria-label="Vertices in view">
        <thead>
          <tr>
            <th>Vertex</th>
            <th>Label</th>
            <th>Id</th>
            <th>Edges in view</th>
          </tr>
        </thead>
        <tbody>
          {keys.slice(0, SHOWN_MAX).map((key) => (
            <Line key={key} of={key} />
          ))}
        </tbody>
      </table>
      {keys.length > SHOWN_MAX && (
        <p class="hint">{counted(keys.length - SHOWN_MAX, "vertex", "vertices")} more are not listed.</p>
      )}
    </div>
  );
}

function Line({ of }: { of: string }) {
  version.value;
  const { label, id } = vertexOf(of);
  return (
    <tr aria-current={selected.value?.key === of}>
      <td>
        <button class="link" onClick={() => (selected.value = { kind: "vertex", key: of })}>
          {captionOf(of)}
        </button>
      </td>
      <td>{label}</td>
      <td>{textOf(id as never)}</td>
      <td class="number">{graph.degree(of)}</td>
    </tr>
  );
}
