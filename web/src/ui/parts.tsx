// Small parts that many places use: tabs, fields, buttons that say why they are off.

import type { ComponentChildren } from "preact";

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

/** A button that may be off for a reason, which it then says. */
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
      disabled={why !== null}
      title={why ?? props.title}
      aria-pressed={props.isPressed}
      onClick={props.onClick}
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

export function Bar(props: { done: number; of: number | null; label: string }) {
  return <progress aria-label={props.label} {...(props.of ? { value: props.done, max: props.of } : {})} />;
}
