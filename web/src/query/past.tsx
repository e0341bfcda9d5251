// The history: queries that ran, with a search. A click puts one into the editor.

import { useState } from "preact/hooks";
import { counted, duration } from "../elements/text";
import { choose, database } from "../session";
import { SearchField, SidePanel } from "../ui/parts";
import { forgetAll, past, type Past } from "./history";
import { parameters, text } from "./run";

export function HistoryPanel({ close }: { close: () => void }) {
  const [wanted, want] = useState("");
  const found = past.value.filter((query) => query.text.toLowerCase().includes(wanted.toLowerCase()));
  const tools = (
    <>
      <SearchField label="Search the history" value={wanted} set={want} />
      <button onClick={forgetAll} title="Forget all queries">
        Clear
      </button>
    </>
  );
  return (
    <SidePanel label="History" close={close} tools={tools}>
      {found.length === 0 && (
        <p class="hint">{past.value.length === 0 ? "Queries that ran show here." : "No query has this text."}</p>
      )}
      <ul>
        {found.map((query) => (
          <li key={`${query.at}${query.text}`}>
            <button class="quiet past" onClick={() => take(query)}>
              <code>{query.text}</code>
              <small>{factsOf(query).join(" · ")}</small>
            </button>
          </li>
        ))}
      </ul>
    </SidePanel>
  );
}

/** When it ran, what it gave, how long it took, and where, if that is not here. */
function factsOf({ at, results, seconds, database: where }: Past): string[] {
  const gave = results === null ? "failed" : counted(results, "result");
  const facts = [new Date(at).toLocaleString(), gave, duration(seconds)];
  return where === database.value ? facts : [...facts, where];
}

function take(query: Past): void {
  text.value = query.text;
  parameters.value = query.parameters;
  if (query.database !== database.value) choose(query.database);
}
