// What the editor offers while one types: steps and members after a dot, names of the schema inside quotes, words elsewhere.

import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { language, schema } from "../session";
import type { Label } from "../server/api";
import { counted } from "../elements/text";

export function complete(context: CompletionContext): CompletionResult | null {
  const before = context.state.doc.sliceString(0, context.pos);
  const quoted = openString(before);
  if (quoted !== null) return { from: context.pos - quoted.length, options: names(), validFor: /^[^'"]*$/ };
  const dotted = before.match(/([A-Za-z_]\w*|\))?\s*\.\s*(\w*)$/);
  if (dotted) return { from: context.pos - dotted[2]!.length, options: afterDot(dotted[1] ?? ""), validFor: /^\w*$/ };
  const word = before.match(/[A-Za-z_]\w*$/)?.[0] ?? "";
  if (word === "" && !context.explicit) return null;
  return { from: context.pos - word.length, options: words(), validFor: /^\w*$/ };
}

/** The text since the quote that is open, or null outside of strings. */
function openString(before: string): string | null {
  let quote: string | null = null;
  let since = 0;
  for (let at = 0; at < before.length; at++) {
    const char = before[at]!;
    if (quote === null && (char === "'" || char === '"')) [quote, since] = [char, at + 1];
    else if (quote !== null && char === "\\") at++;
    else if (char === quote) quote = null;
  }
  return quote === null ? null : before.slice(since);
}

function afterDot(word: string): Completion[] {
  const members = language.value.members[word];
  if (members) return members.map((label) => ({ label, type: "constant" }));
  return language.value.steps.map(step);
}

function step({ name, description }: { name: string; description: string }): Completion {
  return { label: name, type: "function", info: description };
}

function words(): Completion[] {
  const plain = language.value.words.map((label) => ({ label, type: "keyword" }));
  const { steps } = language.value;
  return [
    ...plain,
    ...steps.filter(({ name }) => !language.value.words.includes(name)).map((one) => ({ ...step(one), boost: -1 })),
  ];
}

/** Labels first, then the keys of properties. */
function names(): Completion[] {
  const known = schema.value;
  if (known === null) return [];
  const of = (labels: { [label: string]: Label }, one: string, many: string): Completion[] =>
    Object.entries(labels).map(([label, { count }]) => ({ label, type: "class", detail: counted(count, one, many), boost: 1 }));
  const keys = [...Object.entries(known.vertexLabels), ...Object.entries(known.edgeLabels)].flatMap(([label, { properties }]) =>
    Object.entries(properties).map(([key, { types }]) => ({ key, label, type: types.join(", ") })),
  );
  const labelsOf = Map.groupBy(keys, ({ key }) => key);
  const properties = [...labelsOf].map(([key, of]) => ({
    label: key,
    type: "property",
    detail: of[0]!.type,
    info: `A property of ${of.map(({ label }) => label).join(", ")}`,
  }));
  return [...of(known.vertexLabels, "vertex", "vertices"), ...of(known.edgeLabels, "edge", "edges"), ...properties];
}
