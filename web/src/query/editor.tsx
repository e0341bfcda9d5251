// The editor of queries.

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching } from "@codemirror/language";
import { setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { effect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { complete } from "./completion";
import { gremlinLanguage } from "./gremlin";
import { placeOf } from "./place";
import { error, run, text } from "./run";

export function Editor() {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const view = new EditorView({ parent: host.current!, state: EditorState.create({ doc: text.peek(), extensions }) });
    view.focus();
    const stops = [effect(() => follow(view, text.value)), effect(() => mark(view, error.value))];
    return () => {
      stops.forEach((stop) => stop());
      view.destroy();
    };
  }, []);
  return <div class="editor" ref={host} />;
}

const runKey = { key: "Mod-Enter", run: () => (void run("results"), true), preventDefault: true };

const extensions = [
  keymap.of([runKey, ...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, ...defaultKeymap]),
  lineNumbers(),
  history(),
  drawSelection(),
  bracketMatching(),
  closeBrackets(),
  autocompletion({ override: [complete], icons: false }),
  gremlinLanguage,
  placeholder("g.V().limit(10)"),
  EditorView.lineWrapping,
  EditorView.contentAttributes.of({ "aria-label": "Query", spellcheck: "false" }),
  EditorView.updateListener.of((update) => {
    if (update.docChanged) text.value = update.state.doc.toString();
  }),
];

/** Shows a text that came from elsewhere, such as the history. */
function follow(view: EditorView, wanted: string): void {
  const now = view.state.doc.toString();
  if (now === wanted) return;
  view.dispatch({ changes: { from: 0, to: now.length, insert: wanted }, selection: { anchor: wanted.length } });
}

/** Underlines what an error message points to. */
function mark(view: EditorView, message: string | null): void {
  const place = message === null ? null : placeOf(message, view.state.doc.toString());
  const marks = place === null ? [] : [{ ...place, severity: "error" as const, message: message!.split("\n")[0]! }];
  view.dispatch(setDiagnostics(view.state, marks));
}
