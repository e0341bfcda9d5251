"""The right answers to LDBC's interactive reads, and their parameters. Plain Python computes them from the CSV files, not an
engine.

Columns are LDBC's, with three exceptions. IC1 gives only the names of universities and companies. IC7 gives no latency. IC14 gives
the paths without weights, because the Cypher of most peers cannot express them. Where LDBC leaves the order of equal rows open, ids
decide.
"""

import random
from collections import Counter, defaultdict
from functools import cached_property

from answers import canonical
from graph import dicts, vertices

SEED = 20_150_531
SHORT, COMPLEX = 200, 20
DAY = 86_400_000
# Reads whose rows have no defined order. They are compared as a set.
UNORDERED = {"IS1", "IS4", "IS5", "IS6", "IC13", "IC14"}
# The tables that a read needs, without those that every folder has.
NEEDS = {
    "IS6": ("Forum_hasModerator_Person",),
    "IC3": ("Post_isLocatedIn_Country", "Comment_isLocatedIn_Country"),
    "IC5": ("Forum_hasMember_Person",),
    "IC11": ("Company_isLocatedIn_Country",),
    "IC12": ("Tag_hasType_TagClass", "TagClass_isSubclassOf_TagClass"),
}


def questions(graph):
    network = Network(graph)
    there = {table.file for table in graph.edges}
    left_out = {op: f"the data lack {name}" for op, names in NEEDS.items() for name in names if f"{name}.csv" not in there}
    ops = {}
    for op, params in Parameters(network).all().items():
        if op not in left_out:
            ordered = op not in UNORDERED
            answer = getattr(network, op.lower())
            ops[op] = {"ordered": ordered, "params": params, "answers": [canonical(answer(**one), ordered) for one in params]}
    return {"vertices": sum(map(len, network.vertices.values())), "edges": network.edge_count, "ops": ops, "left_out": left_out}


