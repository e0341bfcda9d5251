"""The questions of the tao suite, and the right answers, which plain Python and NumPy compute from the data.

TAO's reads concern one user (obj) or its edges of one label (assoc). `obj_get` gives all properties of a user, `assoc_range` its
ten latest edges, `assoc_get` the edges to some users, `assoc_count` their number, `assoc_time_range` the ten latest in a window.
GS1 to GS5 are ZipG's graph searches: friends by any label, those in a city, everyone in a city with an interest, friends by one
label, and the data of all edges. find_* search all users for a value: under a key with an index (if the engine has one), under a
key without, and in a text.

Users are drawn evenly. Lists of edges are drawn in proportion to their length, so long lists occur more often.
"""

import numpy as np

from answers import canonical

OPS = ("obj_get", "obj_property", "assoc_range", "assoc_get", "assoc_count", "assoc_time_range", "GS1", "GS2", "GS3", "GS4", "GS5",
       "find_equal", "find_scan", "find_text")
ORDERED = ("assoc_range", "assoc_time_range")
SPARSE = ("obj_get",)  # languages express absent values differently
OFTEN, SELDOM = 200, 40
LATEST = 10
WINDOW = 10 * 86_400


class Asked:
    """Questions about users and edges. They are drawn before the users are written, and answered afterwards."""

    def __init__(self, rng, people, links, types):
        self.rng, self.people, self.links, self.types = rng, people, links, types
        self.one = rng.integers(0, people.count, OFTEN).tolist()
        self.users = set(self.one)

    def questions(self):
        ops = {}
        for op in OPS:
            params = getattr(self, f"ask_{op}", self.ask_list)()
            rows = [getattr(self, op)(**{"type": one["type"], **one["with"]} if "with" in one else one) for one in params]
            ordered, sparse = op in ORDERED, op in SPARSE
            ops[op] = {"ordered": ordered, "sparse": sparse, "params": params, "answers": [canonical(r, ordered, sparse) for r in rows]}
        return {"vertices": self.people.count, "edges": len(self.links.source), "ops": ops}

    def chosen(self, count=OFTEN):
        """Random edges. The questions are about the lists they belong to."""
        return self.rng.integers(0, len(self.links.source), count).tolist()

    def typed(self, edge, **more):
        return {"type": self.types[self.links.type[edge]], "with": {"x": int(self.links.source[edge]), **more}}

    def value_of(self, key, count=SELDOM):
        """Values, in proportion to the number of users that have them."""
        values = self.people.seen[key]
        return [values[user] for user in self.rng.integers(0, self.people.count, count).tolist()]

    # ---- the questions

    def ask_list(self):
        return [self.typed(edge) for edge in self.chosen()]

    def ask_obj_get(self):
        return [{"x": user} for user in self.one]

    ask_obj_property = ask_obj_get

    def ask_assoc_get(self):
        """Asks for five users that such edges lead to (fewer if there are fewer) and for five others."""
        params = []
        for edge in self.chosen():
            there = self.links.lists.of(self.links.source[edge], self.links.type[edge])
            targets = self.links.target[self.rng.choice(there, min(5, len(there)), replace=False)]
            params.append(self.typed(edge, ids=[*targets.tolist(), *self.rng.integers(0, self.people.count, 5).tolist()]))
        return params

    def ask_assoc_time_range(self):
        return [self.typed(edge, lo=int(self.links.ts[edge]) - WINDOW, hi=int(self.links.ts[edge]) + WINDOW) for edge in self.chosen()]

    def ask_GS1(self):
        return [{"x": int(self.links.source[edge])} for edge in self.chosen()]

    ask_GS5 = ask_GS1

    def ask_GS2(self):
        cities = self.people.seen["city"]
        return [{"x": int(self.links.source[edge]), "c": cities[self.links.target[edge]]} for edge in self.chosen()]

    def ask_GS3(self):
        seen = self.people.seen
        users = self.rng.integers(0, self.people.count, SELDOM).tolist()
        return [{"c": seen["city"][user], "i": seen["interest"][user]} for user in users]

    def ask_find_equal(self):
        return [{"v": value} for value in self.value_of("employer")]

    def ask_find_scan(self):
        return [{"v": value} for value in self.value_of("school")]

    def ask_find_text(self):
        """Asks for a dozen letters from somewhere in a text."""
        found = []
        for text in self.value_of("bio"):
            at = int(self.rng.integers(0, max(1, len(text) - 12)))
            found.append({"v": text[at:at + 12].strip()})
        return found

    # ---- answers

    def edges(self, found):
        links = self.links
        return [[int(links.target[e]), int(links.ts[e]), links.payload[e]] for e in found]

    def list_of(self, type, x):
        return self.links.lists.of(x, self.types.index(type)).tolist()

    def obj_get(self, x):
        return [self.people.kept[x]]

    def obj_property(self, x):
        return [[self.people.property(x, "email")]]

    def assoc_range(self, type, x):
        return self.edges(self.list_of(type, x)[:-LATEST - 1:-1])

    def assoc_get(self, type, x, ids):
        wanted = set(ids)
        return self.edges(e for e in self.list_of(type, x) if self.links.target[e] in wanted)

    def assoc_count(self, type, x):
        return [[len(self.list_of(type, x))]]

    def assoc_time_range(self, type, x, lo, hi):
        return self.edges([e for e in self.list_of(type, x) if lo <= self.links.ts[e] < hi][:-LATEST - 1:-1])

    def GS1(self, x):
        return [[user, self.people.seen["name"][user]] for user in self.links.target[self.links.lists.all_of(x)].tolist()]

    def GS2(self, x, c):
        return [[user] for user in self.links.target[self.links.lists.all_of(x)].tolist() if self.people.seen["city"][user] == c]

    def GS3(self, c, i):
        seen = self.people.seen
        return [[user] for user in self.having("city", c) if seen["interest"][user] == i]

    def GS4(self, type, x):
        return [[int(self.links.target[e])] for e in self.list_of(type, x)]

    def GS5(self, x):
        return self.edges(self.links.lists.all_of(x).tolist())

    def find_equal(self, v):
        return [[user] for user in self.having("employer", v)]

    def find_scan(self, v):
        return [[user] for user in self.having("school", v)]

    def find_text(self, v):
        return [[user] for user, text in enumerate(self.people.seen["bio"]) if v in text]

    def having(self, key, value):
        return [user for user, its in enumerate(self.people.seen[key]) if its == value]
