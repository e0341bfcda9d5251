-- Grasper's queries in SQL; see grasper.gremlin.

-- Q1L
SELECT title FROM Paper WHERE id = $x
-- Q1H
SELECT title FROM Paper WHERE field = $x

-- Q2L
SELECT id FROM Paper WHERE award IS NOT NULL AND id = $x
-- Q2H
SELECT id FROM Paper WHERE award IS NOT NULL AND field = $x

-- Q3L
SELECT max(q.year) FROM Paper_cites_Paper c JOIN Paper q ON q.id = c.src WHERE c.dst = $x
-- Q3H
SELECT max(q.year) FROM Paper p JOIN Paper_cites_Paper c ON c.dst = p.id JOIN Paper q ON q.id = c.src WHERE p.field = $x

-- Q4L
SELECT count(*) FROM Paper WHERE year > 2015 AND id IN (SELECT src FROM Paper_cites_Paper WHERE date = $x)
-- Q4H
SELECT count(*) FROM Paper WHERE year > 2015 AND id IN (SELECT src FROM Paper_cites_Paper WHERE date < $x)

-- Q5L
SELECT c.kind, count(*) FROM Paper_cites_Paper c JOIN Paper p ON p.id = c.src WHERE c.date = $x AND p.field <> 'databases' GROUP BY c.kind
-- Q5H
SELECT c.kind, count(*) FROM Paper_cites_Paper c JOIN Paper p ON p.id = c.src WHERE c.date < $x AND p.field <> 'databases' GROUP BY c.kind

-- Q6L
SELECT p.title FROM Paper p WHERE p.id = $x
AND (SELECT min(q.year) FROM Paper_cites_Paper c JOIN Paper q ON q.id = c.dst WHERE c.src = p.id) < 1995
AND (SELECT count(*) FROM Paper_cites_Paper c WHERE c.dst = p.id) > 20
-- Q6H
SELECT p.title FROM Paper p WHERE p.field = $x
AND (SELECT min(q.year) FROM Paper_cites_Paper c JOIN Paper q ON q.id = c.dst WHERE c.src = p.id) < 1995
AND (SELECT count(*) FROM Paper_cites_Paper c WHERE c.dst = p.id) > 20

-- Q7L
WITH own AS (SELECT src AS a, dst AS paper FROM Author_writes_Paper WHERE src = $x),
reached AS (FROM own UNION ALL SELECT own.a, c.dst FROM own JOIN Paper_cites_Paper c ON c.src = own.paper)
SELECT b.id FROM reached r JOIN Author_writes_Paper w ON w.dst = r.paper JOIN Author b ON b.id = w.src
WHERE b.id <> r.a AND b.hindex > 10 ORDER BY b.hindex DESC, b.id LIMIT 20
-- Q7H
WITH own AS (SELECT w.src AS a, w.dst AS paper FROM Author_writes_Paper w JOIN Author a ON a.id = w.src WHERE a.country = $x),
reached AS (FROM own UNION ALL SELECT own.a, c.dst FROM own JOIN Paper_cites_Paper c ON c.src = own.paper)
SELECT b.id FROM reached r JOIN Author_writes_Paper w ON w.dst = r.paper JOIN Author b ON b.id = w.src
WHERE b.id <> r.a AND b.hindex > 10 ORDER BY b.hindex DESC, b.id LIMIT 20

-- Q8L
SELECT count(*) FROM Paper_cites_Paper one JOIN Paper_cites_Paper two ON two.src = one.src JOIN Paper q ON q.id = two.dst
WHERE one.dst = $x AND q.year > 2010 AND q.id <> $x
-- Q8H
SELECT count(*) FROM Paper p JOIN Paper_cites_Paper one ON one.dst = p.id JOIN Paper_cites_Paper two ON two.src = one.src
JOIN Paper q ON q.id = two.dst WHERE p.field = $x AND q.year > 2010 AND q.field <> $x
