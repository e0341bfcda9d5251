"""LDBC's social network, generated or read, with the interactive reads IS1 to IS7 and IC1 to IC14.

Labels, edges, properties and the form of ids are LDBC's. Ids are sparse and count up with time. Posts and comments share one range
of ids; persons, forums, tags and places each have their own. Times are milliseconds since 1970, birthdays numbers like 19840229.
LDBC's lists (speaks, email) are left out. `knows` is stored once and read both ways.

`generate` makes a network with the shape of a scale factor (SF0.1: 1,528 persons). `convert` turns a folder of LDBC's own SF0.1
tables (Person.csv.gz, post_hasCreator.csv.gz …) into the same files. If a folder lacks a table, the reads that need it are left
out.
"""

import csv
import gzip
import json
from datetime import datetime, timezone
from pathlib import Path

import numpy as np

import snb_answers
from graph import INT, TEXT, Edges, Graph, Vertices, write

SEED = 20_150_531
PERSONS = 1_528  # SF0.1

MESSAGE = {"id": INT, "creationDate": INT, "locationIP": TEXT, "browserUsed": TEXT, "content": TEXT, "length": INT}
NAMED = {"id": INT, "name": TEXT, "url": TEXT}
CREATED, JOINED = {"creationDate": INT}, {"joinDate": INT}
VERTICES = (
    Vertices("Person", {"id": INT, "firstName": TEXT, "lastName": TEXT, "gender": TEXT, "birthday": INT, "creationDate": INT,
                        "locationIP": TEXT, "browserUsed": TEXT}),
    Vertices("Post", MESSAGE, also=("Message",)),
    Vertices("Comment", MESSAGE, also=("Message",)),
    Vertices("Forum", {"id": INT, "title": TEXT, "creationDate": INT}),
    *(Vertices(label, NAMED) for label in ("Tag", "TagClass", "City", "Country", "Continent", "Company", "University")),
)
EDGES = (
    Edges("Person", "knows", "Person", CREATED),
    Edges("Post", "hasCreator", "Person", {}),
    Edges("Comment", "hasCreator", "Person", {}),
    Edges("Person", "likes", "Post", CREATED),
    Edges("Person", "likes", "Comment", CREATED),
    Edges("Comment", "replyOf", "Post", {}),
    Edges("Comment", "replyOf", "Comment", {}),
    Edges("Forum", "containerOf", "Post", {}),
    Edges("Forum", "hasModerator", "Person", {}),
    Edges("Forum", "hasMember", "Person", JOINED),
    Edges("Post", "hasTag", "Tag", {}),
    Edges("Comment", "hasTag", "Tag", {}),
    Edges("Forum", "hasTag", "Tag", {}),
    Edges("Person", "hasInterest", "Tag", {}),
    Edges("Tag", "hasType", "TagClass", {}),
    Edges("TagClass", "isSubclassOf", "TagClass", {}),
    Edges("Person", "isLocatedIn", "City", {}),
    Edges("Post", "isLocatedIn", "Country", {}),
    Edges("Comment", "isLocatedIn", "Country", {}),
    Edges("Company", "isLocatedIn", "Country", {}),
    Edges("University", "isLocatedIn", "City", {}),
    Edges("City", "isPartOf", "Country", {}),
    Edges("Country", "isPartOf", "Continent", {}),
    Edges("Person", "studyAt", "University", {"classYear": INT}),
    Edges("Person", "workAt", "Company", {"workFrom": INT}),
)

OPS = tuple(f"IS{n}" for n in range(1, 8)) + tuple(f"IC{n}" for n in range(1, 15))


def describe(folder):
    """The tables in a folder."""
    folder = Path(folder)
    there = [tuple(t for t in tables if (folder / t.file).exists()) for tables in (VERTICES, EDGES)]
    return Graph(folder, *there, shared_ids=True)


