"""A graph of papers, authors and venues with Grasper's queries Q1 to Q8. Each query runs on one vertex (or edge) and on a tenth of
them.

    Paper id,title,year,field,pages,award     six tenths of the vertices; ten fields; one paper in twenty has an award
    Author id,name,country,hindex             ten countries
    Venue id,name,kind                        one vertex in a hundred
    cites (date, kind) · writes (position) · published (year)

Papers are numbered in order of appearance and cite earlier ones. A few have very many citations. No pair is joined twice by one
label, so that engines that search for paths agree with engines that search for walks. NumPy computes the answers, not an engine.
"""

import json
from collections import Counter
from pathlib import Path

import numpy as np

from answers import canonical
from graph import INT, TEXT, Edges, Graph, Vertices, write

SEED = 20_191_120
VERTICES = 100_000
FIELDS = ("databases", "networks", "graphics", "theory", "security", "systems", "languages", "learning", "robotics", "biology")
COUNTRIES = ("Brazil", "Canada", "China", "France", "Germany", "India", "Italy", "Japan", "Kenya", "Norway")
YEARS = (1985, 2025)
FIRST_AUTHOR, FIRST_VENUE = 100_000_000, 200_000_000
LIGHT, HEAVY = 100, 10

PAPER = Vertices("Paper", {"id": INT, "title": TEXT, "year": INT, "field": TEXT, "pages": INT, "award": INT})
AUTHOR = Vertices("Author", {"id": INT, "name": TEXT, "country": TEXT, "hindex": INT})
VENUE = Vertices("Venue", {"id": INT, "name": TEXT, "kind": TEXT})
CITES = Edges("Paper", "cites", "Paper", {"date": INT, "kind": TEXT})
WRITES = Edges("Author", "writes", "Paper", {"position": INT})
PUBLISHED = Edges("Paper", "published", "Venue", {"year": INT})

OPS = tuple(f"Q{n}{form}" for n in range(1, 9) for form in ("L", "H"))
ORDERED = ("Q7L", "Q7H")


def describe(folder):
    return Graph(Path(folder), (PAPER, AUTHOR, VENUE), (CITES, WRITES, PUBLISHED))


