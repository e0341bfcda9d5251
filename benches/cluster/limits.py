"""Control groups of Linux that limit the CPU time of processes: version 2 (`cpu.max`), or version 1 (`cpu.cfs_quota_us`). They need root."""

import os
import time
from pathlib import Path

MOUNTED = Path("/sys/fs/cgroup")
# A short period, so that a process that has used its time waits briefly. The kernel gives at least a millisecond.
PERIOD_US, QUOTA_MIN_US = 20_000, 1_000
REMOVING = 100


def controller():
    """Where groups with CPU time are made, and whether that is version 2; `None` without such a place."""
    listed = MOUNTED / "cgroup.controllers"
    if listed.exists():
        return (MOUNTED, True) if "cpu" in listed.read_text().split() else None
    places = [MOUNTED / name for name in ("cpu", "cpu,cpuacct")]
    return next(((place, False) for place in places if (place / "cpu.cfs_quota_us").exists()), None)


def missing():
    """Why there can be no limits here, or `None`."""
    if os.geteuid():
        return "it limits the CPU time of nodes by control groups, which needs root"
    if controller() is None:
        return f"it needs control groups with the controller `cpu` at {MOUNTED}: version 2, or version 1 with cpu.cfs_quota_us"
    place, is_second = controller()
    try:
        if is_second:
            (place / "cgroup.subtree_control").write_text("+cpu")
        probe = place / f"mangrove-{os.getpid()}-probe"
        probe.mkdir()
        probe.rmdir()
    except OSError as error:
        return f"no control group with the controller `cpu` can be made in {place}: {error}"
    return None


class Group:
    """A group, at first without a limit."""

    def __init__(self, name):
        place, self.is_second = controller()
        self.place = place / f"mangrove-{os.getpid()}-{name}"
        self.place.mkdir()

    def take(self, process):
        (self.place / "cgroup.procs").write_text(str(process))

    def limit(self, cores):
        """To a part of a core."""
        period = max(PERIOD_US, round(QUOTA_MIN_US / cores))
        quota = round(cores * period)
        if self.is_second:
            (self.place / "cpu.max").write_text(f"{quota} {period}")
        else:
            (self.place / "cpu.cfs_period_us").write_text(str(period))
            (self.place / "cpu.cfs_quota_us").write_text(str(quota))

    def free(self):
        """Without a limit again, so that its processes end soon."""
        if self.is_second:
            (self.place / "cpu.max").write_text("max")
        else:
            (self.place / "cpu.cfs_quota_us").write_text("-1")

    def remove(self):
        """Once its processes have ended. The kernel may need a moment to notice."""
        for _ in range(REMOVING):
            try:
                return self.place.rmdir()
            except OSError:
                time.sleep(0.05)
