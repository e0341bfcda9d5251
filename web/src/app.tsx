// The frame of the page: its head with the tabs, and the tab that is open.

import { useEffect } from "preact/hooks";
import { AnalyzePage } from "./analyze/page";
import { Help, isHelp } from "./help";
import { LoadPage } from "./load/page";
import { Login } from "./login";
import { QueryPage } from "./query/page";
import { SchemaPage } from "./schema/page";
import { loginWanted } from "./server/client";
import { choose, database, databases, failure, isKnown, logOut, open, role, user } from "./session";
import { isDark, toggleTheme } from "./theme";
import { page, PAGES } from "./tabs";
import { Select, Tabs } from "./ui/parts";

export function App() {
  useEffect(() => {
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  return (
    <>
      <Head />
      {failure.value !== null && (
        <p class="error" role="alert">
          {failure.value} <button onClick={() => void open()}>Try again</button>
        </p>
      )}
      <main>{database.value !== null && <Page />}</main>
      {loginWanted.value && <Login />}
      {isHelp.value && <Help />}
    </>
  );
}

function Page() {
  if (page.value === "schema") return <SchemaPage />;
  if (page.value === "load") return <LoadPage />;
  if (page.value === "analytics") return <AnalyzePage />;
  return <QueryPage />;
}

function Head() {
  const known = databases.value;
  const isReadOnly = known.find(({ name }) => name === database.value)?.readOnly;
  return (
    <header class="head">
      <h1>
        <img src="/explorer/icon.svg" alt="" width="24" height="24" />
        Mangrove
      </h1>
      <Tabs label="Pages" of={PAGES} chosen={page.value} choose={(chosen) => (page.value = chosen)} />
      <span class="spring" />
      {known.length > 1 && database.value !== null && (
        <Select label="Database" value={database.value} of={known.map(({ name }) => [name, name])} choose={choose} />
      )}
      {known.length === 1 && <span class="muted">{database.value}</span>}
      {isReadOnly && <span class="badge">read only</span>}
      {user.value !== null && <span>{user.value}</span>}
      {known.length > 0 && (
        <span class="badge" title="What you may do here">
          {role.value}
        </span>
      )}
      {isKnown.value && <button onClick={() => void logOut()}>Log out</button>}
      <button
        aria-label={isDark.value ? "Light colours" : "Dark colours"}
        title={isDark.value ? "Light colours" : "Dark colours"}
        onClick={toggleTheme}
      >
        {isDark.value ? "Light" : "Dark"}
      </button>
      <button aria-label="Keys and help" title="Keys and help (?)" onClick={() => (isHelp.value = true)}>
        ?
      </button>
    </header>
  );
}

/** `?` shows the help, and Alt with a digit opens a tab. */
function onKey(event: KeyboardEvent): void {
  const target = event.target as HTMLElement;
  const isTyping = target.isContentEditable || ["INPUT", "SELECT", "TEXTAREA"].includes(target.tagName);
  if (event.key === "?" && !isTyping) isHelp.value = true;
  const chosen = event.altKey ? PAGES[Number(event.code.replace("Digit", "")) - 1] : undefined;
  if (chosen) {
    event.preventDefault();
    page.value = chosen[0];
  }
}
