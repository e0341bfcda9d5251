// NeuG has no null: a paper without an award has 0 there.

// Q2L
MATCH (p:Paper) WHERE p.award > 0 AND p.id = $x RETURN p.id
// Q2H
MATCH (p:Paper) WHERE p.award > 0 AND p.field = $x RETURN p.id
