#!/usr/bin/env python3
"""Holds the floors inside crates: a module uses only modules of lower floors. And no two visible types of a crate share a name."""

import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# The modules of a folder from the ground up. Those of one floor do not know each other. A folder that is not here has no check yet.
FLOORS = {
    "crates/query/src": [
        "diagnostics machine stack",
        "error",
        "access crew fleet gremlin nesting procedure",
        "plan",
        "profile",
        "options",
        "computed optimize paths resolve",
        "execute",
        "lib",
    ],
    "crates/query/src/paths": ["lists syntax", "automaton chains", "reach", "group", "rules"],
    "crates/query/src/execute": ["data", "run", "reads", "modulators", "ops", "fleet mesh parallel", "compile", "fragment partials", "stages"],
    "crates/query/src/execute/data": [
        "bytes known path words",
        "branches entries keys maps number",
        "effects items",
        "slots",
        "batch",
        "frame sent",
        "message",
    ],
    "crates/query/src/execute/run": [
        "help ids memory nesting pace profile types",
        "context",
        "chain scope sort",
        "portion",
    ],
    "crates/query/src/execute/reads": ["read", "elements texts", "columns"],
    "crates/query/src/execute/modulators": ["by", "sort_keys"],
    "crates/query/src/execute/ops": [
        "barrier map operand resource",
        "branch call compute date element filter hop matching mutate reduce repeat select",
        "ends group init list math merge set side_effect text tree",
        "between closing partial semi_join shortest",
    ],
    "crates/cluster/src": [
        "at_once names placement walk",
        "directory halves log",
        "backup",
        "wire",
        "remote schema section service shard split",
        "overlay view",
        "change gateway",
        "lake transaction",
        "node",
        "lib",
    ],
    "crates/cluster/src/service": ["calls spans"],
    "crates/cluster/src/lake": ["owners", "asked", "view", "parts"],
    "crates/cluster/src/backup": ["objects", "sums", "copy"],
    "crates/cluster/src/gateway": ["cut", "applied fragments", "hold"],
    "crates/cluster/src/node": ["counts store tail turns", "counted host role", "hosts", "keeping moving own seen versions", "session", "local"],
    "crates/cluster/src/overlay": ["delta", "declare hops scan write"],
    "crates/cluster/src/wire": ["chunks error ids opaque", "values", "ask", "call", "kind"],
    "crates/cluster/src/section": ["operation", "apply recorder"],
    "crates/cluster/src/log": ["carrier cuts record", "base members standing", "follower writer"],
    "crates/cluster/src/change": ["checks halves listed recorded"],
    "crates/cluster/src/view": ["listed searched"],
    "crates/analytics/src": ["error", "run", "project", "engine", "algorithm", "algorithms", "divided registry", "lib"],
    "crates/analytics/src/project": ["adjacent order", "gather part simple"],
    "crates/analytics/src/engine": [
        "by_number placement transport value",
        "checkpoint program",
        "partition",
        "part steps",
    ],
    "crates/analytics/src/algorithms": [
        "bits communities links random weights",
        "betweenness bfs cdlp coloring kcore louvain matching pagerank peer_pressure scc similarity triangles walks wcc",
        "sssp",
    ],
    "crates/mcp/src": ["search", "tools", "handler", "lib"],
    "crates/server/src": ["observe status users", "wire", "client gremlin", "web", "error", "node", "lib"],
    "crates/server/src/wire": ["reply", "graphbinary graphson request", "bytecode"],
    "crates/server/src/client": ["received"],
    "crates/server/src/gremlin": ["in_time login memory refused", "asker rates", "batches rooms", "run", "ask session", "conversation"],
    "crates/server/src/observe": ["metrics numbers", "log traces"],
    "crates/server/src/users": ["token", "file", "gatekeeper"],
    "crates/server/src/web": ["listen meter nodes page tls transactions", "connection http unread", "metrics rest socket", "flight origin"],
    "crates/server/src/web/flight": ["ticket", "service", "connection"],
    "crates/server/src/web/rest": [
        "problem",
        "watch",
        "caller work",
        "databases elements encodings indexes jobs language messages parts spool tokens",
        "query",
        "ingest values",
    ],
    "crates/mangrove/src/cluster/analysis": ["checkpoints", "part points", "run", "attempts"],
    "crates/mangrove/src/cluster/lake": ["service", "greetings", "backend node"],
    "crates/mangrove/src/cluster/mesh": ["part run"],
    "crates/mangrove/src/cluster/rounds": ["words", "job", "between", "crew"],
    "crates/mangrove/src/direct": ["reads", "edges writes", "graph_search tao"],
    "crates/mangrove/src/workloads": ["skew workload", "typed values", "data paths", "operation", "mix", "drive"],
    "crates/store/hot/src": [
        "options system",
        "lmdb",
        "format turns",
        "segments",
        "shared",
        "read",
        "check write",
        "upkeep",
        "open",
        "store",
        "bulk",
        "lib",
    ],
    "crates/store/hot/src/system": ["fault identity lock", "disk"],
    "crates/store/hot/src/lmdb": ["clock pages spare version", "readers table", "bloom env"],
    "crates/store/hot/src/format": [
        "named packed sort",
        "catalog block",
        "encode key",
        "adjacency filter index keys names walk",
    ],
    "crates/store/hot/src/turns": ["rhythm", "keeper turn", "group"],
    "crates/store/hot/src/segments": ["segment", "sealing"],
    "crates/store/hot/src/shared": ["notes", "state", "space", "owned"],
    "crates/store/hot/src/upkeep": ["layers room trim", "compact"],
    "crates/store/ingest/src": [
        "by_source error progress topic",
        "text",
        "batches",
        "tables",
        "graphs",
        "detect terms",
        "export writing",
        "copy load stream",
        "bytes lib",
    ],
    "crates/store/ingest/src/text": ["decode format infer json yaml", "mapping_text source", "csv feed"],
    "crates/store/ingest/src/batches": ["rows", "elements typed_json", "column"],
    "crates/store/ingest/src/tables": [
        "arrow_type plan",
        "header",
        "plan_text planner",
        "arrow_table csv_table",
        "jsonl parquet table",
        "json_rows",
    ],
    "crates/store/ingest/src/export": ["walk", "graphml graphson manifest", "csv", "parquet"],
    "crates/store/ingest/src/graphs": ["edgelist graphml graphson"],
    "crates/store/ingest/src/terms": ["declaration merge spelling", "mapping report", "options"],
    "crates/store/lake/src": ["casts error info place", "files index", "pages", "convert", "graph write", "load propose", "lib"],
    "crates/store/lake/src/files": ["profile", "local store", "kept remote", "bucket"],
    "crates/store/lake/src/info": ["place types", "notes property", "graph", "edge vertex"],
    "crates/store/lake/src/index": ["parallel", "cache ends ids lists parquet"],
    "crates/store/lake/src/pages": ["bounds cache caught packed sparse", "truth", "whole"],
    "crates/store/lake/src/convert": ["typed", "csv json"],
    "crates/store/lake/src/graph": [
        "counts forms lazy rows",
        "tables",
        "columns expand topology",
        "labels",
        "selected",
        "places prune resolve",
        "ends",
        "sorted",
        "check find hop",
        "chunks graphar mapped view",
    ],
    "crates/store/lake/src/write": ["loss names publish", "chunk column", "notes", "edges vertices"],
    "crates/store/layout/src": ["greedy measure simple weights", "bisect labels sample", "community", "lib"],
    "crates/store/ingest/src/writing": ["resolve retype runs", "write", "constraints drift upsert"],
}


