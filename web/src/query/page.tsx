// The query tab: the editor, its buttons, the parameters, the results, and beside them the steps or the history.

import { signal } from "@preact/signals";
import { counted, duration } from "../elements/text";
import type { Vertex } from "../elements/types";
import { showVertex } from "../graph/fill";
import { focus } from "../graph/focus";
import { GraphView } from "../graph/view";
import { JsonView } from "../results/json";
import { ExplainView, ProfileView } from "../results/plan";
import { csvOf } from "../results/csv";
import { Table } from "../results/table";
import { download } from "../ui/download";
import { Action, Alert, Tabs } from "../ui/parts";
import { Editor } from "./editor";
import { HistoryPanel } from "./past";
import { StepsPanel } from "./steps";
import {
  error,
  explanation,
  hasRun,
  isRunning,
  note,
  parameters,
  profile,
  rows,
  run,
  seconds,
  stop,
  tab,
  type Tab,
} from "./run";

/** What stands beside the results. */
const beside = signal<"steps" | "history" | null>(null);
const isParameters = signal(parameters.peek() !== "");

export function QueryPage() {
  return (
    <div class="query-page">
      <div class="query-main">
        <Editor />
        <div class="toolbar">
          {isRunning.value ? (
            <Action kind="danger" onClick={stop}>
              Stop
            </Action>
          ) : (
            <Action kind="main" onClick={() => void run("results")} title="Ctrl-Enter, or ⌘-Enter">
              Run
            </Action>
          )}
          <Action onClick={() => void run("explain")} title="Show how the query would run" why={whyBusy()}>
            Explain
          </Action>
          <Action onClick={() => void run("profile")} title="Run the query, and show what each step did" why={whyBusy()}>
            Profile
          </Action>
          <Action onClick={() => (isParameters.value = !isParameters.value)} isPressed={isParameters.value}>
            Parameters
          </Action>
          <Status />
          <span class="spring" />
          <Beside name="steps">Steps</Beside>
          <Beside name="history">History</Beside>
        </div>
        {isParameters.value && (
          <input
            class="parameters"
            aria-label="Parameters"
            placeholder='{"x": "AUS"}'
            spellcheck={false}
            value={parameters.value}
            onInput={(event) => (parameters.value = event.currentTarget.value)}
          />
        )}
        <Alert of={error.value} />
        {error.value?.includes("`mangrove docs") && <DocsHint />}
        {note.value !== null && (
          <p class="note" role="status">
            {note.value}
          </p>
        )}
        <Results />
      </div>
      {beside.value === "steps" && <StepsPanel close={() => (beside.value = null)} />}
      {beside.value === "history" && <HistoryPanel close={() => (beside.value = null)} />}
    </div>
  );
}

function Beside({ name, children }: { name: "steps" | "history"; children: string }) {
  const isOpen = beside.value === name;
  return (
    <Action onClick={() => (beside.value = isOpen ? null : name)} isPressed={isOpen}>
      {children}
    </Action>
  );
}

/** The server names a command that shows its documentation. In a browser, the list of steps is nearer. */
function DocsHint() {
  return (
    <p class="hint">
      <code>mangrove docs</code> is a command for a terminal. This page has{" "}
      <button class="link" onClick={() => (beside.value = "steps")}>
        a list of the steps
      </button>
      .
    </p>
  );
}

const whyBusy = (): string | null => (isRunning.value ? "A query is running." : null);

function Status() {
  if (!hasRun.value || (error.value !== null && rows.value.length === 0)) return null;
  const some = explanation.value || profile.value ? "" : `${counted(rows.value.length, "result")}, `;
  return (
    <span class="status" role="status">
      {isRunning.value && <span class="spinner" />}
      {some}
      {duration(seconds.value)}
    </span>
  );
}

function Results() {
  if (!hasRun.value) return <Welcome />;
  if (error.value !== null && rows.value.length === 0 && tab.value !== "graph") return null;
  const tabs: [Tab, string][] = [
    ["table", "Table"],
    ["json", "JSON"],
    ["graph", "Graph"],
  ];
  if (explanation.value) tabs.push(["explain", "Explain"]);
  if (profile.value) tabs.push(["profile", "Profile"]);
  return (
    <>
      <div class="results-head">
        <Tabs label="Results" of={tabs} chosen={tab.value} choose={(chosen) => (tab.value = chosen)} />
        <span class="spring" />
        {tab.value === "table" && rows.value.length > 0 && (
          <Action onClick={() => download("results.csv", csvOf(rows.value), "text/csv")}>Save as CSV</Action>
        )}
      </div>
      <div class="results" role="tabpanel" aria-label={tab.value}>
        <Body />
      </div>
    </>
  );
}

function Body() {
  if (tab.value === "graph") return <GraphView />;
  if (tab.value === "explain" && explanation.value) return <ExplainView of={explanation.value} />;
  if (tab.value === "profile" && profile.value) return <ProfileView of={profile.value} />;
  if (rows.value.length === 0) return <p class="empty">{isRunning.value ? "Waiting for results." : "No results."}</p>;
  return tab.value === "json" ? (
    <JsonView value={rows.value} />
  ) : (
    <Table rows={rows.value} showVertex={(vertex) => void openVertex(vertex)} />
  );
}

async function openVertex(vertex: Vertex): Promise<void> {
  const key = await showVertex(vertex);
  tab.value = "graph";
  // The picture is drawn in the next frames.
  setTimeout(() => focus(key), 100);
}

function Welcome() {
  return (
    <div class="empty">
      <p>Write a query and run it with Ctrl-Enter, or ⌘-Enter.</p>
      <p>After a dot, the editor offers steps. Inside quotes, it offers labels and properties.</p>
    </div>
  );
}
