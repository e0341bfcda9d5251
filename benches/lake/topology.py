"""Size of the topology, neighbours of a hub, and transformation (GraphAr's Figures 8 and 9, Table 2)."""

import shutil

import duckdb
import mangrovedb as mg
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from measure import apart, best, mb, ms, once, table

# Smaller row groups than pyarrow's own: they favour the peers, which read whole ones.
ROW_GROUP = 131_072
PLAIN = {"use_dictionary": False, "compression": "none", "row_group_size": ROW_GROUP}

# The importer tells the ends of an edge apart by the property that they name, so both ends need one of their own.
OFFICIAL = """
import json, sys, time, resource
from graphar._core import do_import
from graphar.importer.config import ImportConfig
work, vertices = sys.argv[1], sys.argv[2]
long = lambda name, primary=False: {"name": name, "data_type": "int64", "is_primary": primary, "nullable": not primary}
config = {
    "graphar": {"path": work + "/official", "name": "official", "vertex_chunk_size": 262144, "edge_chunk_size": 4194304, "file_type": "parquet",
                "adj_list_type": "ordered_by_source", "validate_level": "no", "version": "gar/v1"},
    "import_schema": {
        "vertices": [{"type": "v", "labels": [], "chunk_size": 262144, "prefix": "vertex/v/", "validate_level": "no",
                      "property_groups": [{"properties": [long("id", True), long("twin")], "file_type": "parquet"}],
                      "sources": [{"file_type": "parquet", "path": work + "/v.parquet", "delimiter": ",", "columns": {"id": "id", "twin": "twin"}}]}],
        "edges": [{"edge_type": "e", "src_type": "v", "src_prop": "id", "dst_type": "v", "dst_prop": "twin", "chunk_size": 4194304, "validate_level": "no",
                   "prefix": "edge/v_e_v/", "property_groups": [],
                   "adj_lists": [{"ordered": True, "aligned_by": "src", "file_type": "parquet"}, {"ordered": True, "aligned_by": "dst", "file_type": "parquet"}],
                   "sources": [{"file_type": "parquet", "path": work + "/e.parquet", "delimiter": ",", "columns": {"src": "id", "dst": "twin"}}]}]}}
wall = time.perf_counter()
do_import(ImportConfig(**config).model_dump())
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"wall": time.perf_counter() - wall, "cpu": used.ru_utime + used.ru_stime}))
"""

OFFICIAL_HUB = """
import json, os, sys, time
import graphar
from graphar._core import AdjListType, EdgesCollection
graph, hub, degree = graphar.graph_info.GraphInfo.load(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
edges = EdgesCollection.Make(graph, "v", "e", "v", AdjListType.ordered_by_source)
def neighbours():
    at, found = edges.find_src(hub, edges.begin()), []
    for _ in range(degree):
        found.append(at.__next__().destination())
    return found
neighbours()
least = cpu = 1e9
for _ in range(3):
    wall, used = time.perf_counter(), time.process_time()
    found = neighbours()
    wall, used = time.perf_counter() - wall, time.process_time() - used
    if wall < least: least, cpu = wall, used
print(json.dumps({"wall": least, "cpu": cpu, "sum": sum(found)}))
sys.stdout.flush()
os._exit(0)  # the library crashes when it is unloaded
"""


def run(scratch, *graphs):
    sizes, hubs, changes = [], [], []
    for path in graphs:
        source, target = read(path)
        work = scratch / path.stem
        work.mkdir()
        name = f"{'RMAT' if path.suffix == '.bin' else path.name.split('.')[0]}, {len(source) / 1e6:.2f}M edges"
        changes.append([name, *transform(work, source, target)])
        sizes.append([name, *sized(work)])
        hubs.append([name, *hub(work, source, target)])
        shutil.rmtree(work)
    return "\n\n".join(
        [
            "Topology, sorted by source (two columns and offsets), and its share of the plain form:",
            table(["graph", "plain + offsets", "plain + zstd", "official writer", "Mangrove"], sizes),
            "Neighbours of the vertex with most edges, files in memory. Wall time, CPU time in brackets:",
            table(["graph", "edges of the hub", "Acero scan", "DuckDB scan", "plain + offsets", "official library", "Mangrove"], hubs),
            "Transformation: from unsorted columns to both sorted orders on disk, and edges per second of wall time:",
            table(["graph", "pyarrow, sort and write", "official import", "Mangrove, load", "Mangrove, export"], changes),
        ]
    )


def read(path):
    """The ends of all edges as numbers from 0, in no order."""
    if path.suffix == ".bin":
        found = np.fromfile(path, "<u4").reshape(-1, 2).T
    else:
        found = np.array([row for row in rows_of(path)], dtype=np.int64).T
        found = np.unique(found, return_inverse=True)[1].reshape(found.shape)
    return found[:, np.random.default_rng(7).permutation(found.shape[1])].astype(np.int64)