class Network:
    def __init__(self, graph):
        self.vertices = {table.label: vertices(graph.folder, table) for table in graph.vertices}
        self.forward, self.backward, self.edge_count = defaultdict(lambda: defaultdict(list)), defaultdict(lambda: defaultdict(list)), 0
        for table in graph.edges:
            out, into = (table.source, table.label, table.target), (table.target, table.label, table.source)
            for row in dicts(graph.folder, table):
                self.forward[out][row["src"]].append((row["dst"], row))
                self.backward[into][row["dst"]].append((row["src"], row))
                self.edge_count += 1
        self.person = self.vertices["Person"]

    def edges(self, source, label, target, of):
        return self.forward[source, label, target].get(of, ())

    def edges_in(self, target, label, source, of):
        return self.backward[target, label, source].get(of, ())

    def out(self, source, label, target, of):
        return [other for other, _ in self.edges(source, label, target, of)]

    def into(self, target, label, source, of):
        return [other for other, _ in self.edges_in(target, label, source, of)]

    # ---- the parts of the reads

    @cached_property
    def message(self):
        return {**self.vertices["Post"], **self.vertices["Comment"]}

    def label(self, message):
        return "Post" if message in self.vertices["Post"] else "Comment"

    def creator(self, message):
        return self.out(self.label(message), "hasCreator", "Person", message)[0]

    def messages(self, person):
        return self.posts(person) + self.into("Person", "hasCreator", "Comment", person)

    def posts(self, person):
        return self.into("Person", "hasCreator", "Post", person)

    def post_of(self, message):
        while message not in self.vertices["Post"]:
            message = self.parent(message)
        return message

    def parent(self, comment):
        return (self.out("Comment", "replyOf", "Post", comment) + self.out("Comment", "replyOf", "Comment", comment))[0]

    def replies(self, message):
        return self.into(self.label(message), "replyOf", "Comment", message)

    def tags(self, message):
        return self.out(self.label(message), "hasTag", "Tag", message)

    @cached_property
    def friends(self):
        friends = defaultdict(dict)
        for one, met in self.forward["Person", "knows", "Person"].items():
            for other, edge in met:
                friends[one][other] = friends[other][one] = edge["creationDate"]
        return friends

    def levels(self, person):
        """The people one, two … friendships away."""
        seen, level = {person}, {person}
        while level := {friend for one in level for friend in self.friends[one]} - seen:
            seen |= level
            yield level

    def within(self, person, hops):
        return set().union(*(level for _, level in zip(range(hops), self.levels(person))))

    def names(self, person):
        return [self.person[person]["firstName"], self.person[person]["lastName"]]

    def city(self, person):
        return self.out("Person", "isLocatedIn", "City", person)[0]

    def named(self, label, name):
        return next(key for key, one in self.vertices[label].items() if one["name"] == name)

    # ---- short reads

    def is1(self, personId):
        person = self.person[personId]
        keys = ("firstName", "lastName", "birthday", "locationIP", "browserUsed")
        return [[*(person[key] for key in keys), self.city(personId), person["gender"], person["creationDate"]]]

    def is2(self, personId):
        rows = []
        for message in self.latest(self.messages(personId))[:10]:
            post = self.post_of(message)
            author = self.creator(post)
            rows.append([message, self.message[message]["content"], self.message[message]["creationDate"], post, author, *self.names(author)])
        return rows

    def latest(self, messages):
        return sorted(messages, key=lambda message: (-self.message[message]["creationDate"], message))

    def is3(self, personId):
        return sorted(([friend, *self.names(friend), date] for friend, date in self.friends[personId].items()), key=lambda r: (-r[3], r[0]))

    def is4(self, messageId):
        return [[self.message[messageId]["creationDate"], self.message[messageId]["content"]]]

    def is5(self, messageId):
        return [[self.creator(messageId), *self.names(self.creator(messageId))]]

    def is6(self, messageId):
        forum = self.into("Post", "containerOf", "Forum", self.post_of(messageId))[0]
        moderator = self.out("Forum", "hasModerator", "Person", forum)[0]
        return [[forum, self.vertices["Forum"][forum]["title"], moderator, *self.names(moderator)]]

    def is7(self, messageId):
        rows, original = [], self.creator(messageId)
        for comment in self.replies(messageId):
            author, text = self.creator(comment), self.message[comment]
            rows.append([comment, text["content"], text["creationDate"], author, *self.names(author), author in self.friends[original]])
        return sorted(rows, key=lambda r: (-r[2], r[3], r[0]))

    # ---- complex reads

    def ic1(self, personId, firstName):
        rows = []
        for distance, level in zip((1, 2, 3), self.levels(personId)):
            for one in level:
                person = self.person[one]
                if person["firstName"] == firstName:
                    schools = [self.vertices["University"][u]["name"] for u in self.out("Person", "studyAt", "University", one)]
                    firms = [self.vertices["Company"][c]["name"] for c in self.out("Person", "workAt", "Company", one)]
                    keys = ("birthday", "creationDate", "gender", "browserUsed", "locationIP")
                    city = self.vertices["City"][self.city(one)]["name"]
                    rows.append([one, person["lastName"], distance, *(person[key] for key in keys), city, schools, firms])
        return sorted(rows, key=lambda r: (r[2], r[1], r[0]))[:20]

    def ic2(self, personId, maxDate):
        return self.recent(self.friends[personId], lambda date: date <= maxDate)

    def ic9(self, personId, maxDate):
        return self.recent(self.within(personId, 2), lambda date: date < maxDate)

    def recent(self, people, wanted):
        found = [m for person in people for m in self.messages(person) if wanted(self.message[m]["creationDate"])]
        rows = []
        for message in self.latest(found)[:20]:
            author, text = self.creator(message), self.message[message]
            rows.append([author, *self.names(author), message, text["content"], text["creationDate"]])
        return rows

    def ic3(self, personId, countryX, countryY, startDate, endDate):
        x, y = self.named("Country", countryX), self.named("Country", countryY)
        rows = []
        for one in self.within(personId, 2):
            if self.out("City", "isPartOf", "Country", self.city(one))[0] in (x, y):
                continue
            counts = Counter(self.out(self.label(m), "isLocatedIn", "Country", m)[0] for m in self.messages(one)
                             if startDate <= self.message[m]["creationDate"] < endDate)
            if counts[x] and counts[y]:
                rows.append([one, *self.names(one), counts[x], counts[y], counts[x] + counts[y]])
        return sorted(rows, key=lambda r: (-r[5], r[0]))[:20]

    def ic4(self, personId, startDate, endDate):
        old, new = set(), Counter()
        for friend in self.friends[personId]:
            for post in self.posts(friend):
                date = self.message[post]["creationDate"]
                if date < startDate:
                    old.update(self.tags(post))
                elif date < endDate:
                    new.update(self.tags(post))
        return self.counted({tag: count for tag, count in new.items() if tag not in old})

    def counted(self, tags):
        """The ten most common, by name."""
        rows = [[self.vertices["Tag"][tag]["name"], count] for tag, count in tags.items()]
        return sorted(rows, key=lambda r: (-r[1], r[0]))[:10]

    def ic5(self, personId, minDate):
        posts = Counter()
        for one in self.within(personId, 2):
            joined = {forum for forum, edge in self.edges_in("Person", "hasMember", "Forum", one) if edge["joinDate"] > minDate}
            posts.update({forum: 0 for forum in joined})
            posts.update(forum for post in self.posts(one) for forum in self.into("Post", "containerOf", "Forum", post) if forum in joined)
        rows = sorted(((-count, forum) for forum, count in posts.items()))[:20]
        return [[forum, self.vertices["Forum"][forum]["title"], -count] for count, forum in rows]

    def ic6(self, personId, tagName):
        wanted, tags = self.named("Tag", tagName), Counter()
        for one in self.within(personId, 2):
            for post in self.posts(one):
                about = self.tags(post)
                if wanted in about:
                    tags.update(tag for tag in about if tag != wanted)
        return self.counted(tags)

    def ic7(self, personId):
        best = {}
        for message in self.messages(personId):
            for liker, edge in self.edges_in(self.label(message), "likes", "Person", message):
                best[liker] = min(best.get(liker, (0, 0)), (-edge["creationDate"], message))
        rows = [[liker, *self.names(liker), -date, message, self.message[message]["content"], liker not in self.friends[personId]]
                for liker, (date, message) in best.items()]
        return sorted(rows, key=lambda r: (-r[3], r[0]))[:20]

    def ic8(self, personId):
        rows = []
        for comment in self.latest([reply for m in self.messages(personId) for reply in self.replies(m)])[:20]:
            author, text = self.creator(comment), self.message[comment]
            rows.append([author, *self.names(author), text["creationDate"], comment, text["content"]])
        return rows

    def ic10(self, personId, fromDay, toDay):
        interests = set(self.out("Person", "hasInterest", "Tag", personId))
        rows = []
        for one in self.within(personId, 2) - set(self.friends[personId]):
            if fromDay <= self.person[one]["birthday"] % 10_000 < toDay:
                common = [bool(interests.intersection(self.tags(post))) for post in self.posts(one)]
                score = 2 * sum(common) - len(common)
                rows.append([one, *self.names(one), score, self.person[one]["gender"], self.vertices["City"][self.city(one)]["name"]])
        return sorted(rows, key=lambda r: (-r[3], r[0]))[:10]

    def ic11(self, personId, countryName, workFromYear):
        country, rows = self.named("Country", countryName), []
        for one in self.within(personId, 2):
            for company, edge in self.edges("Person", "workAt", "Company", one):
                if edge["workFrom"] < workFromYear and country in self.out("Company", "isLocatedIn", "Country", company):
                    rows.append([one, *self.names(one), self.vertices["Company"][company]["name"], edge["workFrom"]])
        rows.sort(key=lambda r: r[3], reverse=True)
        return sorted(rows, key=lambda r: (r[4], r[0]))[:10]

    def ic12(self, personId, tagClassName):
        classes, above = set(), {self.named("TagClass", tagClassName)}
        while above:
            classes |= above
            above = {child for one in above for child in self.into("TagClass", "isSubclassOf", "TagClass", one)} - classes
        rows = []
        for friend in self.friends[personId]:
            names, replies = set(), 0
            for comment in self.into("Person", "hasCreator", "Comment", friend):
                for post in self.out("Comment", "replyOf", "Post", comment):
                    found = {self.vertices["Tag"][tag]["name"] for tag in self.tags(post)
                             if classes.intersection(self.out("Tag", "hasType", "TagClass", tag))}
                    names |= found
                    replies += bool(found)
            if replies:
                rows.append([friend, *self.names(friend), names, replies])
        return sorted(rows, key=lambda r: (-r[4], r[0]))[:20]

    def ic13(self, person1Id, person2Id):
        return [[next(n for n, level in enumerate(self.levels(person1Id), 1) if person2Id in level)]]

    def ic14(self, person1Id, person2Id):
        """All shortest paths. Each row holds the ids of one path as a list."""
        distance = {person1Id: 0}
        for n, level in enumerate(self.levels(person1Id), 1):
            distance.update(dict.fromkeys(level, n))
            if person2Id in level:
                break
        paths = [[person2Id]]
        while paths[0][0] != person1Id:
            paths = [[friend, *path] for path in paths for friend in self.friends[path[0]] if distance.get(friend, -2) == distance[path[0]] - 1]
        return [[path] for path in paths]


