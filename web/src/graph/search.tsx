// Finds a vertex in view by its caption, its id or a property.

import { useState } from "preact/hooks";
import { textOf } from "../elements/text";
import { SearchField } from "../ui/parts";
import { focus } from "./focus";
import { graph, vertexOf } from "./model";
import { captionOf } from "./style";

const SHOWN_MAX = 12;

export function Search() {
  const [wanted, want] = useState("");
  const found = wanted.trim() === "" ? [] : matches(wanted.trim().toLowerCase());
  const go = (key: string) => {
    want("");
    focus(key);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Enter" && found[0] !== undefined) go(found[0]);
    if (event.key === "Escape") want("");
  };
  return (
    <div class="search">
      <SearchField label="Find a vertex" value={wanted} set={want} onKeyDown={onKey} />
      {wanted.trim() !== "" && (
        <ul class="found">
          {found.length === 0 && <li class="muted">No vertex in view has it.</li>}
          {found.map((key) => (
            <li key={key}>
              <button class="quiet" onClick={() => go(key)}>
                {captionOf(key)} <small>{vertexOf(key).label}</small>
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** Those whose caption begins with it come first. */
function matches(wanted: string): string[] {
  const begins = (key: string) => captionOf(key).toLowerCase().startsWith(wanted);
  const holds = graph.nodes().filter((key) => {
    const { id, properties } = vertexOf(key);
    return [captionOf(key), String(id), ...Object.values(properties).map(textOf)].some((text) =>
      text.toLowerCase().includes(wanted),
    );
  });
  return [...holds.filter(begins), ...holds.filter((key) => !begins(key))].slice(0, SHOWN_MAX);
}
