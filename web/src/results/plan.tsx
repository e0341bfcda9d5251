// A plan or a profile as a tree: a step a line, those of a child below their parent, with numbers beside them.

import type { ExplainedStep, Explanation, Profile, ProfiledStep } from "../server/api";
import { count, counted } from "../elements/text";

interface Row {
  step: string;
  depth: number;
  first: boolean;
}

export function ExplainView({ of }: { of: Explanation }) {
  const hints = of.steps.flatMap(({ hint }) => hint ?? []);
  return (
    <div class="plan" tabIndex={0} role="region" aria-label="Plan">
      <Tree
        label="Plan"
        steps={of.steps}
        columns={[
          ["expected", (step) => rounded(step.expected)],
          ["flow", (step) => step.flow],
          ["access", (step) => <Access step={step} />],
        ]}
      />
      {hints.map((hint) => (
        <p class="note" key={hint}>
          {hint}
        </p>
      ))}
      <h3>{of.rules.length === 0 ? "No rule changed the query." : `${counted(of.rules.length, "rule")} changed the query`}</h3>
      <dl class="rules">
        <dt>original</dt>
        <dd>{of.original}</dd>
        {of.rules.map(({ rule, plan }) => (
          <>
            <dt>{rule}</dt>
            <dd>{plan}</dd>
          </>
        ))}
      </dl>
    </div>
  );
}

export function ProfileView({ of }: { of: Profile }) {
  const most = Math.max(1, ...of.steps.map(({ time_us }) => time_us));
  const time = (step: ProfiledStep) => (
    <span class="time">
      <span class="track">
        <span style={{ width: `${(step.time_us / most) * 100}%` }} />
      </span>
      {micros(step.time_us)}
    </span>
  );
  return (
    <div class="plan" tabIndex={0} role="region" aria-label="Profile">
      <p>
        {counted(of.results, "result")} in {micros(of.time_us)}
      </p>
      <Tree
        label="Profile"
        steps={of.steps}
        columns={[
          ["time", time],
          ["rows", (step) => count(step.rows)],
          ["traversers", (step) => count(step.traversers)],
          ["expected", (step) => (step.expected === null ? "" : rounded(step.expected))],
          ["batches", (step) => count(step.batches)],
          ["threads", (step) => count(step.threads)],
        ]}
      />
    </div>
  );
}

type Column<S> = [string, (step: S) => preact.ComponentChildren];

function Tree<S extends Row>(props: { label: string; steps: S[]; columns: Column<S>[] }) {
  return (
    <table role="treegrid" aria-label={props.label}>
      <thead>
        <tr>
          <th>step</th>
          {props.columns.map(([name]) => (
            <th key={name} class={isText(name) ? "" : "number"}>
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {props.steps.map((step, at) => (
          <tr key={at} aria-level={step.depth + 1}>
            <td
              class={step.first && step.depth > 0 ? "step first" : "step"}
              style={{ paddingLeft: `${0.6 + step.depth * 1.6}em` }}
            >
              <code>{step.step}</code>
            </td>
            {props.columns.map(([name, cell]) => (
              <td key={name} class={isText(name) ? "" : "number"}>
                {cell(step)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const isText = (column: string): boolean => column === "flow" || column === "access";

/** A scan of everything is what to look at first in a slow query. */
function Access({ step }: { step: ExplainedStep }) {
  const isScan = step.access?.startsWith("SCAN") ?? false;
  return <span class={isScan ? "scan" : ""}>{step.access}</span>;
}

function rounded(number: number): string {
  return number < 10 && number % 1 !== 0 ? number.toFixed(1) : count(Math.round(number));
}

function micros(time: number): string {
  if (time < 1000) return `${time.toFixed(1)} µs`;
  return time < 1e6 ? `${(time / 1000).toFixed(1)} ms` : `${(time / 1e6).toFixed(2)} s`;
}
