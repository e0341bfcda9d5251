-- TAO's operations and ZipG's graph searches in SQL; see tao.gremlin.

-- obj_get
SELECT * FROM users WHERE id = $x
-- obj_property
SELECT email FROM users WHERE id = $x

-- assoc_range
SELECT dst, ts, payload FROM User_<type>_User WHERE src = $x ORDER BY ts DESC LIMIT 10

-- assoc_get
SELECT dst, ts, payload FROM User_<type>_User WHERE src = $x AND list_contains($ids, dst)

-- assoc_count
SELECT count(*) FROM User_<type>_User WHERE src = $x

-- assoc_time_range
SELECT dst, ts, payload FROM User_<type>_User WHERE src = $x AND ts >= $lo AND ts < $hi ORDER BY ts DESC LIMIT 10

-- GS1
SELECT u.id, u.name FROM User_friend_User e JOIN users u ON u.id = e.dst WHERE e.src = $x UNION ALL
SELECT u.id, u.name FROM User_follows_User e JOIN users u ON u.id = e.dst WHERE e.src = $x UNION ALL
SELECT u.id, u.name FROM User_likes_User e JOIN users u ON u.id = e.dst WHERE e.src = $x UNION ALL
SELECT u.id, u.name FROM User_comments_User e JOIN users u ON u.id = e.dst WHERE e.src = $x UNION ALL
SELECT u.id, u.name FROM User_tags_User e JOIN users u ON u.id = e.dst WHERE e.src = $x
-- GS1
WITH e AS (SELECT dst FROM User_friend_User WHERE src = $x UNION ALL SELECT dst FROM User_follows_User WHERE src = $x UNION ALL
SELECT dst FROM User_likes_User WHERE src = $x UNION ALL SELECT dst FROM User_comments_User WHERE src = $x UNION ALL
SELECT dst FROM User_tags_User WHERE src = $x)
SELECT u.id, u.name FROM e JOIN users u ON u.id = e.dst
-- GS2
SELECT u.id FROM User_friend_User e JOIN users u ON u.id = e.dst WHERE e.src = $x AND u.city = $c UNION ALL
SELECT u.id FROM User_follows_User e JOIN users u ON u.id = e.dst WHERE e.src = $x AND u.city = $c UNION ALL
SELECT u.id FROM User_likes_User e JOIN users u ON u.id = e.dst WHERE e.src = $x AND u.city = $c UNION ALL
SELECT u.id FROM User_comments_User e JOIN users u ON u.id = e.dst WHERE e.src = $x AND u.city = $c UNION ALL
SELECT u.id FROM User_tags_User e JOIN users u ON u.id = e.dst WHERE e.src = $x AND u.city = $c
-- GS2
WITH e AS (SELECT dst FROM User_friend_User WHERE src = $x UNION ALL SELECT dst FROM User_follows_User WHERE src = $x UNION ALL
SELECT dst FROM User_likes_User WHERE src = $x UNION ALL SELECT dst FROM User_comments_User WHERE src = $x UNION ALL
SELECT dst FROM User_tags_User WHERE src = $x)
SELECT u.id FROM e JOIN users u ON u.id = e.dst WHERE u.city = $c
-- GS3
SELECT id FROM users WHERE city = $c AND interest = $i
-- GS4
SELECT dst FROM User_<type>_User WHERE src = $x
-- GS5
SELECT dst, ts, payload FROM User_friend_User e WHERE e.src = $x UNION ALL
SELECT dst, ts, payload FROM User_follows_User e WHERE e.src = $x UNION ALL
SELECT dst, ts, payload FROM User_likes_User e WHERE e.src = $x UNION ALL
SELECT dst, ts, payload FROM User_comments_User e WHERE e.src = $x UNION ALL
SELECT dst, ts, payload FROM User_tags_User e WHERE e.src = $x

-- find_equal
SELECT id FROM users WHERE employer = $v
-- find_scan
SELECT id FROM users WHERE school = $v
-- find_text
SELECT id FROM users WHERE contains(bio, $v)

-- obj_add
INSERT INTO users VALUES ($x, $name, $nick, $gender, $birthday, $age, $hometown, $city, $zip, $country, $locale, $tz, $email, $phone,
  $relationship, $religion, $politics, $employer, $job, $school, $degree, $interest, $graduated, $bio, $quote, $music, $movies, $books,
  $interests, $website, $photo, $created, $updated, $last_seen, $privacy, $device, $app_version, $ip, $token, $status, $friends)
-- obj_update
UPDATE users SET status = $status, updated = $updated, last_seen = $last_seen WHERE id = $x
-- obj_del
DELETE FROM users WHERE id = $x
-- assoc_add
INSERT INTO User_<type>_User VALUES ($x, $y, $ts, $payload)
-- assoc_update
UPDATE User_<type>_User SET payload = $payload WHERE src = $x AND dst = $y
-- assoc_del
DELETE FROM User_<type>_User WHERE src = $x AND dst = $y
