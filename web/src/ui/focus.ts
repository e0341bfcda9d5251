// Gives the focus back to where it was, once what had it is gone.

import { useEffect } from "preact/hooks";

/** `take` moves the focus, and returns what to do at the end. */
export function useFocus(take: () => (() => void) | void): void {
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    const end = take();
    return () => {
      end?.();
      before?.focus();
    };
  }, []);
}
