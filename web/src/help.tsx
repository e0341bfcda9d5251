// The keys of the page, and where its parts come from.

import { signal } from "@preact/signals";
import { Dialog } from "./ui/dialog";

export const isHelp = signal(false);

const KEYS: [string, string][] = [
  ["Ctrl-Enter, ⌘-Enter", "Run the query"],
  ["Ctrl-Space", "Show what may come next"],
  ["Tab", "Leave the editor"],
  ["Alt-1 to Alt-4", "Open a tab"],
  ["← →", "In a row of tabs: the one beside"],
  ["← → ↑ ↓", "In the graph: move"],
  ["+ and -", "In the graph: nearer and farther"],
  ["0", "In the graph: show the whole"],
  ["Enter, after a search", "Go to the first vertex that was found"],
  ["?", "Show these keys"],
];

export function Help() {
  return (
    <Dialog title="Keys" onClose={() => (isHelp.value = false)}>
      <table>
        <tbody>
          {KEYS.map(([keys, does]) => (
            <tr key={keys + does}>
              <td>
                <kbd>{keys}</kbd>
              </td>
              <td>{does}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p>
        The list beside the graph shows the same vertices as text. The page uses open software: see its{" "}
        <a href="/explorer/licences.txt" target="_blank" rel="noopener">
          licences
        </a>
        .
      </p>
    </Dialog>
  );
}
