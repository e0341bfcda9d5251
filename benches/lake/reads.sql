-- LDBC's short reads over one table for each label, as in snb_tables.py.

-- IS1
SELECT p.firstName, p.lastName, p.birthday, p.locationIP, p.browserUsed, l.dst, p.gender, p.creationDate
FROM Person p JOIN Person_isLocatedIn_City l ON l.src = p.id WHERE p.id = $personId

-- IS2
WITH RECURSIVE mine AS (
  SELECT * FROM (
    SELECT m.id, m.content, m.creationDate FROM Post m JOIN Post_hasCreator_Person h ON h.src = m.id WHERE h.dst = $personId
    UNION ALL
    SELECT m.id, m.content, m.creationDate FROM Comment m JOIN Comment_hasCreator_Person h ON h.src = m.id WHERE h.dst = $personId)
  ORDER BY creationDate DESC, id LIMIT 10),
reply AS (SELECT src, dst FROM Comment_replyOf_Post UNION ALL SELECT src, dst FROM Comment_replyOf_Comment),
chain(message, reached) AS (
  SELECT id, id FROM mine UNION ALL SELECT c.message, r.dst FROM chain c JOIN reply r ON r.src = c.reached)
SELECT m.id, m.content, m.creationDate, c.reached, p.id, p.firstName, p.lastName
FROM mine m JOIN chain c ON c.message = m.id JOIN Post_hasCreator_Person h ON h.src = c.reached JOIN Person p ON p.id = h.dst
ORDER BY m.creationDate DESC, m.id

-- IS3
SELECT f.id, f.firstName, f.lastName, k.creationDate
FROM (SELECT dst AS friend, creationDate FROM Person_knows_Person WHERE src = $personId
      UNION ALL SELECT src, creationDate FROM Person_knows_Person WHERE dst = $personId) k
JOIN Person f ON f.id = k.friend ORDER BY k.creationDate DESC, f.id

-- IS4
SELECT creationDate, content FROM Post WHERE id = $messageId UNION ALL SELECT creationDate, content FROM Comment WHERE id = $messageId

-- IS5
SELECT p.id, p.firstName, p.lastName
FROM (SELECT src, dst FROM Post_hasCreator_Person UNION ALL SELECT src, dst FROM Comment_hasCreator_Person) h
JOIN Person p ON p.id = h.dst WHERE h.src = $messageId

-- IS6
WITH RECURSIVE reply AS (SELECT src, dst FROM Comment_replyOf_Post UNION ALL SELECT src, dst FROM Comment_replyOf_Comment),
chain(reached) AS (
  SELECT CAST($messageId AS BIGINT) UNION ALL SELECT r.dst FROM chain c JOIN reply r ON r.src = c.reached)
SELECT f.id, f.title, p.id, p.firstName, p.lastName
FROM chain c JOIN Forum_containerOf_Post o ON o.dst = c.reached JOIN Forum f ON f.id = o.src
JOIN Forum_hasModerator_Person h ON h.src = f.id JOIN Person p ON p.id = h.dst

-- IS7
WITH creator AS (SELECT src, dst FROM Post_hasCreator_Person UNION ALL SELECT src, dst FROM Comment_hasCreator_Person),
owner AS (SELECT dst AS id FROM creator WHERE src = $messageId),
reply AS (SELECT src FROM Comment_replyOf_Post WHERE dst = $messageId UNION ALL SELECT src FROM Comment_replyOf_Comment WHERE dst = $messageId)
SELECT c.id, c.content, c.creationDate, a.id, a.firstName, a.lastName,
  (SELECT count(*) FROM Person_knows_Person k, owner o WHERE (k.src = a.id AND k.dst = o.id) OR (k.dst = a.id AND k.src = o.id))
FROM reply r JOIN Comment c ON c.id = r.src JOIN Comment_hasCreator_Person h ON h.src = c.id JOIN Person a ON a.id = h.dst
ORDER BY c.creationDate DESC, a.id, c.id
