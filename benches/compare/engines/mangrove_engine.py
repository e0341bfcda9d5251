"""Mangrove: CSV by load, Gremlin text with parameters."""

import inspect
import tempfile

import mangrovedb as mg

from . import Engine


# Parallelism, pinning and stealing. Stealing happens only between regions, so this has more threads than most machines here have
# cores.
SPREAD = {
    "none": {"workers": 0},
    "one helps": {"workers": 1},
    "one helps, pinned": {"workers": 1, "pin": True},
    "four, in two regions of two": {"workers": 4, "region_workers": 2},
    "four, no stealing": {"workers": 4, "region_workers": 2, "steal": False},
}


class Mangrove(Engine):
    name = "mangrovedb"
    languages = ("gremlin", "mangrove.gremlin")
    options = {}  # for every query
    loading = {}  # further options of the load

    def version(self):
        return mg.__version__

    def load(self, path, graph):
        database = mg.open(str(path), id_space="label" if graph.shared_ids else "graph")
        self.fill(database, graph)
        database.close()

    def fill(self, database, graph):
        indexes = [f"{table.label}.{key}" for table in graph.vertices for key in table.indexed]
        if graph.shared_ids or len(graph.vertices) > 1:  # otherwise a person's id is the id of the vertex, which needs no index
            indexes += [f"{table.label}.{table.header()[0]}" for table in graph.vertices]
        database.load(
            nodes={table.label: str(graph.path(table)) for table in graph.vertices},
            edges={(table.source, table.label, table.target): str(graph.path(table)) for table in graph.edges},
            edge_time=graph.time or None,
            indexes=indexes,
            **self.loading,
        )

    def open(self, path, **options):
        """Without helping threads, unless the options ask for some."""
        known = inspect.signature(mg.open).parameters
        self.database = mg.open(str(path), **({"workers": 0} if "workers" in known else {}) | options)

    def serve(self, path):
        self.database = mg.open(str(path))

    def variants(self):
        """Every rule of the optimiser and every way to spread work over threads, if this version can switch them."""
        found = {"all rules on": ({}, {})}
        rules = optimiser_rules()
        if rules:
            found["all rules off"] = ({}, {"rules_off": rules})
        found |= {f"{rule} off": ({}, {"rules_off": [rule]}) for rule in rules}
        if "workers" in inspect.signature(mg.open).parameters:
            found |= {f"threads: {how}": (options, {}) for how, options in SPREAD.items()}
        return found

    def prepare(self, text):
        query, options = self.database.query, self.options

        def run(params):
            rows = query(text, params, **options).to_list()
            return [[row.objects] for row in rows] if rows and isinstance(rows[0], mg.Path) else rows

        return run

    def queries(self):
        def scalar(text):
            rows = self.rows(text)
            return lambda x: rows(x)[0]

        def person(x):
            found = point(x)[0]
            return found["name"], found["age"]

        point = self.rows("g.V(x).elementMap('name', 'age')")
        ages = scalar("g.V().hasLabel('Person').groupCount().by('age')")
        return {
            "point": [person],
            "hop1": [self.rows("g.V(x).out('knows').id()")],
            "hop2": [scalar("g.V(x).out('knows').out('knows').dedup().count()")],
            "hop3": [scalar("g.V(x).out('knows').out('knows').out('knows').dedup().count()")],
            "bfs4": [scalar("g.V(x).emit().repeat(__.out('knows').dedup()).times(4).dedup().count()")],
            "filter_count": [scalar("g.V().hasLabel('Person').has('age', P.gt(x)).count()")],
            "group_count": [ages],
        }

    def insert_edge(self, source, target, ts, weight):
        self.database.query(
            "g.V(a).addE('knows').to(__.V(b)).property('ts', ts).property('weight', w)", a=source, b=target, ts=ts, w=weight
        )

    def insert_batch(self, source, target, ts, weight):
        with self.database.ingest() as w:
            w.add_edges(("Person", "knows", "Person"), {"src": source, "dst": target, "ts": ts, "weight": weight})

    def edge_count(self):
        return self.database.query("g.E().hasLabel('knows').count()").to_list()[0]

    def close(self):
        self.database.close()


def optimiser_rules():
    """The names that `rules_off` knows. The error for an unknown name lists them."""
    with tempfile.TemporaryDirectory() as folder, mg.open(f"{folder}/empty") as database:
        try:
            database.explain("g.V()", rules_off=["?"])
        except ValueError as error:
            return str(error).partition(", only ")[2].split(", ")
        except mg.MangroveError:
            pass
    return []  # a version without such a switch


def make():
    return Mangrove()
