// How the text of a query is coloured: Gremlin in the manner of Groovy.

import { HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { tags } from "@lezer/highlight";

interface State {
  quote: string | null;
}

const gremlin = StreamLanguage.define<State>({
  name: "gremlin",
  startState: () => ({ quote: null }),
  token(stream, state) {
    if (state.quote !== null) return restOfString(state, () => stream.next());
    if (stream.eatSpace()) return null;
    if (stream.match("//")) return (stream.skipToEnd(), "comment");
    const quote = stream.match(/^('''|"""|'|")/) as RegExpMatchArray | null;
    if (quote) {
      state.quote = quote[0];
      return restOfString(state, () => stream.next());
    }
    if (stream.match(/^-?\d[\d_]*(\.\d+)?([eE][+-]?\d+)?[bBsSiIlLfFdDmMnN]?\b/)) return "number";
    if (stream.match(/^[A-Za-z_$][\w$]*(?=\s*\()/)) return "function";
    if (stream.match(/^(true|false|null|new)\b/)) return "keyword";
    if (stream.match(/^[A-Za-z_$][\w$]*/)) return "variableName";
    stream.next();
    return null;
  },
  tokenTable: { function: tags.function(tags.variableName) },
});

/** Reads to the end of the string, or of the line: a string in three quotes goes on in the next one. */
function restOfString(state: State, next: () => string | void): string {
  const quote = state.quote!;
  let seen = "";
  for (let char = next(); char; char = next()) {
    if (char === "\\") next();
    seen = char === "\\" ? "" : (seen + char).slice(-quote.length);
    if (seen === quote) {
      state.quote = null;
      return "string";
    }
  }
  if (quote.length === 1) state.quote = null;
  return "string";
}

const colors = HighlightStyle.define([
  { tag: tags.function(tags.variableName), color: "var(--accent-text)" },
  { tag: tags.string, color: "var(--code-string)" },
  { tag: tags.number, color: "var(--code-number)" },
  { tag: tags.keyword, color: "var(--code-number)" },
  { tag: tags.comment, color: "var(--muted)", fontStyle: "italic" },
]);

export const gremlinLanguage = [gremlin, syntaxHighlighting(colors)];
