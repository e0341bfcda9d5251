// The place in a query that an error message shows:
//
//   unknown step `outt`
//     |
//   1 | g.V().outt()
//     |       ^^^^ did you mean `out`?

interface Place {
  from: number;
  to: number;
}

/** Where the message points to in the text, or null if it shows no place. */
export function placeOf(message: string, text: string): Place | null {
  const lines = message.split("\n");
  const at = lines.findIndex((line) => /^\d+ \| /.test(line));
  const shown = lines[at]?.match(/^(\d+) \| (.*)$/);
  const marks = lines[at + 1]?.match(/^ *\| ( *)(\^+)/);
  if (!shown || !marks) return null;
  const line = Number(shown[1]);
  const starts = text
    .split("\n")
    .slice(0, line - 1)
    .reduce((sum, before) => sum + before.length + 1, 0);
  const own = text.split("\n")[line - 1] ?? "";
  // Long lines are cut: what is shown then begins with an ellipsis.
  const [before, marked] = [marks[1]!.length, marks[2]!.length];
  const source = shown[2]!;
  const cut = source.startsWith("…") ? own.indexOf(source.slice(1).replace(/…$/, "")) - 1 : 0;
  const from = Math.min(starts + Math.max(0, cut) + before, text.length);
  return { from, to: Math.min(from + marked, text.length) };
}
