-- Money that people entered beside what attempts cost: handling by humans, and incidents. Entries only
-- ever grow: a correction is one of its own that names what it corrects. No gate reads them, and no
-- cost per success holds them.

-- One entry: `body` is reviewer/cost@1 in RFC 8785 JSON (kind human or incident, amount_usd, currency,
-- note, reviewer, corrects); the other columns repeat what is searched by.
CREATE TABLE cost (
  id        INTEGER PRIMARY KEY,
  uid       TEXT NOT NULL UNIQUE,        -- sha256 of the body
  suite     TEXT NOT NULL,               -- suite id
  candidate TEXT NOT NULL,               -- candidate id
  entry     TEXT NOT NULL,               -- its own id: entered once, whoever says it again
  at        TEXT NOT NULL,
  body      BLOB NOT NULL,
  UNIQUE (suite, candidate, entry)
) STRICT;

CREATE TRIGGER cost_no_update BEFORE UPDATE ON cost
BEGIN SELECT RAISE(ABORT, 'costs are append-only'); END;
CREATE TRIGGER cost_no_delete BEFORE DELETE ON cost
BEGIN SELECT RAISE(ABORT, 'costs are append-only'); END;
CREATE TRIGGER cost_in_order BEFORE INSERT ON cost
WHEN NEW.id IS NOT (SELECT coalesce(max(id), 0) + 1 FROM cost)
  OR EXISTS (SELECT 1 FROM cost WHERE uid = NEW.uid)
  OR EXISTS (SELECT 1 FROM cost WHERE suite = NEW.suite AND candidate = NEW.candidate
             AND entry = NEW.entry)
BEGIN SELECT RAISE(ABORT, 'an entry follows the last one, and none stands twice'); END;

-- Every entry ever made; one that another `corrects` does not count.
CREATE VIEW costs AS
  SELECT entry AS entry_id, suite AS suite_id, candidate AS candidate_id,
         json_extract(text, '$.kind') AS kind, json_extract(text, '$.amount_usd') AS amount_usd,
         json_extract(text, '$.note') AS note, json_extract(text, '$.reviewer') AS reviewer, at,
         json_extract(text, '$.corrects') AS corrects
  FROM (SELECT *, CAST(body AS TEXT) AS text FROM cost);
