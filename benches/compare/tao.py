"""A graph like those of TAO: users with 40 properties each, and edges of five labels with a time and a payload.

    User       id and 40 properties: names, places, work, tastes, free text, times, keys (about 640 B a user; some are absent)
    friend, follows, likes, comments, tags    User to User: ts (seconds, no two alike, within 50 days), payload (128 B)

The shape is that of the graph in ZipG's measurements (SIGMOD 2017, section 5). Degrees are LinkBench's: 45 users in a hundred have
no edges out, few have very many. Values are drawn with Zipf's skew from vocabularies of made-up words. In texts, words tend to
follow the same words. Everything follows from the number of users and a fixed seed. One label joins a pair at most once.
"""

import json
from pathlib import Path

import numpy as np

import tao_answers
from graph import FLOAT, INT, TEXT, Edges, Graph, Vertices, write

SEED = 20_170_514
USERS = 200_000
EDGES_PER_100_USERS = 435
TYPES = ("friend", "follows", "likes", "comments", "tags")
BEGIN, SPAN = 1_400_000_000, 50 * 86_400
WITHOUT_EDGES = 0.45
PAYLOAD_BYTES = 128
ROWS_AT_ONCE = 20_000

PROPERTIES = {
    "name": TEXT, "nick": TEXT, "gender": TEXT, "birthday": INT, "age": INT, "hometown": TEXT, "city": TEXT, "zip": INT, "country": TEXT,
    "locale": TEXT, "tz": FLOAT, "email": TEXT, "phone": TEXT, "relationship": TEXT, "religion": TEXT, "politics": TEXT, "employer": TEXT,
    "job": TEXT, "school": TEXT, "degree": TEXT, "interest": TEXT, "graduated": INT, "bio": TEXT, "quote": TEXT, "music": TEXT,
    "movies": TEXT, "books": TEXT, "interests": TEXT, "website": TEXT, "photo": TEXT, "created": INT, "updated": INT, "last_seen": INT,
    "privacy": TEXT, "device": TEXT, "app_version": TEXT, "ip": TEXT, "token": TEXT, "status": TEXT, "friends": INT,
}
USER = Vertices("User", {"id": INT, **PROPERTIES}, name="users", indexed=("city", "interest", "employer"))
EDGES = tuple(Edges("User", label, "User", {"ts": INT, "payload": TEXT}) for label in TYPES)
OPS = tao_answers.OPS


def describe(folder):
    return Graph(Path(folder), (USER,), EDGES, time="ts")


