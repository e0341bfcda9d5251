"""What test_ray.py runs in namespaces of its own: Ray Data reads the shards of a query.

    ray_reads.py DIRECTORY

It exits with 77, and says why, if something is missing here.
"""

import os
import subprocess
import sys
from pathlib import Path

import launched
import ray
from launched import SKIPPED, brokers

import mangrovedb as mg

EXAMPLES = str(Path(__file__).resolve().parents[2] / "examples")
sys.path.insert(0, EXAMPLES)
os.environ["PYTHONPATH"] = EXAMPLES  # for the tasks
COMMAND = [sys.executable, "-m", "mangrovedb.cli"]


def graph(log, directory):
    """The address of a graph on two nodes."""
    arguments = ["cluster", "up", "air", "--log", log, "--shards", "3", "--nodes", "2", "--data", directory]
    up = subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    if "has no client for Kafka" in up.stderr:
        missing("this build has no client for Kafka (make install CLUSTER=1)")
    assert up.returncode == 0, up.stderr
    address = up.stdout.strip()
    with mg.connect(address) as db, db.ingest() as rows:
        rows.add_vertices("n", {"~id": list(range(1000)), "of": [at % 7 for at in range(1000)]})
    return address


def missing(what):
    print(what)
    sys.exit(SKIPPED)


def read(flight):
    """All results are there once, whether one task reads them or several."""
    import ray_data

    split = "g.V().hasLabel('n').has('of', gt(low)).project('id', 'of').by(id).by('of')"
    assert len(ray_data.tickets(flight, split, low=3)) == 3
    results = ray_data.dataset(flight, split, low=3).take_all()
    assert sorted(row["id"] for row in results) == [at for at in range(1000) if at % 7 > 3]
    assert all(row["of"] == row["id"] % 7 for row in results)
    whole = "g.V().hasLabel('n').count()"
    assert len(ray_data.tickets(flight, whole)) == 1
    assert [list(row.values()) for row in ray_data.dataset(flight, whole).take_all()] == [[1000]]


def main(directory):
    try:
        import ray.data  # noqa: F401
    except ImportError as error:
        missing(f"Ray Data is not installed (pip install 'ray[data]'): {error}")
    launched.network()
    with brokers.Brokers(directory / "kafka") as kafka:
        address = graph(f"kafka://{kafka.addresses}", directory / "data")
        command = [*COMMAND, "serve", address, "--port", "0", "--flight", "0"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
            try:
                line = next(line for line in server.stderr if "Arrow Flight at " in line)
                ray.init(include_dashboard=False, num_cpus=2, _temp_dir=os.environ["RAY_TMPDIR"], log_to_driver=False)
                read(line.split("Arrow Flight at ")[1].strip())
                ray.shutdown()
            finally:
                server.kill()
        down = subprocess.run([*COMMAND, "cluster", "down", address], capture_output=True, text=True, timeout=60)
        assert down.returncode == 0, down.stderr


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    print("all is well")
