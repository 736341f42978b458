-- Review sets: which recorded attempts people read, frozen by digest. They only ever grow. Labels of a
-- set name it where those of a suite name the suite: `label.suite` is the set's uid.

-- One set: `body` is reviewer/review-set@1 in RFC 8785 JSON, without its name.
CREATE TABLE review_set (
  id    INTEGER PRIMARY KEY,
  uid   TEXT NOT NULL UNIQUE,        -- sha256 of the body
  name  TEXT NOT NULL UNIQUE,
  suite TEXT NOT NULL,               -- suite id
  at    TEXT NOT NULL,
  body  BLOB NOT NULL
) STRICT;

CREATE TRIGGER review_set_no_update BEFORE UPDATE ON review_set
BEGIN SELECT RAISE(ABORT, 'review sets are append-only'); END;
CREATE TRIGGER review_set_no_delete BEFORE DELETE ON review_set
BEGIN SELECT RAISE(ABORT, 'review sets are append-only'); END;
CREATE TRIGGER review_set_in_order BEFORE INSERT ON review_set
WHEN NEW.id IS NOT (SELECT coalesce(max(id), 0) + 1 FROM review_set)
  OR EXISTS (SELECT 1 FROM review_set WHERE uid = NEW.uid OR name = NEW.name)
BEGIN SELECT RAISE(ABORT, 'a review set follows the last one, and none stands twice'); END;

-- Every set in the product's own words.
CREATE VIEW review_sets AS
  SELECT name, uid, suite AS suite_id, json_extract(text, '$.kind') AS kind,
         json_extract(text, '$.sample') AS sample, json_extract(text, '$.seed') AS seed,
         json_extract(text, '$.size') AS population,
         json_array_length(text, '$.units') AS items, at
  FROM (SELECT *, CAST(body AS TEXT) AS text FROM review_set);
