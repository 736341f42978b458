-- What people and judges said of final messages. Both only ever grow: a revision is a new label that
-- names the old one, a judge asked again gives a new judgment. Joining two stores is the union by uid.

-- One label: what one person said of one showing of one item. `body` is the label as a line of a
-- file of labels (RFC 8785 JSON, reviewer/label@1); the other columns repeat what is searched by.
CREATE TABLE label (
  id       INTEGER PRIMARY KEY,
  uid      TEXT NOT NULL UNIQUE,        -- sha256 of the content
  suite    TEXT NOT NULL,               -- digest of the suite
  item     TEXT NOT NULL,
  showing  INTEGER NOT NULL,
  reviewer TEXT NOT NULL,
  role     TEXT NOT NULL,
  at       TEXT NOT NULL,
  body     BLOB NOT NULL
) STRICT;

CREATE INDEX label_suite ON label (suite, id);

-- One answer of a judge: `body` is reviewer/judgment@1 in RFC 8785 JSON. `order` is forward, swapped
-- or single; `request` is the digest of all that decides the reply, under which it is found again.
CREATE TABLE judgment (
  id       INTEGER PRIMARY KEY,
  uid      TEXT NOT NULL UNIQUE,
  request  TEXT NOT NULL,
  suite    TEXT NOT NULL,               -- digest of the suite
  item     TEXT NOT NULL,
  "order"  TEXT NOT NULL,
  repeat   INTEGER NOT NULL,
  judge_id TEXT NOT NULL,
  model    TEXT NOT NULL,
  at       TEXT NOT NULL,
  body     BLOB NOT NULL
) STRICT;

CREATE INDEX judgment_request ON judgment (request);
CREATE INDEX judgment_item ON judgment (item);
CREATE INDEX judgment_suite ON judgment (suite, id);

CREATE TRIGGER label_no_update BEFORE UPDATE ON label
BEGIN SELECT RAISE(ABORT, 'labels are append-only'); END;
CREATE TRIGGER label_no_delete BEFORE DELETE ON label
BEGIN SELECT RAISE(ABORT, 'labels are append-only'); END;
CREATE TRIGGER label_in_order BEFORE INSERT ON label
WHEN NEW.id IS NOT (SELECT coalesce(max(id), 0) + 1 FROM label)
  OR EXISTS (SELECT 1 FROM label WHERE uid = NEW.uid)
BEGIN SELECT RAISE(ABORT, 'a label follows the last one, and none stands twice'); END;

CREATE TRIGGER judgment_no_update BEFORE UPDATE ON judgment
BEGIN SELECT RAISE(ABORT, 'judgments are append-only'); END;
CREATE TRIGGER judgment_no_delete BEFORE DELETE ON judgment
BEGIN SELECT RAISE(ABORT, 'judgments are append-only'); END;
CREATE TRIGGER judgment_in_order BEFORE INSERT ON judgment
WHEN NEW.id IS NOT (SELECT coalesce(max(id), 0) + 1 FROM judgment)
  OR EXISTS (SELECT 1 FROM judgment WHERE uid = NEW.uid)
BEGIN SELECT RAISE(ABORT, 'a judgment follows the last one, and none stands twice'); END;

-- The same in the product's own words. Every label ever made: which one counts, the end of its chain
-- of revisions says (`revises`, `withdrawn`).
CREATE VIEW labels AS
  SELECT uid, json_extract(text, '$.suite_id') AS suite_id,
         json_extract(text, '$.episode_id') AS episode_id, item,
         json_extract(text, '$.kind') AS kind, showing, reviewer, role,
         json_extract(text, '$.answer') AS answer, json_extract(text, '$.marks') AS marks,
         json_extract(text, '$.decided') AS decided, json_extract(text, '$.skipped') AS skipped,
         json_extract(text, '$.withdrawn') AS withdrawn, json_extract(text, '$.flag') AS flag,
         json_extract(text, '$.note') AS note, json_extract(text, '$.left') AS "left",
         json_extract(text, '$.right') AS "right", json_extract(text, '$.message') AS message,
         json_extract(text, '$.rubric_id') AS rubric_id,
         json_extract(text, '$.rubric_version') AS rubric_version,
         json_extract(text, '$.stratum') AS stratum, json_extract(text, '$.reasons') AS reasons,
         json_extract(text, '$.pi') AS pi, json_extract(text, '$.duration_ms') AS duration_ms,
         json_extract(text, '$.revises') AS revises, at
  FROM (SELECT *, CAST(body AS TEXT) AS text FROM label);

CREATE VIEW judgments AS
  SELECT uid, json_extract(text, '$.suite_id') AS suite_id,
         json_extract(text, '$.episode_id') AS episode_id, item, "order", repeat, judge_id, model,
         json_extract(text, '$.preset') AS preset, json_extract(text, '$.answer') AS answer,
         json_extract(text, '$.scores') AS scores, json_extract(text, '$.claims') AS claims,
         json_extract(text, '$.error') AS error, json_extract(text, '$.reason') AS reason,
         json_extract(text, '$.prompt_digest') AS prompt_digest,
         json_extract(text, '$.rubric_digest') AS rubric_digest, request AS request_digest,
         json_extract(text, '$.cost_usd') AS cost_usd,
         json_extract(text, '$.input_tokens') AS input_tokens,
         json_extract(text, '$.output_tokens') AS output_tokens, at
  FROM (SELECT *, CAST(body AS TEXT) AS text FROM judgment);
