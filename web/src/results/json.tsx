// Results as JSON that folds: what is inside of an object or an array shows when it is opened.

import { useState } from "preact/hooks";
import { Exact, isObject, stringify, type Json } from "../server/exact";
import { count } from "../elements/text";

/** The most entries that show at once. A button shows further ones. */
const SHOWN = 100;

export function JsonView({ value }: { value: Json[] }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(stringify(value, 1));
    setCopied(true);
    setTimeout(() => setCopied(false), 2000);
  };
  return (
    <div class="json" tabIndex={0} role="region" aria-label="Results as JSON">
      <button class="copy" onClick={() => void copy()}>
        {copied ? "Copied" : "Copy"}
      </button>
      <Branch value={value} depth={0} />
    </div>
  );
}

function Part({ name, value, depth }: { name?: string; value: Json; depth: number }) {
  const isOpen = useState(depth < 2 || small(value));
  const isBranch = Array.isArray(value) || isObject(value);
  if (!isBranch || sizeOf(value) === 0) {
    return (
      <div class="leaf">
        <Name of={name} />
        <Leaf value={value} />
      </div>
    );
  }
  return (
    <details open={isOpen[0]} onToggle={(event) => isOpen[1](event.currentTarget.open)}>
      <summary>
        <Name of={name} />
        <span class="muted">{Array.isArray(value) ? `[ ${count(sizeOf(value))} ]` : `{ ${glance(value)} }`}</span>
      </summary>
      {isOpen[0] && <Branch value={value} depth={depth + 1} />}
    </details>
  );
}

function Branch({ value, depth }: { value: Json; depth: number }) {
  const [shown, show] = useState(SHOWN);
  const parts: [string | undefined, Json][] = Array.isArray(value)
    ? value.slice(0, shown).map((part) => [undefined, part])
    : Object.entries(value as object).slice(0, shown);
  const left = sizeOf(value) - shown;
  return (
    <div class="branch">
      {parts.map(([name, part], at) => (
        <Part key={name ?? at} name={name} value={part} depth={depth + 1} />
      ))}
      {left > 0 && (
        <button class="link" onClick={() => show(shown * 4)}>
          {count(left)} more
        </button>
      )}
    </div>
  );
}

function Name({ of }: { of: string | undefined }) {
  return of === undefined ? null : <span class="json-key">{of}: </span>;
}

function Leaf({ value }: { value: Json }) {
  const kind =
    typeof value === "string"
      ? "json-string"
      : typeof value === "number" || value instanceof Exact
        ? "json-number"
        : "json-word";
  return <span class={kind}>{stringify(value)}</span>;
}

function sizeOf(value: Json): number {
  return Array.isArray(value) ? value.length : isObject(value) ? Object.keys(value).length : 0;
}

function small(value: Json): boolean {
  return stringify(value).length < 60;
}

/** The first names of an object. */
function glance(value: Json): string {
  const names = Object.keys(value as object);
  return names.slice(0, 4).join(", ") + (names.length > 4 ? ", …" : "");
}
