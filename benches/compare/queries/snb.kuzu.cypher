// Where Kuzu's Cypher differs.

// IC1
MATCH (p:Person {id: $personId})-[e:knows* SHORTEST 1..3]-(f:Person {firstName: $firstName}) WHERE f.id <> $personId
WITH f, length(e) AS distance ORDER BY distance, f.lastName, f.id LIMIT 20
MATCH (f)-[:isLocatedIn]->(city:City)
OPTIONAL MATCH (f)-[:studyAt]->(u:University) WITH f, distance, city, collect(u.name) AS universities
OPTIONAL MATCH (f)-[:workAt]->(c:Company) WITH f, distance, city, universities, collect(c.name) AS companies
RETURN f.id, f.lastName, distance, f.birthday, f.creationDate, f.gender, f.browserUsed, f.locationIP, city.name, universities, companies
ORDER BY distance, f.lastName, f.id

// IC13
MATCH (:Person {id: $person1Id})-[e:knows* SHORTEST 1..30]-(:Person {id: $person2Id}) RETURN length(e)

// IC14
MATCH path = (a:Person {id: $person1Id})-[:knows* ALL SHORTEST 1..30]-(b:Person {id: $person2Id}) RETURN properties(nodes(path), 'id')
