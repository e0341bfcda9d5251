"""Neighbours and labels of a graph in a store: the questions of `topology` and `labels`, asked of an S3 server that answers late."""

import mangrovedb as mg
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from labels import LABELS, VERTICES, at_random
from measure import best, mb, ms, table
from pyarrow import fs
from s3 import BUCKET, SIGNED, Store
from topology import PLAIN, ROW_GROUP, read

DELAY = 30
SECONDS = 4.0


def run(scratch, *graphs):
    with Store(DELAY) as store:
        far = fs.S3FileSystem(access_key=SIGNED["AWS_ACCESS_KEY_ID"], secret_key=SIGNED["AWS_SECRET_ACCESS_KEY"], endpoint_override=store.address, scheme="http", region=SIGNED["AWS_REGION"])
        rows = [neighbours(scratch, store, far, path) for path in graphs] + [labels(scratch, store, far)]
    about = f"In a store, an S3 server that answers {DELAY} ms late. Wall time, CPU time in brackets, requests and bytes. `first` opens the lake for it:"
    return about + "\n\n" + table(["question", "plain scan, pyarrow", "plain + offsets, or RLE booleans", "Mangrove, first", "Mangrove, again"], rows)


def asked(work, store, expected, same):
    """One cell: the least time, and the requests and bytes of the last run."""
    counted = {}

    def counting():
        store.counts()
        got = work()
        counted.update(store.counts())
        return got

    wall, cpu, got = best(counting, SECONDS)
    assert same(got, expected), work
    return f"{ms(wall)} ({ms(cpu)}), {counted['requests']} requests, {mb(counted['bytes'])}"


def neighbours(scratch, store, far, path):
    source, target = read(path)
    work = scratch / f"{path.stem} far"
    work.mkdir()
    count = int(max(source.max(), target.max())) + 1
    order = np.lexsort((target, source))
    edges = pa.table({"src": source[order], "dst": target[order]})
    pq.write_table(edges, work / "plain.parquet", **PLAIN)
    pq.write_table(pa.table({"offset": np.searchsorted(source[order], np.arange(count + 1))}), work / "offset.parquet", **PLAIN)
    db = mg.open(work / "db", durability="relaxed")
    db.load(nodes={"v": pa.table({"id": np.arange(count)})}, edges={("v", "e", "v"): edges}, progress=False)
    db.export(work / "lake", "graphar")
    db.close()
    prefix = path.stem
    store.put(work / "lake", f"{prefix}/lake")
    for name in ("plain", "offset"):
        store.client.upload_file(str(work / f"{name}.parquet"), BUCKET, f"{prefix}/{name}.parquet")
    at = int(np.bincount(source).argmax())
    expected = np.sort(target[source == at])

    def scan():
        return ds.dataset(f"{BUCKET}/{prefix}/plain.parquet", filesystem=far).to_table(columns=["dst"], filter=pc.field("src") == at)["dst"].to_numpy()

    def offsets():
        opened = pq.ParquetFile(f"{BUCKET}/{prefix}/offset.parquet", filesystem=far, pre_buffer=True)
        first = opened.read_row_group(at // ROW_GROUP)["offset"][at % ROW_GROUP].as_py()
        groups = list(range(first // ROW_GROUP, (first + len(expected) - 1) // ROW_GROUP + 1))
        found = pq.ParquetFile(f"{BUCKET}/{prefix}/plain.parquet", filesystem=far, pre_buffer=True).read_row_groups(groups, columns=["dst"])["dst"]
        return found.slice(first - groups[0] * ROW_GROUP, len(expected)).to_numpy()

    address = f"s3://{BUCKET}/{prefix}/lake/lake.graph.yml"
    query = lambda lake: lake.query("g.V().has('v', 'id', x).out('e').values('id')", x=at).to_arrow().column(0).to_numpy()
    lake = mg.open_lake(address)
    same = lambda got, wanted: np.array_equal(np.sort(got), wanted)
    works = (scan, offsets, lambda: query(mg.open_lake(address)), lambda: query(lake))
    name = f"{'RMAT' if path.suffix == '.bin' else path.name.split('.')[0]}: {len(expected):,} neighbours of the hub"
    return [name, *(asked(one, store, expected, same) for one in works)]


def labels(scratch, store, far):
    has, names = at_random(), [f"L{label}" for label in range(LABELS)]
    work = scratch / "labels far"
    work.mkdir()
    text = [";".join(["v", *(names[label] for label in np.flatnonzero(column))]) for column in has.T]
    pq.write_table(pa.table({"labels": text}), work / "strings.parquet", compression="zstd", use_dictionary=False)
    flags = pa.table(dict(zip(names, has)))
    pq.write_table(flags, work / "flags.parquet", compression="none", use_dictionary=False, data_page_version="2.0", column_encoding={n: "RLE" for n in names})
    db = mg.open(work / "db", durability="relaxed")
    db.load(nodes={"v": pa.table({"~id": np.arange(VERTICES), "~label": text})}, progress=False)
    db.export(work / "lake", "graphar")
    db.close()
    store.put(work / "lake", "labels/lake")
    for name in ("strings", "flags"):
        store.client.upload_file(str(work / f"{name}.parquet"), BUCKET, f"labels/{name}.parquet")
    strings = lambda: pc.sum(pc.match_substring(pq.read_table(f"{BUCKET}/labels/strings.parquet", filesystem=far)["labels"], ";L1")).as_py()
    booleans = lambda: pc.sum(pq.read_table(f"{BUCKET}/labels/flags.parquet", columns=["L1"], filesystem=far)["L1"]).as_py()
    address = f"s3://{BUCKET}/labels/lake/lake.graph.yml"
    query = lambda lake: lake.query("g.V().hasLabel('L1').count()").one()
    lake = mg.open_lake(address)
    works = (strings, booleans, lambda: query(mg.open_lake(address)), lambda: query(lake))
    expected = int(has[1].sum())
    return ["one of ten labels, at random", *(asked(one, store, expected, lambda got, wanted: got == wanted) for one in works)]