class Parameters:
    """Draws people and messages in proportion to their friendships and replies, so well connected ones are most frequent."""

    def __init__(self, network):
        self.network, self.random = network, random.Random(SEED)
        self.met = sorted(one for one, friends in network.friends.items() for _ in friends)
        self.dates = sorted(message["creationDate"] for message in network.message.values())

    def all(self):
        network, draw, people = self.network, self.random.choice, self.people
        half, most = self.date(0.5), self.date(0.8)
        comments = list(network.vertices["Comment"])
        answered = [network.parent(comment) for comment in comments[:: max(1, len(comments) // 5_000)]]
        read = [{"messageId": draw(answered)} for _ in range(SHORT)]
        persons = [{"personId": person} for person in people(SHORT)]
        params = {op: persons for op in ("IS1", "IS2", "IS3")} | {op: read for op in ("IS4", "IS5", "IS6", "IS7")}
        start, end = self.date(0.6), self.date(0.6) + 60 * DAY
        span = {"startDate": start, "endDate": end}
        homes = Counter(network.out("City", "isPartOf", "Country", network.city(person))[0] for person in network.person)
        commonest = sorted(homes, key=lambda country: (-homes[country], country))[:8]
        countries = [network.vertices["Country"][country]["name"] for country in commonest]
        tags = [tag for tags in network.forward["Post", "hasTag", "Tag"].values() for tag, _ in tags]
        classes = sorted(one["name"] for one in network.vertices.get("TagClass", {}).values()) or [""]
        pairs = [self.strangers() for _ in range(COMPLEX)]

        def asked(make):
            return [{"personId": person, **make()} for person in people(COMPLEX)]

        def months():
            month = self.random.randint(1, 11)
            return {"fromDay": month * 100 + 21, "toDay": (month + 1) * 100 + 22}

        return params | {
            "IC1": asked(lambda: {"firstName": network.person[draw(self.met)]["firstName"]}),
            "IC2": asked(lambda: {"maxDate": most}),
            "IC3": asked(lambda: dict(zip(("countryX", "countryY"), self.random.sample(countries, 2))) | span),
            "IC4": asked(lambda: span),
            "IC5": asked(lambda: {"minDate": half}),
            "IC6": asked(lambda: {"tagName": network.vertices["Tag"][draw(tags)]["name"]}),
            "IC7": asked(dict),
            "IC8": asked(dict),
            "IC9": asked(lambda: {"maxDate": half}),
            "IC10": asked(months),
            "IC11": asked(lambda: {"countryName": draw(countries), "workFromYear": 2011}),
            "IC12": asked(lambda: {"tagClassName": draw(classes)}),
            "IC13": [{"person1Id": one, "person2Id": other} for one, other in pairs],
            "IC14": [{"person1Id": one, "person2Id": other} for one, other in pairs],
        }

    def people(self, count):
        return [self.random.choice(self.met) for _ in range(count)]

    def strangers(self):
        """Any two people whom a chain of friendships joins."""
        one = self.random.choice(sorted(self.network.friends))
        return one, self.random.choice(sorted(set().union(*self.network.levels(one))))

    def date(self, part):
        return self.dates[int(part * len(self.dates))]
