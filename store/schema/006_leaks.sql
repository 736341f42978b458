-- Looks for frozen episodes in data that a candidate may have learned from. They only ever grow: a
-- finding is withdrawn by a row of its own. No gate reads them; one that stands holds a release.

-- One look at one file, or the withdrawal of one: `body` is reviewer/leak-check@1 in RFC 8785 JSON.
CREATE TABLE leak (
  id    INTEGER PRIMARY KEY,
  uid   TEXT NOT NULL UNIQUE,        -- sha256 of the body
  suite TEXT NOT NULL,               -- suite digest
  at    TEXT NOT NULL,
  body  BLOB NOT NULL
) STRICT;

CREATE INDEX leak_suite ON leak (suite, id);

CREATE TRIGGER leak_no_update BEFORE UPDATE ON leak
BEGIN SELECT RAISE(ABORT, 'looks for leaks are append-only'); END;
CREATE TRIGGER leak_no_delete BEFORE DELETE ON leak
BEGIN SELECT RAISE(ABORT, 'looks for leaks are append-only'); END;
CREATE TRIGGER leak_in_order BEFORE INSERT ON leak
WHEN NEW.id IS NOT (SELECT coalesce(max(id), 0) + 1 FROM leak)
  OR EXISTS (SELECT 1 FROM leak WHERE uid = NEW.uid)
BEGIN SELECT RAISE(ABORT, 'a look follows the last one, and none stands twice'); END;

-- What was found and not withdrawn, an episode a row.
CREATE VIEW leaks AS
  SELECT one.uid, json_extract(CAST(one.body AS TEXT), '$.suite_id') AS suite_id, one.suite,
         json_extract(CAST(one.body AS TEXT), '$.candidate_id') AS candidate_id,
         json_extract(CAST(one.body AS TEXT), '$.file') AS file,
         json_extract(found.value, '$.episode_id') AS episode_id,
         json_extract(found.value, '$.kind') AS kind,
         json_extract(found.value, '$.jaccard') AS jaccard,
         json_extract(found.value, '$.record') AS record,
         json_extract(found.value, '$.pointer') AS pointer, one.at
  FROM leak AS one, json_each(CAST(one.body AS TEXT), '$.leaks') AS found
  WHERE NOT EXISTS (
    SELECT 1 FROM leak AS back WHERE json_extract(CAST(back.body AS TEXT), '$.withdraws') = one.uid
  );
