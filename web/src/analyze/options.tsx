// The options of an algorithm, by their kinds, and the labels that it looks at.

import type { Algorithm, AlgorithmOption } from "../server/api";
import { parse, type Json } from "../server/exact";
import { Field, Select } from "../ui/parts";

export interface Choices {
  /** What was written into the field of each option. */
  options: { [name: string]: string };
  vertices: string[];
  edges: string[];
  weight: string;
  directed: boolean;
  write: string;
}

/** The body of the request for a job. What was left empty is left out. */
export function todoOf(algorithm: Algorithm, choices: Choices): object {
  const given = algorithm.options.filter(({ name }) => (choices.options[name] ?? "").trim() !== "");
  const options = Object.fromEntries(
    given.map((option) => [option.name, valueOf(option, choices.options[option.name]!.trim())]),
  );
  const { vertices, edges, directed } = choices;
  const weight = algorithm.takesWeights ? choices.weight : "";
  const write = algorithm.givesValues ? choices.write : "";
  return {
    do: "analyze",
    algorithm: algorithm.name,
    options,
    directed,
    ...(vertices.length > 0 && { vertices }),
    ...(edges.length > 0 && { edges }),
    ...(weight !== "" && { weight }),
    ...(write !== "" && { write }),
  };
}

function valueOf({ name, kind }: AlgorithmOption, text: string): Json {
  if (kind === "flag") return text === "true";
  // An id that reads as an integer is one, as in files. Any other is a text.
  if (kind === "vertex") return /^(0|-?[1-9]\d*)$/.test(text) ? parse(text) : text.replace(/^"(.*)"$/, "$1");
  try {
    return parse(text);
  } catch {
    throw new Error(`${name} is no ${kind === "vertexWeights" ? "object of ids and weights" : "number"}: ${text}`);
  }
}

const HINTS = {
  real: "a number",
  count: "a whole number",
  flag: "",
  vertex: "the id of a vertex",
  vertexWeights: '{"id": weight, …}',
};

export function Option({ of, value, set }: { of: AlgorithmOption; value: string; set: (value: string) => void }) {
  const usual = of.default === null ? HINTS[of.kind] : of.default;
  return (
    <Field label={of.name} hint={of.description}>
      {of.kind === "flag" ? (
        <Select
          value={value}
          of={[
            ["", `as usual (${usual})`],
            ["true", "yes"],
            ["false", "no"],
          ]}
          choose={set}
        />
      ) : (
        <input value={value} placeholder={usual} onInput={(event) => set(event.currentTarget.value)} />
      )}
    </Field>
  );
}

/** Labels to choose from. None chosen means all. */
export function Labels(props: { title: string; of: string[]; chosen: string[]; set: (labels: string[]) => void }) {
  const { title, of, chosen, set } = props;
  const toggle = (label: string) => set(chosen.includes(label) ? chosen.filter((one) => one !== label) : [...chosen, label]);
  return (
    <fieldset>
      <legend>
        {title} {chosen.length === 0 && <small>of all labels</small>}
      </legend>
      <div class="labels">
        {of.map((label) => (
          <label class="check" key={label}>
            <input type="checkbox" checked={chosen.includes(label)} onChange={() => toggle(label)} />
            {label}
          </label>
        ))}
      </div>
    </fieldset>
  );
}
