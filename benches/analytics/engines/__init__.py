"""The libraries. An `Engine` builds its graph, and has a method for each algorithm that the library has."""

import numpy as np


class Common:
    """What the answers are compared by."""

    def answer(self, name, got):
        if name in ("cc", "tc"):
            return [float(got)]
        values = np.asarray(got, dtype=np.float64)
        if name == "pagerank":
            # Isolated vertices get what each library thinks right. The ranks of the others are compared among themselves.
            best = np.sort(values)[-1000:]
            return [float(best[-1] / best[0]), float(best[:500].sum() / best.sum())]
        values = values[np.isfinite(values) & (values >= 0) & (values < 1e15)]
        return [float(len(values)), float(values.sum())]
