// Small parts that many places use: tabs, fields, errors, buttons that say why they are off.

import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { useFocus } from "./focus";

export function Tabs<T extends string>(props: { label: string; of: [T, string][]; chosen: T; choose: (tab: T) => void }) {
  const step = (event: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by === undefined) return;
    const at = props.of.findIndex(([tab]) => tab === props.chosen);
    props.choose(props.of[(at + by + props.of.length) % props.of.length]![0]);
    const list = event.currentTarget as HTMLElement;
    requestAnimationFrame(() => list.querySelector<HTMLElement>('[aria-selected="true"]')?.focus());
  };
  return (
    <div class="tabs" role="tablist" aria-label={props.label} onKeyDown={step}>
      {props.of.map(([tab, name]) => (
        <button
          key={tab}
          role="tab"
          aria-selected={tab === props.chosen}
          tabIndex={tab === props.chosen ? 0 : -1}
          onClick={() => props.choose(tab)}
        >
          {name}
        </button>
      ))}
    </div>
  );
}

/** A button that may be off for a reason, which it then says. The keyboard still reaches it, to hear the reason. */
export function Action(props: {
  children: ComponentChildren;
  onClick: () => void;
  why?: string | null;
  kind?: "main" | "quiet" | "danger";
  title?: string;
  isPressed?: boolean;
}) {
  const why = props.why ?? null;
  return (
    <button
      class={props.kind ?? ""}
      aria-disabled={why !== null}
      title={why ?? props.title}
      aria-pressed={props.isPressed}
      onClick={why === null ? props.onClick : undefined}
    >
      {props.children}
    </button>
  );
}

export function Field(props: { label: string; hint?: string; children: ComponentChildren }) {
  return (
    <label class="field">
      <span>{props.label}</span>
      {props.children}
      {props.hint && <small>{props.hint}</small>}
    </label>
  );
}

export function SearchField(props: {
  label: string;
  value: string;
  set: (value: string) => void;
  onKeyDown?: (event: KeyboardEvent) => void;
}) {
  return (
    <input
      type="search"
      placeholder={props.label}
      aria-label={props.label}
      value={props.value}
      onInput={(event) => props.set(event.currentTarget.value)}
      onKeyDown={props.onKeyDown}
    />
  );
}

export function Select(props: { value: string; of: [string, string][]; choose: (value: string) => void; label?: string }) {
  return (
    <select aria-label={props.label} value={props.value} onChange={(event) => props.choose(event.currentTarget.value)}>
      {props.of.map(([value, name]) => (
        <option key={value} value={value} selected={value === props.value}>
          {name}
        </option>
      ))}
    </select>
  );
}

/** A column beside the results, with tools on top and a button that closes it. The focus goes to it, and back at its end. */
export function SidePanel(props: {
  label: string;
  close: () => void;
  tools: ComponentChildren;
  children: ComponentChildren;
}) {
  const own = useRef<HTMLElement>(null);
  useFocus(() => own.current!.querySelector("input")?.focus());
  return (
    <aside ref={own} class="side" aria-label={props.label}>
      <div class="toolbar">
        {props.tools}
        <button class="quiet" onClick={props.close} aria-label={`Close: ${props.label}`}>
          ✕
        </button>
      </div>
      {props.children}
    </aside>
  );
}

/** An error, if there is one. The server's words may have several lines. */
export function Alert({ of }: { of: string | null | undefined }) {
  if (of === null || of === undefined) return null;
  return (
    <pre class="error" role="alert">
      {of}
    </pre>
  );
}

export function Bar(props: { done: number; of: number | null; label: string }) {
  return <progress aria-label={props.label} {...(props.of ? { value: props.done, max: props.of } : {})} />;
}
