// LDBC's interactive reads in Cypher; see snb.gremlin. :Message stands for posts and comments, each dialect's own way.

// IS1
MATCH (p:Person {id: $personId})-[:isLocatedIn]->(c:City)
RETURN p.firstName, p.lastName, p.birthday, p.locationIP, p.browserUsed, c.id, p.gender, p.creationDate

// IS2
MATCH (:Person {id: $personId})<-[:hasCreator]-(m:Message) WITH m ORDER BY m.creationDate DESC, m.id LIMIT 10
MATCH (m)-[:replyOf*0..30]->(post:Post)-[:hasCreator]->(a:Person)
RETURN m.id, m.content, m.creationDate, post.id, a.id, a.firstName, a.lastName ORDER BY m.creationDate DESC, m.id

// IS3
MATCH (:Person {id: $personId})-[k:knows]-(f:Person)
RETURN f.id, f.firstName, f.lastName, k.creationDate ORDER BY k.creationDate DESC, f.id

// IS4
MATCH (m:Message {id: $messageId}) RETURN m.creationDate, m.content

// IS4
MATCH (m:Post {id: $messageId}) RETURN m.creationDate, m.content
UNION ALL MATCH (m:Comment {id: $messageId}) RETURN m.creationDate, m.content

// IS5
MATCH (:Message {id: $messageId})-[:hasCreator]->(p:Person) RETURN p.id, p.firstName, p.lastName

// IS5
MATCH (:Post {id: $messageId})-[:hasCreator]->(p:Person) RETURN p.id, p.firstName, p.lastName
UNION ALL MATCH (:Comment {id: $messageId})-[:hasCreator]->(p:Person) RETURN p.id, p.firstName, p.lastName

// IS6
MATCH (:Message {id: $messageId})-[:replyOf*0..30]->(:Post)<-[:containerOf]-(f:Forum)-[:hasModerator]->(p:Person)
RETURN f.id, f.title, p.id, p.firstName, p.lastName

// IS6
MATCH (:Post {id: $messageId})<-[:containerOf]-(f:Forum)-[:hasModerator]->(p:Person)
RETURN f.id, f.title, p.id, p.firstName, p.lastName
UNION ALL MATCH (:Comment {id: $messageId})-[:replyOf*1..30]->(:Post)<-[:containerOf]-(f:Forum)-[:hasModerator]->(p:Person)
RETURN f.id, f.title, p.id, p.firstName, p.lastName

// IS7
MATCH (o:Person)<-[:hasCreator]-(:Message {id: $messageId})<-[:replyOf]-(c:Comment)-[:hasCreator]->(a:Person)
OPTIONAL MATCH (a)-[k:knows]-(o)
RETURN c.id, c.content, c.creationDate, a.id, a.firstName, a.lastName, count(k) AS knows
ORDER BY c.creationDate DESC, a.id, c.id

// IC1
MATCH path = (p:Person {id: $personId})-[:knows*1..3]-(f:Person {firstName: $firstName}) WHERE f.id <> $personId
WITH f, min(length(path)) AS distance ORDER BY distance, f.lastName, f.id LIMIT 20
MATCH (f)-[:isLocatedIn]->(city:City)
OPTIONAL MATCH (f)-[:studyAt]->(u:University) WITH f, distance, city, collect(u.name) AS universities
OPTIONAL MATCH (f)-[:workAt]->(c:Company) WITH f, distance, city, universities, collect(c.name) AS companies
RETURN f.id, f.lastName, distance, f.birthday, f.creationDate, f.gender, f.browserUsed, f.locationIP, city.name, universities, companies
ORDER BY distance, f.lastName, f.id

// IC2
MATCH (:Person {id: $personId})-[:knows]-(f:Person)<-[:hasCreator]-(m:Message) WHERE m.creationDate <= $maxDate
RETURN f.id, f.firstName, f.lastName, m.id, m.content, m.creationDate ORDER BY m.creationDate DESC, m.id LIMIT 20

// IC2
MATCH (:Person {id: $personId})-[:knows]-(f:Person)<-[:hasCreator]-(m:Message) WHERE m.creationDate <= $maxDate
WITH f, m ORDER BY m.creationDate DESC, m.id LIMIT 20
RETURN f.id, f.firstName, f.lastName, m.id, m.content, m.creationDate ORDER BY m.creationDate DESC, m.id

// IC3
MATCH (:Person {id: $personId})-[:knows*1..2]-(f:Person) WHERE f.id <> $personId WITH DISTINCT f
MATCH (f)-[:isLocatedIn]->(:City)-[:isPartOf]->(home:Country) WHERE home.name <> $countryX AND home.name <> $countryY
MATCH (f)<-[:hasCreator]-(m:Message)-[:isLocatedIn]->(c:Country)
WHERE (c.name = $countryX OR c.name = $countryY) AND m.creationDate >= $startDate AND m.creationDate < $endDate
WITH f, sum(CASE WHEN c.name = $countryX THEN 1 ELSE 0 END) AS x, sum(CASE WHEN c.name = $countryY THEN 1 ELSE 0 END) AS y
WHERE x > 0 AND y > 0
RETURN f.id, f.firstName, f.lastName, x, y, x + y AS total ORDER BY total DESC, f.id LIMIT 20

// IC4
MATCH (:Person {id: $personId})-[:knows]-(:Person)<-[:hasCreator]-(post:Post)-[:hasTag]->(t:Tag) WHERE post.creationDate < $endDate
WITH t, sum(CASE WHEN post.creationDate >= $startDate THEN 1 ELSE 0 END) AS recent,
     sum(CASE WHEN post.creationDate < $startDate THEN 1 ELSE 0 END) AS old