def ensure(directory, users=USERS):
    folder = Path(directory) / f"tao-{users}"
    if not (folder / "params.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        make(folder, users)
    return folder


def make(folder, count):
    rng = np.random.default_rng(SEED + count)
    people, links = People(rng, count), Links(rng, count)
    asked = tao_answers.Asked(rng, people, links, TYPES)
    write(folder, USER, people.rows(asked.users))
    for at, table in enumerate(EDGES):
        of_type = np.flatnonzero(links.type == at)
        columns = (links.source[of_type], links.target[of_type], links.ts[of_type])
        write(folder, table, zip(*(column.tolist() for column in columns), (links.payload[e] for e in of_type.tolist())))
    np.save(folder / "edges.npy", np.stack([links.source, links.type, links.target, links.ts], axis=1))
    (folder / "params.json").write_text(json.dumps(asked.questions()))


class Links:
    """The edges as arrays, in the order of their times."""

    def __init__(self, rng, users):
        count, first = users * EDGES_PER_100_USERS // 100, int(users * WITHOUT_EDGES)
        # A user's rank by edges out, and by edges in. The two correlate but are not the same.
        out, into = rng.permutation(users), np.argsort(rng.random(users))
        into = np.where(rng.random(users) < 0.5, out, into)
        found = np.empty(0, np.int64)
        while len(found) < count:
            more = int(1.2 * (count - len(found))) + 100
            source = out[(((users - first) * rng.random(more) ** 2.5)).astype(np.int64)]
            target = into[(users * rng.random(more) ** 2).astype(np.int64)]
            apart = source != target
            keys = (source[apart] * len(TYPES) + rng.integers(0, len(TYPES), int(apart.sum()))) * users + target[apart]
            found = np.unique(np.concatenate([found, keys]))
        found = rng.permutation(found)[:count]
        self.source, self.type, self.target = found // users // len(TYPES), found // users % len(TYPES), found % users
        step = max(1, SPAN // count)
        self.ts = BEGIN + np.arange(count) * step + rng.integers(0, step, count)
        self.payload = payloads(rng, count)
        self.lists = Lists(self.source, self.type, users)


class Lists:
    """Edges by source and label, latest last."""

    def __init__(self, source, label, users):
        keys = source * len(TYPES) + label
        self.order = np.argsort(keys, kind="stable")
        self.first = np.searchsorted(keys[self.order], np.arange(users * len(TYPES) + 1))

    def of(self, user, label):
        at = user * len(TYPES) + label
        return self.order[self.first[at]:self.first[at + 1]]

    def all_of(self, user):
        return self.order[self.first[user * len(TYPES)]:self.first[(user + 1) * len(TYPES)]]

    def degrees(self):
        return np.diff(self.first[::len(TYPES)])


# ---- values

SYLLABLES = ("ka ri mo ta len dor vis ham ber ton ing sal mar jo el an do ra li na che bro wn smi th wal ker gar cia rod guez lo pez wil "
             "son mil ler da tay lor der ver quin os fre").split()


class Vocabulary:
    """Distinct words with a given number of syllables, drawn with Zipf's skew. Some consist of two words."""

    def __init__(self, rng, count, low, high, skew, capital=True, two=0.0):
        self.rng, found = rng, {}
        while len(found) < count:
            for word, more in zip(self.made(count, low, high), self.made(count, low, high)):
                word, more = (word.capitalize(), more.capitalize()) if capital else (word, more)
                found.setdefault(f"{word} {more}" if rng.random() < two else word)
        self.words = list(found)[:count]
        weights = np.cumsum(np.arange(1, count + 1) ** -skew)
        self.cumulative = weights / weights[-1]

    def made(self, count, low, high):
        lengths = self.rng.integers(low, high + 1, count).tolist()
        parts = self.rng.integers(0, len(SYLLABLES), (count, high)).tolist()
        return ["".join(SYLLABLES[p] for p in part[:length]) for part, length in zip(parts, lengths)]

    def at(self, count):
        return np.minimum(np.searchsorted(self.cumulative, self.rng.random(count)), len(self.words) - 1)

    def draw(self, count):
        return [self.words[i] for i in self.at(count).tolist()]

    def lists(self, low, high, count):
        """Lists of words, as texts with slashes between the words."""
        sizes = self.rng.integers(low, high + 1, count)
        words, ends = self.draw(int(sizes.sum())), np.cumsum(sizes).tolist()
        return ["/".join(words[end - size:end]) or None for size, end in zip(sizes.tolist(), ends)]


class Prose:
    """Texts from a vocabulary. Half of the words are one of the eight that usually follow the previous word."""

    def __init__(self, rng):
        self.rng, self.vocabulary = rng, Vocabulary(rng, 5_000, 1, 3, 1.0, capital=False)
        self.after = self.vocabulary.at(8 * 5_000).reshape(5_000, 8)
        self.letters = sum(map(len, self.vocabulary.words[:500])) / 500

    def texts(self, bytes_low, bytes_high, count):
        """Texts of at most `bytes_high` bytes, cut between words."""
        sizes = self.rng.integers(bytes_low, bytes_high + 1, count)
        words = (sizes / self.letters).astype(np.int64) + 2
        drawn = self.vocabulary.at(int(words.sum()))
        follows = self.after[drawn[:-1], (8 * self.rng.random(len(drawn) - 1) ** 2).astype(np.int64)]
        drawn[1:] = np.where(self.rng.random(len(follows)) < 0.5, follows, drawn[1:])
        tokens, ends = [self.vocabulary.words[i] for i in drawn.tolist()], np.cumsum(words).tolist()
        for size, number, end in zip(sizes.tolist(), words.tolist(), ends):
            text = " ".join(tokens[end - number:end])
            yield text if len(text) <= size else text[:size + 1].rpartition(" ")[0] or text[:size]


def payloads(rng, count):
    """Payloads of one length: a head of fields, then text."""
    prose, found = Prose(rng), []
    for first in range(0, count, 5 * ROWS_AT_ONCE):
        some = min(5 * ROWS_AT_ONCE, count - first)
        heads = zip(rng.integers(0, 1 << 32, some).tolist(), rng.integers(0, 5, some).tolist(), pick(rng, ("web", "ios", "android"), some))
        texts = prose.texts(PAYLOAD_BYTES, PAYLOAD_BYTES, some)
        whole = (f"{key:08x}:{kind}:{device}:{text}" for (key, kind, device), text in zip(heads, texts))
        found += [text[:PAYLOAD_BYTES - 1].ljust(PAYLOAD_BYTES - 1, ".") + "." for text in whole]
    return found


class People:
    """The users, generated in parts while they are written. The searched values are known for all users, all others only for those
    that `rows` is told to keep."""

    def __init__(self, rng, count):
        self.rng, self.count, self.kept = rng, count, {}
        self.seen = {key: [] for key in ("name", "city", "interest", "employer", "school", "bio")}

    def rows(self, kept):
        """All users, in the form of the table."""
        values = Values(self.rng)
        for first in range(0, self.count, ROWS_AT_ONCE):
            some = min(ROWS_AT_ONCE, self.count - first)
            columns = values.columns(some)
            assert list(columns) == list(PROPERTIES)
            for key, column in self.seen.items():
                column += columns[key]
            for row in zip(range(first, first + some), *columns.values()):
                if row[0] in kept:
                    self.kept[row[0]] = row
                yield row

    def property(self, user, key):
        return self.kept[user][USER.header().index(key)]


class Values:
    """The sources of the values of users."""

    def __init__(self, rng):
        self.rng, self.prose = rng, Prose(rng)
        sizes = {
            "first": (4_000, 2, 3, 0.8), "last": (20_000, 2, 4, 0.8), "city": (8_000, 2, 4, 0.9, True, 0.25),
            "country": (150, 2, 3, 1.1, True, 0.2), "employer": (20_000, 2, 4, 0.9, True, 0.6), "job": (2_000, 3, 5, 0.9, True, 0.8),
            "school": (6_000, 2, 4, 0.8, True, 0.7), "artist": (30_000, 2, 4, 0.9, True, 0.5), "movie": (20_000, 2, 5, 0.9, True, 0.6),
            "book": (20_000, 2, 5, 0.9, True, 0.6), "interest": (3_000, 2, 4, 0.9, False, 0.3), "domain": (300, 2, 3, 1.3, False),
        }
        self.of = {key: Vocabulary(rng, *size) for key, size in sizes.items()}

    def columns(self, n):
        """The properties of n users: a list each, in the order of the table."""
        rng, of = self.rng, {key: vocabulary.draw for key, vocabulary in self.of.items()}
        numbers = lambda low, high: rng.integers(low, high + 1, n).tolist()
        maybe = lambda share, values: [value if r < share else None for r, value in zip(rng.random(n).tolist(), values)]
        first, last, city, other, domain = of["first"](n), of["last"](n), of["city"](n), of["city"](n), of["domain"](n)
        city = [one if r < 0.5 else two for r, one, two in zip(rng.random(n).tolist(), other, city)]
        year = np.clip(rng.normal(1988, 12, n).astype(np.int64), 1930, 2008)
        born = year * 10_000 + rng.integers(1, 13, n) * 100 + rng.integers(1, 29, n)
        created = 1_262_304_000 + (4e8 * rng.random(n)).astype(np.int64)
        updated = created + rng.exponential(1e8, n).astype(np.int64)
        key = rng.integers(0, 1 << 40, n).tolist()
        small = [name.lower() for name in first]
        return {
            "name": [f"{a} {b}" for a, b in zip(first, last)],
            "nick": [a[:cut] + (str(k) if k < 30 else "") for a, cut, k in zip(small, numbers(3, 5), numbers(1, 99))],
            "gender": pick(rng, "MMMFFFO", n), "birthday": born.tolist(), "age": (2026 - year).tolist(),
            "hometown": other, "city": city, "zip": numbers(10_000, 99_999), "country": of["country"](n),
            "locale": pick(rng, ["en_US"] * 5 + ["en_GB", "es_LA", "pt_BR", "fr_FR", "de_DE", "hi_IN"], n),
            "tz": pick(rng, [-8.0, -5.0, -6.0, 0.0, 1.0, 5.5, 8.0, 9.0], n),
            "email": [f"{a}.{b.lower()}{k}@{d}.com" for a, b, k, d in zip(small, last, numbers(1, 999), domain)],
            "phone": [f"+1{k}" for k in numbers(2_000_000_000, 9_999_999_999)],
            "relationship": pick(rng, ["single", "married", "in a relationship", "engaged", "complicated", None], n),
            "religion": pick(rng, ["Christian", "Muslim", "Hindu", "Buddhist", "Agnostic", None, None], n),
            "politics": pick(rng, ["liberal", "moderate", "conservative", None, None, None], n),
            "employer": of["employer"](n), "job": of["job"](n), "school": of["school"](n),
            "degree": pick(rng, ["BA", "BSc", "MSc", "MBA", "PhD", None, None], n),
            "interest": of["interest"](n), "graduated": (year + 22).tolist(),
            "bio": list(self.prose.texts(25, 125, n)), "quote": maybe(0.6, self.prose.texts(20, 100, n)),
            "music": self.of["artist"].lists(1, 3, n), "movies": self.of["movie"].lists(0, 2, n), "books": self.of["book"].lists(0, 2, n),
            "interests": self.of["interest"].lists(1, 4, n),
            "website": maybe(0.4, (f"https://www.{d}.com/{a}{b.lower()}" for a, b, d in zip(small, last, domain))),
            "photo": [f"https://cdn.photos.net/p{p}/{k:010x}_n.jpg" for p, k in zip(numbers(1, 64), key)],
            "created": created.tolist(), "updated": updated.tolist(), "last_seen": (updated + rng.integers(0, 10**7, n)).tolist(),
            "privacy": pick(rng, ["friends", "friends", "public", "fof", "only_me"], n),
            "device": [f"{d}/{k}" for d, k in zip(pick(rng, ["iPhone", "Android", "Web", "iPad", "WindowsPhone"], n), numbers(4, 14))],
            "app_version": [f"v{a}.{b}.{c}" for a, b, c in zip(numbers(20, 40), numbers(0, 9), numbers(0, 30))],
            "ip": [".".join(map(str, part)) for part in rng.integers(1, 255, (n, 4)).tolist()],
            "token": [f"{a:012x}{b:012x}" for a, b in rng.integers(0, 1 << 48, (n, 2)).tolist()],
            "status": list(self.prose.texts(20, 90, n)), "friends": np.minimum(rng.pareto(0.9, n) * 20, 5_000).astype(np.int64).tolist(),
        }


def pick(rng, choices, count):
    return [choices[i] for i in rng.integers(0, len(choices), count).tolist()]
