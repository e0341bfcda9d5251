"""Three reads of LDBC's network end to end, on files (GraphAr's Table 3): IS-3, IC-8 and BI-2."""

import json

import mangrovedb as mg
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import snb_tables
from measure import best, ms, table

QUERIES = {
    "IS-3": """g.V().has('Person', 'id', x).bothE('knows').as('k').otherV().as('f')
        .project('id', 'first', 'since').by('id').by('firstName').by(select('k').values('creationDate'))
        .order().by(select('since'), desc).by(select('id'))""",
    "IC-8": """g.V().has('Person', 'id', x).in('hasCreator').in('replyOf').order().by('creationDate', desc).by('id').limit(20).as('c')
        .out('hasCreator').as('a').select('a', 'c').by('id').by(project('id', 'date').by('id').by('creationDate'))""",
    # How often each tag of a class occurs in messages of two periods of a hundred days.
    "BI-2": """g.V().has('TagClass', 'name', x).in('hasType').project('tag', 'one', 'two').by('name')
        .by(__.in('hasTag').hasLabel('Post', 'Comment').has('creationDate', between(t, u)).count())
        .by(__.in('hasTag').hasLabel('Post', 'Comment').has('creationDate', between(u, v)).count())
        .order().by('tag')""",
}
DAYS_100 = 100 * 86_400_000


def run(scratch, folder):
    snb_tables.write(folder, scratch)
    db = mg.open(scratch / "db", durability="relaxed", id_space="label")
    db.load_lake(scratch / "map.yml", progress=False)
    db.export(scratch / "lake", "graphar")
    db.close()
    asked = json.loads((folder / "params.json").read_text())["ops"]
    person, other = asked["IS3"]["params"][0]["personId"], asked["IC8"]["params"][0]["personId"]
    dates = pq.read_table(scratch / "Comment.parquet", columns=["creationDate"])["creationDate"]
    start = pc.min(dates).as_py() + 3 * DAYS_100
    period = {"t": start, "u": start + DAYS_100, "v": start + 2 * DAYS_100}
    tag_class = pq.read_table(scratch / "TagClass.parquet")["name"][1].as_py()
    acero = Acero(scratch)
    works = {
        "IS-3": (lambda: acero.is3(person), {"x": person}),
        "IC-8": (lambda: acero.ic8(other), {"x": other}),
        "BI-2": (lambda: acero.bi2(tag_class, period), {"x": tag_class, **period}),
    }
    rows = []
    for name, (theirs, parameters) in works.items():
        wall, cpu, expected = best(theirs)
        cells = [f"{ms(wall)} ({ms(cpu)})"]
        lake = mg.open_lake(scratch / "lake/lake.graph.yml")
        tables = mg.open_lake(scratch / "map.yml")
        first = lambda: mg.open_lake(scratch / "lake/lake.graph.yml").query(QUERIES[name], parameters).to_list()
        for ours in (first, lambda: lake.query(QUERIES[name], parameters).to_list(), lambda: tables.query(QUERIES[name], parameters).to_list()):
            mine, mine_cpu, got = best(ours)
            assert plain(got) == plain(expected), (name, plain(got)[:3], plain(expected)[:3])
            cells.append(f"{ms(mine)} ({ms(mine_cpu)}), {wall / mine:,.3g}×")
        rows.append([name, *cells])
    about = "LDBC's network, files in memory. Wall time, CPU time in brackets, and how often Mangrove's fits into Acero's:"
    return about + "\n\n" + table(["read", "Acero", "Mangrove, lake opened for it", "Mangrove, lake", "Mangrove, plain tables"], rows)


def plain(rows):
    def flat(value):
        return [flat(item) for item in value.values()] if isinstance(value, dict) else value

    return [flat(row) for row in rows]


class Acero:
    """The reads as joins of tables, each read from its file with the columns that it needs and filters pushed down."""

    def __init__(self, folder):
        self.folder = folder

    def read(self, name, columns, filters=None):
        return pq.read_table(self.folder / f"{name}.parquet", columns=columns, filters=filters)

    def is3(self, person):
        out = self.read("Person_knows_Person", ["dst", "creationDate"], [("src", "=", person)]).rename_columns(["id", "since"])
        back = self.read("Person_knows_Person", ["src", "creationDate"], [("dst", "=", person)]).rename_columns(["id", "since"])
        friends = pa.concat_tables([out, back]).join(self.read("Person", ["id", "firstName"]), "id")
        found = friends.sort_by([("since", "descending"), ("id", "ascending")])
        return [{"id": row["id"], "first": row["firstName"], "since": row["since"]} for row in found.to_pylist()]

    def ic8(self, person):
        replies = []
        for label in ("Post", "Comment"):
            own = self.read(f"{label}_hasCreator_Person", ["src"], [("dst", "=", person)])
            reply = self.read(f"Comment_replyOf_{label}", ["src", "dst"])
            replies.append(reply.join(own, "dst", "src", join_type="inner").select(["src"]))
        found = pa.concat_tables(replies).rename_columns(["id"]).join(self.read("Comment", ["id", "creationDate"]), "id")
        latest = found.sort_by([("creationDate", "descending"), ("id", "ascending")]).slice(0, 20)
        authors = latest.join(self.read("Comment_hasCreator_Person", ["src", "dst"]), "id", "src")
        authors = authors.sort_by([("creationDate", "descending"), ("id", "ascending")])
        return [{"a": row["dst"], "c": {"id": row["id"], "date": row["creationDate"]}} for row in authors.to_pylist()]

    def bi2(self, tag_class, period):
        of_class = self.read("TagClass", ["id"], [("name", "=", tag_class)])
        tags = self.read("Tag_hasType_TagClass", ["src", "dst"]).join(of_class, "dst", "id", join_type="inner").select(["src"])
        tags = tags.join(self.read("Tag", ["id", "name"]), "src", "id").rename_columns(["tag", "name"])
        counts = {name: [0, 0] for name in tags["name"].to_pylist()}
        for label in ("Post", "Comment"):
            within = [("creationDate", ">=", period["t"]), ("creationDate", "<", period["v"])]
            messages = self.read(label, ["id", "creationDate"], within)
            tagged = self.read(f"{label}_hasTag_Tag", ["src", "dst"]).join(tags, "dst", "tag", join_type="inner")
            found = tagged.join(messages, "src", "id", join_type="inner")
            early = pc.less(found["creationDate"], period["u"])
            for at, of_period in ((0, found.filter(early)), (1, found.filter(pc.invert(early)))):
                for row in of_period.group_by("name").aggregate([("src", "count")]).to_pylist():
                    counts[row["name"]][at] += row["src_count"]
        return [{"tag": name, "one": one, "two": two} for name, (one, two) in sorted(counts.items())]