WHERE recent > 0 AND old = 0
RETURN t.name, recent ORDER BY recent DESC, t.name LIMIT 10

// IC5
MATCH (:Person {id: $personId})-[:knows*1..2]-(f:Person) WHERE f.id <> $personId WITH DISTINCT f
MATCH (f)<-[member:hasMember]-(forum:Forum) WHERE member.joinDate > $minDate
OPTIONAL MATCH (f)<-[:hasCreator]-(post:Post)<-[:containerOf]-(forum)
RETURN forum.id, forum.title, count(post) AS posts ORDER BY posts DESC, forum.id LIMIT 20

// IC6
MATCH (:Person {id: $personId})-[:knows*1..2]-(f:Person) WHERE f.id <> $personId WITH DISTINCT f
MATCH (f)<-[:hasCreator]-(post:Post)-[:hasTag]->(:Tag {name: $tagName})
MATCH (post)-[:hasTag]->(t:Tag) WHERE t.name <> $tagName
RETURN t.name, count(post) AS posts ORDER BY posts DESC, t.name LIMIT 10

// IC7
MATCH (p:Person {id: $personId})<-[:hasCreator]-(:Message)<-[l:likes]-(f:Person)
WITH p, f, max(l.creationDate) AS latest ORDER BY latest DESC, f.id LIMIT 20
MATCH (p)<-[:hasCreator]-(m:Message)<-[l:likes]-(f) WHERE l.creationDate = latest
OPTIONAL MATCH (p)-[k:knows]-(f)
RETURN f.id, f.firstName, f.lastName, latest, m.id, m.content, count(k) = 0 AS new ORDER BY latest DESC, f.id

// IC8
MATCH (:Person {id: $personId})<-[:hasCreator]-(:Message)<-[:replyOf]-(c:Comment)-[:hasCreator]->(a:Person)
RETURN a.id, a.firstName, a.lastName, c.creationDate, c.id, c.content ORDER BY c.creationDate DESC, c.id LIMIT 20

// IC8
MATCH (:Person {id: $personId})<-[:hasCreator]-(:Message)<-[:replyOf]-(c:Comment) WITH c ORDER BY c.creationDate DESC, c.id LIMIT 20
MATCH (c)-[:hasCreator]->(a:Person)
RETURN a.id, a.firstName, a.lastName, c.creationDate, c.id, c.content ORDER BY c.creationDate DESC, c.id

// IC9
MATCH (:Person {id: $personId})-[:knows*1..2]-(f:Person) WHERE f.id <> $personId WITH DISTINCT f
MATCH (f)<-[:hasCreator]-(m:Message) WHERE m.creationDate < $maxDate
RETURN f.id, f.firstName, f.lastName, m.id, m.content, m.creationDate ORDER BY m.creationDate DESC, m.id LIMIT 20

// IC9
MATCH (:Person {id: $personId})-[:knows*1..2]-(f:Person) WHERE f.id <> $personId WITH DISTINCT f
MATCH (f)<-[:hasCreator]-(m:Message) WHERE m.creationDate < $maxDate WITH f, m ORDER BY m.creationDate DESC, m.id LIMIT 20
RETURN f.id, f.firstName, f.lastName, m.id, m.content, m.creationDate ORDER BY m.creationDate DESC, m.id

// IC10
MATCH (p:Person {id: $personId})-[:knows]-(:Person)-[:knows]-(f:Person)
WHERE f.id <> $personId AND f.birthday % 10000 >= $fromDay AND f.birthday % 10000 < $toDay AND NOT EXISTS { MATCH (p)-[:knows]-(f) }
WITH DISTINCT p, f
MATCH (f)-[:isLocatedIn]->(city:City)
OPTIONAL MATCH (f)<-[:hasCreator]-(post:Post)
OPTIONAL MATCH (post)-[:hasTag]->(t:Tag)<-[:hasInterest]-(p)
WITH f, city, post, count(t) AS common
WITH f, city, sum(CASE WHEN post IS NULL THEN 0 WHEN common > 0 THEN 1 ELSE -1 END) AS score
RETURN f.id, f.firstName, f.lastName, score, f.gender, city.name ORDER BY score DESC, f.id LIMIT 10

// IC11
MATCH (:Person {id: $personId})-[:knows*1..2]-(f:Person) WHERE f.id <> $personId WITH DISTINCT f
MATCH (f)-[w:workAt]->(c:Company)-[:isLocatedIn]->(:Country {name: $countryName}) WHERE w.workFrom < $workFromYear
RETURN f.id, f.firstName, f.lastName, c.name, w.workFrom ORDER BY w.workFrom, f.id, c.name DESC LIMIT 10

// IC12
MATCH (:Person {id: $personId})-[:knows]-(f:Person)<-[:hasCreator]-(c:Comment)-[:replyOf]->(:Post)-[:hasTag]->(t:Tag)
      -[:hasType]->(:TagClass)-[:isSubclassOf*0..10]->(:TagClass {name: $tagClassName})
RETURN f.id, f.firstName, f.lastName, collect(DISTINCT t.name) AS tags, count(DISTINCT c.id) AS replies ORDER BY replies DESC, f.id LIMIT 20

// IC13
MATCH path = shortestPath((:Person {id: $person1Id})-[:knows*]-(:Person {id: $person2Id})) RETURN length(path)

// IC14
MATCH path = allShortestPaths((:Person {id: $person1Id})-[:knows*]-(:Person {id: $person2Id})) RETURN [v IN nodes(path) | v.id]
