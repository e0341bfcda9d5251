// A dialog over the page: Escape closes it, and the focus stays inside.

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

export function Dialog(props: { title: string; onClose?: () => void; children: ComponentChildren }) {
  const own = useRef<HTMLDialogElement>(null);
  useEffect(() => own.current!.showModal(), []);
  const cancel = (event: Event) => {
    event.preventDefault();
    props.onClose?.();
  };
  return (
    <dialog ref={own} aria-label={props.title} onCancel={cancel}>
      <header class="dialog-head">
        <h2>{props.title}</h2>
        {props.onClose && (
          <button class="quiet" onClick={props.onClose} aria-label="Close">
            ✕
          </button>
        )}
      </header>
      {props.children}
    </dialog>
  );
}
