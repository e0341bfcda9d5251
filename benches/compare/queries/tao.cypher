// TAO's operations and ZipG's graph searches in Cypher; see tao.gremlin.

// obj_get
MATCH (u:User {id: $x}) RETURN u.id, u.name, u.nick, u.gender, u.birthday, u.age, u.hometown, u.city, u.zip, u.country, u.locale, u.tz,
  u.email, u.phone, u.relationship, u.religion, u.politics, u.employer, u.job, u.school, u.degree, u.interest, u.graduated, u.bio,
  u.quote, u.music, u.movies, u.books, u.interests, u.website, u.photo, u.created, u.updated, u.last_seen, u.privacy, u.device,
  u.app_version, u.ip, u.token, u.status, u.friends
// obj_property
MATCH (u:User {id: $x}) RETURN u.email

// assoc_range
MATCH (:User {id: $x})-[e:<type>]->(f:User) RETURN f.id, e.ts, e.payload ORDER BY e.ts DESC LIMIT 10

// assoc_get
MATCH (:User {id: $x})-[e:<type>]->(f:User) WHERE f.id IN $ids RETURN f.id, e.ts, e.payload

// assoc_count
MATCH (:User {id: $x})-[e:<type>]->(:User) RETURN count(e)

// assoc_time_range
MATCH (:User {id: $x})-[e:<type>]->(f:User) WHERE e.ts >= $lo AND e.ts < $hi RETURN f.id, e.ts, e.payload ORDER BY e.ts DESC LIMIT 10

// GS1
MATCH (:User {id: $x})-[]->(f:User) RETURN f.id, f.name
// GS2
MATCH (:User {id: $x})-[]->(f:User) WHERE f.city = $c RETURN f.id
// GS3
MATCH (u:User) WHERE u.city = $c AND u.interest = $i RETURN u.id
// GS4
MATCH (:User {id: $x})-[:<type>]->(f:User) RETURN f.id
// GS5
MATCH (:User {id: $x})-[e]->(f:User) RETURN f.id, e.ts, e.payload

// find_equal
MATCH (u:User) WHERE u.employer = $v RETURN u.id
// find_scan
MATCH (u:User) WHERE u.school = $v RETURN u.id
// find_text
MATCH (u:User) WHERE u.bio CONTAINS $v RETURN u.id

// obj_add
CREATE (:User {id: $x, name: $name, nick: $nick, gender: $gender, birthday: $birthday, age: $age, hometown: $hometown, city: $city,
  zip: $zip, country: $country, locale: $locale, tz: $tz, email: $email, phone: $phone, relationship: $relationship, religion: $religion,
  politics: $politics, employer: $employer, job: $job, school: $school, degree: $degree, interest: $interest, graduated: $graduated,
  bio: $bio, quote: $quote, music: $music, movies: $movies, books: $books, interests: $interests, website: $website, photo: $photo,
  created: $created, updated: $updated, last_seen: $last_seen, privacy: $privacy, device: $device, app_version: $app_version, ip: $ip,
  token: $token, status: $status, friends: $friends})
// obj_update
MATCH (u:User {id: $x}) SET u.status = $status, u.updated = $updated, u.last_seen = $last_seen
// obj_del
MATCH (u:User {id: $x}) DELETE u
// assoc_add
MATCH (a:User {id: $x}), (b:User {id: $y}) CREATE (a)-[:<type> {ts: $ts, payload: $payload}]->(b)
// assoc_update
MATCH (:User {id: $x})-[e:<type>]->(:User {id: $y}) SET e.payload = $payload
// assoc_del
MATCH (:User {id: $x})-[e:<type>]->(:User {id: $y}) DELETE e