def ensure(directory, vertices=VERTICES):
    folder = Path(directory) / f"citations-{vertices}"
    if not (folder / "params.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        make(folder, vertices)
    return folder


def make(folder, vertices):
    data = Data(np.random.default_rng(SEED + vertices), vertices)
    papers, authors = np.arange(data.papers), np.arange(data.authors)
    write(folder, PAPER, zip(papers.tolist(), map("Paper {:07}".format, papers), data.year.tolist(),
                             (FIELDS[f] for f in data.field), data.pages.tolist(), (a or None for a in data.award.tolist())))
    write(folder, AUTHOR, zip((FIRST_AUTHOR + authors).tolist(), map("Author {:07}".format, authors),
                              (COUNTRIES[c] for c in data.country), data.hindex.tolist()))
    write(folder, VENUE, ((FIRST_VENUE + v, f"Venue {v:05}", ("journal", "conference", "workshop")[v % 3]) for v in range(data.venues)))
    kinds = ("background", "method", "result")
    write(folder, CITES, zip(data.citing.tolist(), data.cited.tolist(), data.date.tolist(), (kinds[k] for k in data.kind)))
    write(folder, WRITES, zip((FIRST_AUTHOR + data.writer).tolist(), data.written.tolist(), data.position.tolist()))
    write(folder, PUBLISHED, zip(papers.tolist(), (FIRST_VENUE + data.venue).tolist(), data.year.tolist()))
    (folder / "params.json").write_text(json.dumps(questions(data)))


class Data:
    """The graph as arrays. Papers, authors and venues are counted from 0."""

    def __init__(self, rng, vertices):
        self.rng = rng
        self.venues = max(1, vertices // 100)
        self.papers = vertices * 6 // 10
        self.authors = vertices - self.papers - self.venues
        n = self.papers
        self.year = YEARS[0] + np.sort((rng.random(n) ** 0.5 * (YEARS[1] - YEARS[0])).astype(np.int64))
        self.field = rng.integers(0, len(FIELDS), n)
        self.pages = rng.integers(1, 40, n)
        self.award = np.where(rng.random(n) < 0.05, self.year + 1, 0)
        self.country = rng.integers(0, len(COUNTRIES), self.authors)
        self.hindex = np.minimum(rng.zipf(1.6, self.authors), 120)
        self.citing, self.cited = self.cite(vertices * 76 // 10)
        self.date = 1_000_000 + rng.permutation(len(self.citing))  # no two alike
        self.kind = rng.integers(0, 3, len(self.citing))
        fame = (self.authors * rng.random(vertices * 18 // 10) ** 2).astype(np.int64)
        self.writer, self.written = pairs(rng.permutation(self.authors)[fame], rng.integers(0, n, len(fame)), n)
        self.position = rng.integers(1, 6, len(self.writer))
        self.venue = (self.venues * rng.random(n) ** 2).astype(np.int64)

    def cite(self, count):
        fame = self.rng.permutation(self.papers)
        one, other = self.rng.integers(0, self.papers, count), fame[(self.papers * self.rng.random(count) ** 4).astype(np.int64)]
        apart = one != other
        return pairs(np.maximum(one, other)[apart], np.minimum(one, other)[apart], self.papers)


def pairs(source, target, width):
    """Each pair once."""
    return np.divmod(np.unique(source * width + target), width)


# ---- the questions


def questions(data):
    rng = data.rng
    cited = rng.choice(data.cited, LIGHT).tolist()  # so that papers with many citations occur more often
    edges = rng.choice(len(data.citing), LIGHT)
    dates = [{"x": d} for d in data.date[edges].tolist()]
    tenth = [{"x": 1_000_000 + len(data.date) // 10 + 100 * i} for i in range(HEAVY)]
    field = [{"x": name} for name in FIELDS]
    awarded = rng.choice(np.flatnonzero(data.award), LIGHT).tolist()
    writers = [{"x": FIRST_AUTHOR + int(w)} for w in rng.choice(data.writer, LIGHT)]
    country = [{"x": name} for name in COUNTRIES]
    papers = [{"x": paper} for paper in cited]
    params = {"Q2L": [{"x": paper} for paper in awarded], "Q4L": dates, "Q5L": dates, "Q7L": writers, "Q4H": tenth, "Q5H": tenth, "Q7H": country}
    ops = {}
    for op in OPS:
        asked = params.get(op, papers if op.endswith("L") else field)
        answer = Answers(data, light=op.endswith("L"))
        rows = [getattr(answer, op[:2].lower())(one["x"]) for one in asked]
        ordered = op in ORDERED
        ops[op] = {"ordered": ordered, "params": asked, "answers": [canonical(r, ordered) for r in rows]}
    return {"vertices": data.papers + data.authors + data.venues, "edges": len(data.citing) + len(data.writer) + data.papers, "ops": ops}


class Answers:
    """The right answers to queries/grasper.gremlin."""

    def __init__(self, data, light):
        self.data, self.light = data, light

    def chosen(self, x):
        """A mask of the papers that the filter keeps."""
        data = self.data
        return np.arange(data.papers) == x if self.light else data.field == FIELDS.index(x)

    def chosen_edges(self, x):
        return self.data.date == x if self.light else self.data.date < x

    def q1(self, x):
        return [[f"Paper {p:07}"] for p in np.flatnonzero(self.chosen(x))]

    def q2(self, x):
        return [[int(p)] for p in np.flatnonzero(self.chosen(x) & (self.data.award > 0))]

    def q3(self, x):
        years = self.data.year[self.data.citing[self.chosen(x)[self.data.cited]]]
        return [[int(years.max())]] if len(years) else []

    def q4(self, x):
        sources = np.unique(self.data.citing[self.chosen_edges(x)])
        return [[int((self.data.year[sources] > 2015).sum())]]

    def q5(self, x):
        data = self.data
        kept = self.chosen_edges(x) & (data.field[data.citing] != FIELDS.index("databases"))
        return sorted([kind, int(n)] for kind, n in Counter(("background", "method", "result")[k] for k in data.kind[kept]).items())

    def q6(self, x):
        data = self.data
        oldest = np.full(data.papers, 9999)
        np.minimum.at(oldest, data.citing, data.year[data.cited])
        often = np.bincount(data.cited, minlength=data.papers)
        return [[f"Paper {p:07}"] for p in np.flatnonzero(self.chosen(x) & (oldest < 1995) & (often > 20))]

    def q7(self, x):
        """The authors of papers that these authors wrote or cited there, without themselves, once for each way."""
        data = self.data
        starts = [x - FIRST_AUTHOR] if self.light else np.flatnonzero(data.country == COUNTRIES.index(x)).tolist()
        writings, citations, writers = self.lists()
        ways = Counter()
        for start in starts:
            papers = writings[start]
            reached = papers + [cited for paper in papers for cited in citations[paper]]
            ways.update(w for paper in reached for w in writers[paper] if w != start and data.hindex[w] > 10)
        best = sorted(ways, key=lambda w: (-data.hindex[w], w))
        return [[FIRST_AUTHOR + w] for w in (w for w in best for _ in range(min(20, ways[w])))][:20]

    def q8(self, x):
        data, chosen = self.data, self.chosen(x)
        arrivals = np.bincount(data.citing[chosen[data.cited]], minlength=data.papers)
        ends = (data.year[data.cited] > 2010) & ~chosen[data.cited]
        return [[int(arrivals[data.citing[ends]].sum())]]

    def lists(self):
        data = self.data
        if not hasattr(data, "as_lists"):
            data.as_lists = (grouped(data.writer, data.written, data.authors), grouped(data.citing, data.cited, data.papers),
                             grouped(data.written, data.writer, data.papers))
        return data.as_lists


def grouped(keys, values, count):
    order = np.argsort(keys, kind="stable")
    cuts = np.searchsorted(keys[order], np.arange(1, count))
    return [part.tolist() for part in np.split(values[order], cuts)]