def ensure(directory, persons=PERSONS, source=None):
    """The folder of the data set. If it does not exist, it is converted from `source`, or generated if there is no source."""
    folder = Path(directory) / (f"snb-{Path(source).name}" if source else f"snb-{persons}")
    if not (folder / "params.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        convert(Path(source), folder) if source else Generator(folder, persons).write()
        (folder / "params.json").write_text(json.dumps(snb_answers.questions(describe(folder))))
    return folder


# ---- reading LDBC's tables

# Our table ← their file, with the values of their column `label` if one file holds several of our labels.
FILES = {
    "Post_hasCreator_Person": "post_hasCreator", "Comment_hasCreator_Person": "comment_hasCreator", "Person_likes_Post": "likes_Post",
    "Person_likes_Comment": "likes_Comment", "Comment_replyOf_Post": "replyOf_Post", "Comment_replyOf_Comment": "replyOf_Comment",
    "Forum_containerOf_Post": "containerOf", "Forum_hasModerator_Person": "hasModerator", "Post_hasTag_Tag": "post_hasTag",
    "Person_hasInterest_Tag": "hasInterest", "Person_isLocatedIn_City": "person_isLocatedIn", "Person_knows_Person": "knows",
    "City_isPartOf_Country": "isPartOf", "Country_isPartOf_Continent": "isPartOf", "Person_studyAt_University": "studyAt",
    "Person_workAt_Company": "workAt", "City": "Place", "Country": "Place", "Continent": "Place", "Company": "Organisation",
    "University": "Organisation",
}
DATES = {"creationDate", "joinDate"}


def convert(source, folder):
    ids = {}
    for table in VERTICES:
        file = source / f"{FILES.get(table.label, table.label)}.csv.gz"
        if file.exists():
            rows = [row for row in their_rows(file) if row.get("label", table.label) == table.label]
            ids[table.label] = {row["id"] for row in rows}
            write(folder, table, (ours(row, table.header()) for row in rows))
    for table in EDGES:
        file = source / f"{FILES.get(Path(table.file).stem, table.label + '.none')}.csv.gz"
        if file.exists():
            rows = (row for row in their_rows(file) if row["src"] in ids[table.source] and row["dst"] in ids[table.target])
            write(folder, table, (ours(row, table.header()) for row in rows))


def their_rows(file):
    with gzip.open(file, "rt", newline="", encoding="utf-8") as text:
        yield from csv.DictReader(text)


def ours(row, header):
    return [milliseconds(row[key]) if key in DATES else row[key] for key in header]


def milliseconds(text):
    """20100214153210447 → 1266161530447."""
    seconds = datetime.strptime(text[:14], "%Y%m%d%H%M%S").replace(tzinfo=timezone.utc).timestamp()
    return int(seconds) * 1000 + int(text[14:17])


# ---- generating

DAY = 86_400_000
BEGIN, END = 1_262_304_000_000, 1_356_998_400_000  # 2010 to 2012
FIRST_NAMES = ("Jan", "Maria", "Chen", "Yang", "John", "Ali", "Carlos", "Anna", "Peter", "Jun", "Amina", "Ivan", "Lena", "Omar", "Rosa", "Kim",
               "Paul", "Emma", "Raj", "Sofia", "Ken", "Otto", "Mia", "Leo", "Zoe", "Abdul", "Bruno", "Clara", "David", "Eva", "Fatima",
               "Georg", "Hana", "Igor", "Julia", "Karl", "Lucas", "Mehmet", "Nina", "Olga")
LAST_NAMES = ("Smith", "Garcia", "Khan", "Wang", "Li", "Mueller", "Silva", "Rossi", "Sato", "Kumar", "Novak", "Dubois", "Jansen", "Costa",
              "Petrov", "Kowalski", "Hansen", "Nguyen", "Okafor", "Diaz", "Zhang", "Yilmaz", "Horvat", "Berg", "Moreau", "Alvarez")
BROWSERS = ("Firefox", "Chrome", "Internet Explorer", "Safari", "Opera")
CONTINENTS = ("Africa", "Asia", "Europe", "North_America", "Oceania", "South_America")
COUNTRIES, CITIES, UNIVERSITIES, COMPANIES, TAGS, CLASSES = 111, 1_343, 6_380, 1_575, 16_080, 71


class Generator:
    """A network of `persons`. Everything else follows from their number, the proportions of SF0.1 and a fixed seed."""

    def __init__(self, folder, persons):
        self.folder, self.persons = folder, persons
        self.rng = np.random.default_rng(SEED + persons)
        self.tables = {Path(t.file).stem: t for t in (*VERTICES, *EDGES)}

    def write(self):
        self.world()
        self.people()
        self.friendships()
        self.forums()
        self.posts()
        self.comments()
        self.likes()
        self.tags()

    def put(self, name, *columns):
        """Writes a table from columns in the order of its header. A column without a length is one value for all rows."""
        count = max(len(c) for c in columns if hasattr(c, "__len__") and not isinstance(c, str))
        lists = [c.tolist() if isinstance(c, np.ndarray) else c if isinstance(c, list) else [c] * count for c in columns]
        write(self.folder, self.tables[name], zip(*lists, strict=True))

    def skewed(self, below, count, power=2.0):
        """Numbers below `below`. Small ones are most frequent."""
        return (below * self.rng.random(count) ** power).astype(np.int64)

    def after(self, *times):
        """A moment after all of these: mostly soon, always before the end."""
        late = np.maximum.reduce([np.asarray(t, np.float64) for t in times])
        return (late + 1 + (END - late - 1) * self.rng.random(len(late)) ** 3).astype(np.int64)

    def named(self, label, count, title):
        names = [f"{title}_{i}" for i in range(count)]
        self.put(label, np.arange(count), names, [f"http://example.org/{name}" for name in names])

    def world(self):
        """Places, organisations, tags and their classes."""
        rng = self.rng
        for label, count in (("City", CITIES), ("Country", COUNTRIES), ("Company", COMPANIES), ("University", UNIVERSITIES), ("Tag", TAGS),
                             ("TagClass", CLASSES)):
            self.named(label, count, label)
        self.put("Continent", np.arange(6), list(CONTINENTS), [f"http://example.org/{name}" for name in CONTINENTS])
        self.country_of_city = np.concatenate([np.arange(COUNTRIES), self.skewed(COUNTRIES, CITIES - COUNTRIES)])
        self.put("City_isPartOf_Country", np.arange(CITIES), self.country_of_city)
        self.put("Country_isPartOf_Continent", np.arange(COUNTRIES), rng.integers(0, 6, COUNTRIES))
        self.put("Company_isLocatedIn_Country", np.arange(COMPANIES), self.skewed(COUNTRIES, COMPANIES))
        self.put("University_isLocatedIn_City", np.arange(UNIVERSITIES), self.skewed(CITIES, UNIVERSITIES))
        self.put("Tag_hasType_TagClass", np.arange(TAGS), self.skewed(CLASSES, TAGS))
        children = np.arange(1, CLASSES)
        self.put("TagClass_isSubclassOf_TagClass", children, (children - 1) // 3)

    def people(self):
        rng, count = self.rng, self.persons
        self.joined = np.sort(rng.integers(BEGIN, BEGIN + 700 * DAY, count))
        self.person = ids(self.joined, 30)
        self.city = self.skewed(CITIES, count)
        self.activity = rng.permutation(count)  # rank: the person at 0 does most
        birthday = rng.integers(1960, 1996, count) * 10_000 + rng.integers(1, 13, count) * 100 + rng.integers(1, 29, count)
        self.put("Person", self.person, pick(FIRST_NAMES, self.skewed(len(FIRST_NAMES), count)),
                 pick(LAST_NAMES, self.skewed(len(LAST_NAMES), count)), pick(("male", "female"), rng.integers(0, 2, count)), birthday,
                 self.joined, self.addresses(count), pick(BROWSERS, self.skewed(len(BROWSERS), count)))
        self.put("Person_isLocatedIn_City", self.person, self.city)
        studied = np.flatnonzero(rng.random(count) < 0.8)
        self.put("Person_studyAt_University", self.person[studied], rng.integers(0, UNIVERSITIES, len(studied)),
                 birthday[studied] // 10_000 + rng.integers(19, 25, len(studied)))
        worker, company = distinct(rng.integers(0, count, count * 22 // 10), self.skewed(COMPANIES, count * 22 // 10))
        self.put("Person_workAt_Company", self.person[worker], company, rng.integers(1998, 2013, len(worker)))
        self.interest = distinct(np.repeat(np.arange(count), 23), self.skewed(TAGS, 23 * count, 3))
        self.put("Person_hasInterest_Tag", self.person[self.interest[0]], self.interest[1])

    def addresses(self, count):
        return [".".join(map(str, parts)) for parts in self.rng.integers(1, 255, (count, 4)).tolist()]

    def active(self, count):
        return self.activity[self.skewed(self.persons, count)]

    def friendships(self):
        """Half with people of near-by cities, half with anyone. Active people have the most."""
        rng, count = self.rng, self.persons * 10
        order = np.argsort(self.city, kind="stable")
        place = np.argsort(order)
        one, other = self.active(count), self.active(count)
        near = order[(place[one] + rng.integers(1, 40, count)) % self.persons]
        other = np.where(rng.random(count) < 0.5, near, other)
        low, high = distinct(np.minimum(one, other)[one != other], np.maximum(one, other)[one != other])
        self.put("Person_knows_Person", self.person[low], self.person[high], self.after(self.joined[low], self.joined[high]))
        ends, friends = np.concatenate([low, high]), np.concatenate([high, low])
        by_person = np.argsort(ends, kind="stable")
        self.friends, self.first_friend = friends[by_person], np.searchsorted(ends[by_person], np.arange(self.persons + 1))

    def friend_of(self, people):
        """One friend of each person, or anybody for a person without friends."""
        first, last = self.first_friend[people], self.first_friend[people + 1]
        at = first + (self.rng.random(len(people)) * (last - first)).astype(np.int64)
        found = self.friends[np.minimum(at, len(self.friends) - 1)]
        return np.where(last > first, found, self.rng.integers(0, self.persons, len(people)))

    def forums(self):
        """A wall for everyone, whose members are friends. Groups and albums, whose members include anyone's friends."""
        rng, count = self.rng, self.persons * 9
        self.moderator = np.concatenate([np.arange(self.persons), self.active(count - self.persons)])
        opened = self.after(self.joined[self.moderator])
        order = np.argsort(opened, kind="stable")
        self.moderator, self.opened, wall = self.moderator[order], opened[order], order < self.persons
        self.forum = ids(self.opened, 20)
        self.put("Forum", self.forum, [f"{'Wall' if w else 'Group'} {i}" for i, w in enumerate(wall.tolist())], self.opened)
        self.put("Forum_hasModerator_Person", self.forum, self.person[self.moderator])
        into = np.concatenate([np.repeat(np.arange(count), 4), self.skewed(count, 6 * count, 3)])
        who = self.friend_of(self.moderator[into])
        who = np.where(rng.random(len(who)) < 0.3, self.friend_of(who), who)
        self.membership = distinct(into, who)
        into, who = self.membership
        self.put("Forum_hasMember_Person", self.forum[into], self.person[who], self.after(self.opened[into], self.joined[who]))

    def posts(self):
        """Posts by moderators and members. The busiest forums have the most."""
        rng, count = self.rng, self.persons * 89
        into, who = self.membership
        by_activity = np.argsort(np.argsort(self.activity)[who], kind="stable")
        member = by_activity[self.skewed(len(who), count)]
        moderated = rng.random(count) < 0.2
        busy = self.skewed(len(self.forum), count)
        self.post_forum = np.where(moderated, busy, into[member])
        self.post_creator = np.where(moderated, self.moderator[busy], who[member])
        self.post_date = self.after(self.opened[self.post_forum], self.joined[self.post_creator])

    def comments(self):
        """Comments in levels. Half answer posts, the rest answer comments of the level before. Most authors are friends of the one
        they answer."""
        total = self.persons * 99
        parents, creators, dates, levels = [], [], [], []
        above_creator, above_date, first_above = self.post_creator, self.post_date, None
        begin = 0
        for size in (total // 2, total // 4, total * 3 // 20, total - total // 2 - total // 4 - total * 3 // 20):
            parent = self.skewed(len(above_date), size, 1.5)
            creator = np.where(self.rng.random(size) < 0.8, self.friend_of(above_creator[parent]), self.active(size))
            date = self.after(above_date[parent], self.joined[creator])
            parents.append(parent if first_above is None else parent + first_above)
            levels.append(np.full(size, first_above is None))
            creators.append(creator)
            dates.append(date)
            above_creator, above_date, first_above, begin = creator, date, begin, begin + size
        self.comment_creator, self.comment_date = np.concatenate(creators), np.concatenate(dates)
        self.write_messages(np.concatenate(parents), np.concatenate(levels))

    def write_messages(self, parents, answers_post):
        """Writes posts and comments. They share one range of ids, which counts up with time."""
        split = len(self.post_date)
        dates = np.concatenate([self.post_date, self.comment_date])
        order = np.argsort(dates, kind="stable")
        message = np.empty_like(order)
        message[order] = ids(dates[order], 25)
        self.post, self.comment = message[:split], message[split:]
        for label, key, creator, date in (("Post", self.post, self.post_creator, self.post_date),
                                          ("Comment", self.comment, self.comment_creator, self.comment_date)):
            length = self.rng.integers(20, 160, len(key))
            texts = [f"About {label} {i} ".ljust(n, "x") for i, n in zip(key.tolist(), length.tolist())]
            self.put(label, key, date, self.addresses(len(key)), pick(BROWSERS, self.skewed(len(BROWSERS), len(key))), texts,
                     np.array([len(text) for text in texts]))
            self.put(f"{label}_hasCreator_Person", key, self.person[creator])
            home = self.country_of_city[self.city[creator]]
            abroad = self.rng.random(len(key)) < 0.1
            self.put(f"{label}_isLocatedIn_Country", key, np.where(abroad, self.skewed(COUNTRIES, len(key)), home))
        self.put("Forum_containerOf_Post", self.forum[self.post_forum], self.post)
        self.put("Comment_replyOf_Post", self.comment[answers_post], self.post[parents[answers_post]])
        self.put("Comment_replyOf_Comment", self.comment[~answers_post], self.comment[parents[~answers_post]])

    def likes(self):
        for label, key, creator, date, rate in (("Post", self.post, self.post_creator, self.post_date, 31),
                                                ("Comment", self.comment, self.comment_creator, self.comment_date, 41)):
            liked = self.skewed(len(key), self.persons * rate, 1.5)
            who, liked = distinct(self.friend_of(creator[liked]), liked)
            self.put(f"Person_likes_{label}", self.person[who], key[liked], self.after(date[liked], self.joined[who]))

    def tags(self):
        """Tags, mostly from the interests of the creator."""
        who, tag = self.interest
        first = np.searchsorted(who, np.arange(self.persons + 1))
        for label, key, creator, rate in (("Post", self.post, self.post_creator, 0.8), ("Comment", self.comment, self.comment_creator, 0.9),
                                          ("Forum", self.forum, self.moderator, 3.0)):
            about = self.rng.integers(0, len(key), int(rate * len(key)))
            begin, end = first[creator[about]], first[creator[about] + 1]
            own = tag[begin + (self.rng.random(len(about)) * (end - begin)).astype(np.int64)]
            about, tagged = distinct(about, np.where(self.rng.random(len(about)) < 0.7, own, self.skewed(TAGS, len(about), 3)))
            self.put(f"{label}_hasTag_Tag", key[about], tagged)


def ids(times, bits):
    """Sparse ids that count up with time: the ten-day period in the high bits, a running number below."""
    return ((times - BEGIN) // (10 * DAY) << bits) + np.arange(len(times))


def distinct(left, right):
    width = int(right.max()) + 1
    return np.divmod(np.unique(left * width + right), width)


def pick(names, at):
    return [names[i] for i in at.tolist()]
