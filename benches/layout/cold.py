"""How long a list of friends with their properties takes when nothing of the database is in memory.

    python benches/layout/cold.py --edges FILE.csv.gz [--bytes 4 40 400 4000 40000 400000] [--orders ORDER …] [--lists 40] [--scratch DIR] [--markdown docs/layout.md]

Each vertex gets a property of so many bytes, which does not compress. The graph is loaded in the order of its numbers, and written anew by
`relayout`. For each list, the database is dropped from the page cache and opened anew; the time begins after that. Linux only: others do not
drop files from the page cache, or count what a process reads.
"""

import argparse
import base64
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

import mangrovedb as mg
import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
from shared import between, described, read

LAYOUTS = ("community", "partition", "degree", "bfs")
QUERY = "g.V(person).both('e').values('payload').length().sum()"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", type=Path, required=True, help="an edge list")
    parser.add_argument("--bytes", type=int, nargs="+", default=[4, 40, 400, 4_000, 40_000, 400_000], help="sizes of the property")
    parser.add_argument("--orders", nargs="+", default=LAYOUTS, choices=LAYOUTS, help="layouts beside the order of the numbers")
    parser.add_argument("--lists", type=int, default=40, help="lists to read for each size and order")
    parser.add_argument("--scratch", type=Path, help="where the databases go: the disk to measure")
    parser.add_argument("--markdown", type=Path, help="also rewrite the table in this page")
    options = parser.parse_args()
    edges = read(options.edges)
    lines = ["| bytes a record | order | database, MB | read a list, MB | median, ms | 90%, ms | of the next list: read, MB | median, ms |"]
    lines.append("|---:|---|---:|---:|---:|---:|---:|---:|")
    for size in options.bytes:
        lines += rows(size, edges, options)
    command = f"python benches/layout/cold.py --edges {options.edges.name}"
    text = "\n".join([described(command), *read_ahead(options.scratch), "", *lines])
    print(text)
    if options.markdown:
        between(options.markdown, "cold", "cold.py", text)


def rows(size, edges, options):
    """The lines of one size. Checks that all orders give the same answers."""
    ids = np.unique(edges)
    chosen = np.random.default_rng(7).choice(edges[:, 0], (options.lists, 2))
    out, answers = [], []
    with tempfile.TemporaryDirectory(dir=options.scratch) as home:
        home = Path(home)
        write_vertices(home / "v.parquet", ids, size)
        with mg.open(home / "as loaded", durability="relaxed") as db:
            db.load(nodes={"v": str(home / "v.parquet")}, edges={("v", "e", "v"): {"from": edges[:, 0], "to": edges[:, 1]}}, compact=True, progress=False)
        (home / "v.parquet").unlink()
        for order in ("as loaded", *options.orders):
            path = home / order
            if order != "as loaded":
                with mg.open(home / "as loaded") as db:
                    db.relayout(path, order, progress=False)
            os.sync()
            found = [cold(path, [int(vertex) for vertex in pair]) for pair in chosen]
            answers.append([answer for answer, _, _ in found])
            first, second = ([(seconds[at], read[at]) for _, seconds, read in found] for at in (0, 1))
            times = sorted(1e3 * seconds for seconds, _ in first)
            read = [statistics.mean(read for _, read in which) / 1e6 for which in (first, second)]
            megabytes = sum(file.stat().st_size for file in path.rglob("*.seg")) / 1e6
            later = statistics.median(1e3 * seconds for seconds, _ in second)
            cells = f"{megabytes:,.0f} | {read[0]:.2f} | {statistics.median(times):.1f} | {times[len(times) * 9 // 10]:.1f} | {read[1]:.2f} | {later:.1f}"
            out.append(f"| {size:,} | {order} | {cells} |")
            print(out[-1], file=sys.stderr)
            if order != "as loaded":
                shutil.rmtree(path)
    assert all(other == answers[0] for other in answers)
    return out


def write_vertices(file, ids, size):
    schema = pa.schema({"id": pa.int64(), "payload": pa.string()})
    step = max(1, (64 << 20) // size)
    with parquet.ParquetWriter(file, schema, compression="none", use_dictionary=False) as out:
        for first in range(0, len(ids), step):
            some = ids[first : first + step]
            payload = [base64.b64encode(os.urandom(size * 3 // 4 + 1))[:size].decode() for _ in some]
            out.write_table(pa.table([pa.array(some), pa.array(payload)], schema=schema))


def cold(path, vertices):
    """Opens a database of which nothing is in memory, and reads some lists. Gives answers, seconds, and bytes from the disk."""
    for file in path.rglob("*"):
        if file.is_file():
            with file.open("rb") as opened:
                os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    with mg.open(path, read_only=True) as db:
        answers, seconds, read = [], [], []
        for vertex in vertices:
            before, started = bytes_read(), time.perf_counter()
            answers.append(db.query(QUERY, {"person": vertex}).to_list())
            seconds.append(time.perf_counter() - started)
            read.append(bytes_read() - before)
    return answers, seconds, read


def bytes_read():
    """How many bytes this process has had the disk read."""
    for line in Path("/proc/self/io").read_text().splitlines():
        if line.startswith("read_bytes:"):
            return int(line.split()[1])
    raise SystemExit("this system does not count what a process reads")


def read_ahead(scratch):
    """How much the system reads beside what is asked for."""
    device = os.stat(scratch or tempfile.gettempdir()).st_dev
    block = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve()
    # A partition has the queue of its disk.
    files = [of / "queue/read_ahead_kb" for of in (block, block.parent)]
    return [f"The system reads {file.read_text().strip()} kB ahead." for file in files if file.exists()]


if __name__ == "__main__":
    main()
