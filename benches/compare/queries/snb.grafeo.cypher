// What is far faster in Grafeo put this way.

// IS7
MATCH (:Message {id: $messageId})-[:hasCreator]->(o:Person)
OPTIONAL MATCH (o)-[:knows]-(f:Person) WITH o, collect(f.id) AS friends
MATCH (:Message {id: $messageId})<-[:replyOf]-(c:Comment)-[:hasCreator]->(a:Person)
RETURN c.id, c.content, c.creationDate, a.id, a.firstName, a.lastName, a.id IN friends AS knows
ORDER BY c.creationDate DESC, a.id, c.id

// IC7
MATCH (p:Person {id: $personId}) OPTIONAL MATCH (p)-[:knows]-(x:Person) WITH p, collect(x.id) AS friends
MATCH (p)<-[:hasCreator]-(:Message)<-[l:likes]-(f:Person)
WITH p, friends, f, max(l.creationDate) AS latest ORDER BY latest DESC, f.id LIMIT 20
MATCH (p)<-[:hasCreator]-(m:Message)<-[l:likes]-(f) WHERE l.creationDate = latest
RETURN f.id, f.firstName, f.lastName, latest, m.id, m.content, NOT f.id IN friends AS new ORDER BY latest DESC, f.id

// IC10
MATCH (p:Person {id: $personId})-[:hasInterest]->(i:Tag) WITH p, collect(i.id) AS interests
MATCH (p)-[:knows]-(x:Person) WITH p, interests, collect(x.id) AS friends
MATCH (p)-[:knows]-(:Person)-[:knows]-(f:Person)
WHERE f.id <> $personId AND f.birthday % 10000 >= $fromDay AND f.birthday % 10000 < $toDay AND NOT f.id IN friends
WITH DISTINCT f, interests
MATCH (f)-[:isLocatedIn]->(city:City)
OPTIONAL MATCH (f)<-[:hasCreator]-(post:Post)
OPTIONAL MATCH (post)-[:hasTag]->(t:Tag) WHERE t.id IN interests
WITH f, city, post, count(t) AS common
WITH f, city, sum(CASE WHEN post IS NULL THEN 0 WHEN common > 0 THEN 1 ELSE -1 END) AS score
RETURN f.id, f.firstName, f.lastName, score, f.gender, city.name ORDER BY score DESC, f.id LIMIT 10
