// Grasper's queries in Cypher; see grasper.gremlin.

// Q1L
MATCH (p:Paper) WHERE p.id = $x RETURN p.title
// Q1H
MATCH (p:Paper) WHERE p.field = $x RETURN p.title

// Q2L
MATCH (p:Paper) WHERE p.award IS NOT NULL AND p.id = $x RETURN p.id
// Q2H
MATCH (p:Paper) WHERE p.award IS NOT NULL AND p.field = $x RETURN p.id

// Q3L
MATCH (p:Paper)<-[:cites]-(q:Paper) WHERE p.id = $x RETURN max(q.year)
// Q3H
MATCH (p:Paper)<-[:cites]-(q:Paper) WHERE p.field = $x RETURN max(q.year)

// Q4L
MATCH (p:Paper)-[c:cites]->(:Paper) WHERE c.date = $x WITH DISTINCT p WHERE p.year > 2015 RETURN count(p)
// Q4L
MATCH (p:Paper)-[c:cites]->(:Paper) WHERE c.date = $x AND p.year > 2015 RETURN count(DISTINCT p)
// Q4H
MATCH (p:Paper)-[c:cites]->(:Paper) WHERE c.date < $x WITH DISTINCT p WHERE p.year > 2015 RETURN count(p)
// Q4H
MATCH (p:Paper)-[c:cites]->(:Paper) WHERE c.date < $x AND p.year > 2015 RETURN count(DISTINCT p)

// Q5L
MATCH (p:Paper)-[c:cites]->(:Paper) WHERE c.date = $x AND p.field <> 'databases' RETURN c.kind, count(c)
// Q5H
MATCH (p:Paper)-[c:cites]->(:Paper) WHERE c.date < $x AND p.field <> 'databases' RETURN c.kind, count(c)

// Q6L
MATCH (p:Paper)-[:cites]->(q:Paper) WHERE p.id = $x WITH p, min(q.year) AS low WHERE low < 1995
MATCH (p)<-[:cites]-(r:Paper) WITH p, count(r) AS often WHERE often > 20 RETURN p.title
// Q6H
MATCH (p:Paper)-[:cites]->(q:Paper) WHERE p.field = $x WITH p, min(q.year) AS low WHERE low < 1995
MATCH (p)<-[:cites]-(r:Paper) WITH p, count(r) AS often WHERE often > 20 RETURN p.title

// Q7L
MATCH (a:Author)-[:writes]->(:Paper)-[:cites*0..1]->(:Paper)<-[:writes]-(b:Author) WHERE a.id = $x AND b.id <> a.id AND b.hindex > 10
RETURN b.id ORDER BY b.hindex DESC, b.id LIMIT 20
// Q7H
MATCH (a:Author)-[:writes]->(:Paper)-[:cites*0..1]->(:Paper)<-[:writes]-(b:Author) WHERE a.country = $x AND b.id <> a.id AND b.hindex > 10
RETURN b.id ORDER BY b.hindex DESC, b.id LIMIT 20

// Q8L
MATCH (p:Paper)<-[:cites]-(:Paper)-[:cites]->(q:Paper) WHERE p.id = $x AND q.year > 2010 AND q.id <> $x RETURN count(q)
// Q8H
MATCH (p:Paper)<-[:cites]-(:Paper)-[:cites]->(q:Paper) WHERE p.field = $x AND q.year > 2010 AND q.field <> $x RETURN count(q)
