// A dialog over the page: Escape closes it, and the focus stays inside.

import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { useFocus } from "./focus";

export function Dialog(props: { title: string; onClose?: () => void; children: ComponentChildren }) {
  const own = useRef<HTMLDialogElement>(null);
  useFocus(() => {
    const dialog = own.current!;
    dialog.showModal();
    return () => dialog.close();
  });
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
