-- Names that people give to patterns of failing attempts. They only ever grow: another name, or taking
-- one back, is a row that says which rows it replaces. What no row replaces stands, in whichever order a
-- store came to know the rows: two names given without knowing of each other both stand.

-- One act: `body` is reviewer/pattern-name@1 in RFC 8785 JSON; the other columns repeat what is searched
-- by.
CREATE TABLE pattern_name (
  id       INTEGER PRIMARY KEY,
  uid      TEXT NOT NULL UNIQUE,        -- sha256 of the body
  suite    TEXT NOT NULL,               -- suite id
  pattern  TEXT NOT NULL,               -- id of the pattern: a digest of what groups it
  reviewer TEXT NOT NULL,
  at       TEXT NOT NULL,
  body     BLOB NOT NULL
) STRICT;

CREATE INDEX pattern_name_suite ON pattern_name (suite, pattern);

CREATE TRIGGER pattern_name_no_update BEFORE UPDATE ON pattern_name
BEGIN SELECT RAISE(ABORT, 'pattern names are append-only'); END;
CREATE TRIGGER pattern_name_no_delete BEFORE DELETE ON pattern_name
BEGIN SELECT RAISE(ABORT, 'pattern names are append-only'); END;
CREATE TRIGGER pattern_name_in_order BEFORE INSERT ON pattern_name
WHEN NEW.id IS NOT (SELECT coalesce(max(id), 0) + 1 FROM pattern_name)
  OR EXISTS (SELECT 1 FROM pattern_name WHERE uid = NEW.uid)
BEGIN SELECT RAISE(ABORT, 'a pattern name follows the last one, and none stands twice'); END;

-- Every name that stands: two rows of one pattern are two people's words, which a third act settles.
CREATE VIEW pattern_names AS
  SELECT uid, suite AS suite_id, pattern AS pattern_id,
         json_extract(CAST(body AS TEXT), '$.name') AS name,
         json_extract(CAST(body AS TEXT), '$.note') AS note, reviewer, at
  FROM pattern_name AS one
  WHERE NOT EXISTS (
    SELECT 1 FROM pattern_name AS later, json_each(CAST(later.body AS TEXT), '$.replaces') AS old
    WHERE later.suite = one.suite AND later.pattern = one.pattern AND old.value = one.uid)
    AND json_extract(CAST(body AS TEXT), '$.name') <> '';
