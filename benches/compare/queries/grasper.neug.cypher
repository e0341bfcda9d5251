// Where NeuG differs. It has no null: a paper without an award has 0 there.

// Q2L
MATCH (p:Paper) WHERE p.award > 0 AND p.id = $x RETURN p.id
// Q2H
MATCH (p:Paper) WHERE p.award > 0 AND p.field = $x RETURN p.id

// Put as elsewhere this gives no row.
// Q4H
MATCH (p:Paper)-[c:cites]->(:Paper) WHERE p.year > 2015 WITH p, c WHERE c.date < $x RETURN count(DISTINCT p)