def rows_of(path):
    import csv
    import gzip

    with (gzip.open(path, "rt") if path.suffix == ".gz" else open(path)) as lines:
        for row in csv.reader(lines):
            if row and row[0].lstrip("-").isdigit():
                yield int(row[0]), int(row[1])


def transform(work, source, target):
    count = int(max(source.max(), target.max())) + 1
    pq.write_table(pa.table({"id": np.arange(count), "twin": np.arange(count)}), work / "v.parquet")
    edges = pa.table({"src": source, "dst": target})
    pq.write_table(edges, work / "e.parquet", **PLAIN)

    def sort_and_write():
        for order, keys in (("source", ("src", "dst")), ("target", ("dst", "src"))):
            pq.write_table(edges.sort_by([(key, "ascending") for key in keys]), work / f"by_{order}.parquet", compression="zstd")

    sorting, _, _ = once(sort_and_write)
    official = apart(OFFICIAL, work, count)
    # The importer writes the files of the types, but not the one that names them.
    (work / "official/official.graph.yml").write_text(f"name: official\nprefix: {work}/official/\nvertices:\n  - v.vertex.yml\nedges:\n  - v_e_v.edge.yml\nversion: gar/v1\n")
    db = mg.open(work / "db", durability="relaxed")
    loading, _, _ = once(lambda: db.load(nodes={"v": work / "v.parquet"}, edges={("v", "e", "v"): work / "e.parquet"}, progress=False))
    exporting, _, _ = once(lambda: db.export(work / "lake", "graphar"))
    db.close()
    speed = lambda seconds: f"{ms(seconds)}, {len(source) / seconds / 1e6:.1f}M/s"
    return [speed(sorting), official.get("failed") or speed(official["wall"]), speed(loading), speed(exporting)]


def sized(work):
    found = pq.read_table(work / "by_source.parquet")
    source = found["src"].to_numpy()
    starts = np.searchsorted(source, np.arange(int(source.max()) + 2))
    pq.write_table(found, work / "plain.parquet", **PLAIN)
    pq.write_table(pa.table({"offset": starts}), work / "offset.parquet", **PLAIN)
    plain = sum((work / name).stat().st_size for name in ("plain.parquet", "offset.parquet"))
    pq.write_table(found, work / "zstd.parquet", use_dictionary=False, compression="zstd")
    pq.write_table(pa.table({"offset": starts}), work / "offset.zstd.parquet", use_dictionary=False, compression="zstd")
    zstd = sum((work / name).stat().st_size for name in ("zstd.parquet", "offset.zstd.parquet"))
    below = lambda folder: sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    share = lambda size: f"{mb(size)}, {size / plain:.1%}" if size else "no files"
    official = below(work / "official/edge/v_e_v/ordered_by_source")
    return [mb(plain), share(zstd), share(official), share(below(work / "lake/edge/v_e_v/ordered_by_source"))]


def hub(work, source, target):
    at = int(np.bincount(source).argmax())
    expected = np.sort(target[source == at])
    plain = ds.dataset(work / "e.parquet")
    acero = lambda: plain.to_table(columns=["dst"], filter=pc.field("src") == at)["dst"].to_numpy()
    con = duckdb.connect()
    duck = lambda: con.execute(f"SELECT dst FROM '{work}/e.parquet' WHERE src = {at}").fetchnumpy()["dst"]

    def offsets():
        file = pq.ParquetFile(work / "offset.parquet")
        group = file.read_row_group(at // ROW_GROUP)["offset"]
        first = group[at % ROW_GROUP].as_py()
        last = first + len(expected)
        groups = list(range(first // ROW_GROUP, (last - 1) // ROW_GROUP + 1))
        found = pq.ParquetFile(work / "plain.parquet").read_row_groups(groups, columns=["dst"])["dst"]
        return found.slice(first - groups[0] * ROW_GROUP, len(expected)).to_numpy()

    lake = mg.open_lake(work / "lake/lake.graph.yml")
    ours = lambda: lake.query("g.V().has('v', 'id', x).out('e').values('id')", x=at).to_arrow()
    cells = []
    for work_of in (acero, duck, offsets):
        wall, cpu, got = best(work_of)
        assert np.array_equal(np.sort(got), expected)
        cells.append(f"{ms(wall)} ({ms(cpu)})")
    official = apart(OFFICIAL_HUB, work / "official/official.graph.yml", at, len(expected))
    if "failed" not in official:
        assert official["sum"] == int(expected.sum())
    cells.append(official.get("failed") or f"{ms(official['wall'])} ({ms(official['cpu'])})")
    wall, cpu, got = best(ours)
    assert np.array_equal(np.sort(got.column(0).to_numpy()), expected)
    return [f"{len(expected):,}", *cells, f"{ms(wall)} ({ms(cpu)})"]