def without_tests(text):
    text = re.sub(r"#\[cfg\(test\)\]\s*mod tests \{.*", "", text, flags=re.DOTALL)
    return re.sub(r"//[^\n]*", "", text)


def names_after(path, text):
    """The modules that a file names after `path`, such as `crate::`, also in groups."""
    for match in re.finditer(rf"\b{path}(?:(\w+)|\{{([^;]*)\}};)", text):
        if match[1]:
            yield match[1]
        else:
            outer = re.sub(r"\{[^{}]*\}", "", match[2])
            yield from re.findall(r"(?:^|,)\s*(\w+)", outer)


def wrong_directions(folder, floors):
    floor_of = {name: number for number, names in enumerate(floors) for name in names.split()}
    source = ROOT / folder
    inside = folder.split("/src", 1)[1].strip("/").replace("/", "::")
    for file in sorted(source.rglob("*.rs")):
        parts = file.relative_to(source).with_suffix("").parts
        here = parts[0]
        if here == "mod":
            continue  # it only lists the others
        if here not in floor_of:
            yield f"{folder}: the module {here} has no floor; give it one in {Path(__file__).name}"
            continue
        text = without_tests(file.read_text(encoding="utf-8"))
        used = set(names_after(f"crate::{inside}::" if inside else "crate::", text))
        if len(parts) == 1:
            used |= {name for name in names_after("super::", text) if name in floor_of}
        for name in sorted(used - {here}):
            # What is not a module comes from the root of the crate.
            there = name if name in floor_of else "lib"
            if floor_of.get(there, -1) >= floor_of[here]:
                yield f"{file.relative_to(ROOT)} uses {name}, which is not below {here}"


def shared_names(crate):
    """Types of one crate that other files can see, and that have the same name."""
    places = defaultdict(set)
    for file in sorted((ROOT / crate / "src").rglob("*.rs")):
        text = without_tests(file.read_text(encoding="utf-8"))
        for name in re.findall(r"^\s*pub(?:\([^)]*\))? (?:struct|enum|trait|union) (\w+)", text, flags=re.MULTILINE):
            places[name].add(str(file.relative_to(ROOT)))
    for name, files in sorted(places.items()):
        if len(files) > 1:
            yield f"{crate}: {name} is the name of several types: {', '.join(sorted(files))}"


def main():
    crates = sorted(str(path.parent.relative_to(ROOT)) for path in ROOT.glob("crates/**/Cargo.toml"))
    wrong = [complaint for folder, floors in FLOORS.items() for complaint in wrong_directions(folder, floors)]
    wrong += [complaint for crate in crates for complaint in shared_names(crate)]
    print("\n".join(wrong) or f"the floors of {len(FLOORS)} folders hold, and no two visible types of a crate share a name")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
