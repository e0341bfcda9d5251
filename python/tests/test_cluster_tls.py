"""Nodes and brokers beyond this machine, who speak TLS. They run in a network of their own: see beyond.py."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import left_out

SKIPPED = 77
ALONE = ["unshare", "--map-root-user", "--net", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", '"$@"; exit $?', "sh"]


def test_beyond_this_machine_both_sides_show_certificates(tmp_path):
    if not shutil.which("unshare") or subprocess.run([*ALONE, "true"], capture_output=True).returncode:
        left_out("this machine makes no namespaces (unshare)")
    command = [*ALONE, sys.executable, str(Path(__file__).with_name("beyond.py")), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode == SKIPPED:
        left_out(done.stdout.strip())
    logs = "".join(f"\n{log}: {log.read_text()[-2000:]}" for log in tmp_path.glob("node-*.log"))
    assert done.returncode == 0, done.stdout + done.stderr + logs
    assert done.stdout.endswith("all is well\n")
