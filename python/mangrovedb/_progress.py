"""A progress line for loads on a terminal."""

import sys
import time


class Line:
    """Shows rows, speed and time left on one line of stderr, and removes the line at the end."""

    def __init__(self):
        self.started = time.monotonic()
        self.shown = False

    def __call__(self, rows: int, bytes_done: int, bytes_total: int) -> None:
        seconds = max(time.monotonic() - self.started, 1e-3)
        done = bytes_done / bytes_total if bytes_total else 0.0
        left = f"{seconds / done - seconds:.0f} s left" if done > 0.01 else ""
        bar = "=" * int(30 * done)
        text = f"\r[{bar:30}] {done:4.0%}  {rows:,} rows, {rows / seconds:,.0f}/s  {left}"
        sys.stderr.write(f"{text:100}"[:110])
        sys.stderr.flush()
        self.shown = True

    def close(self) -> None:
        if self.shown:
            sys.stderr.write("\r" + " " * 110 + "\r")
            sys.stderr.flush()


class Stages(Line):
    """Shows what an algorithm does, and how far it is."""

    def __call__(self, stage: str, done: int, of: int) -> None:
        seconds = time.monotonic() - self.started
        share = f"[{'=' * int(30 * done / of):30}] {done / of:4.0%}" if of else f"{done:,}"
        sys.stderr.write(f"\r{f'{stage} {share}, {seconds:.0f} s':100}"[:110])
        sys.stderr.flush()
        self.shown = True


def on_a_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()
