-- Decisions that several people sign, and what is signed beside decisions.

-- A decision waits (`pending`) until the signatures under it meet its policy. Numbers rise, and one
-- decision follows another, within an agent and an environment.
ALTER TABLE decision ADD COLUMN standing TEXT NOT NULL DEFAULT 'signed'
  CHECK (standing IN ('signed', 'pending'));
ALTER TABLE decision ADD COLUMN agent TEXT NOT NULL DEFAULT '';
ALTER TABLE decision ADD COLUMN environment TEXT NOT NULL DEFAULT '';

-- Each signature under a decision; `seq` is the journal entry that tells of it.
CREATE TABLE signature (
  decision  INTEGER NOT NULL,
  keyid     TEXT NOT NULL,              -- fingerprint of the key
  principal TEXT NOT NULL,
  at        TEXT NOT NULL,
  seq       INTEGER NOT NULL,
  PRIMARY KEY (decision, keyid)
) STRICT, WITHOUT ROWID;

-- Releases that went out without their decision: who said so, why, for how long. Only ever added to,
-- and shown in every later report of the agent.
CREATE TABLE break_glass (
  id          INTEGER PRIMARY KEY,
  uid         TEXT NOT NULL UNIQUE,     -- sha256 of the signed payload
  suite       TEXT NOT NULL,            -- suite id
  candidate   TEXT NOT NULL,            -- candidate id
  agent       TEXT NOT NULL,
  environment TEXT NOT NULL,
  principal   TEXT NOT NULL,
  reason      TEXT NOT NULL,
  at          TEXT NOT NULL,
  expires     TEXT NOT NULL,
  file        TEXT NOT NULL,
  envelope    BLOB NOT NULL
) STRICT;

CREATE INDEX break_glass_agent ON break_glass (agent, id);

-- What a run or an import came to, signed by a runner's key. `evidence` is a digest over the
-- verdicts: once the attempts are judged anew, the statement is of the past.
CREATE TABLE run_result (
  id        INTEGER PRIMARY KEY,
  uid       TEXT NOT NULL UNIQUE,       -- sha256 of the signed payload
  suite     TEXT NOT NULL,              -- suite id
  candidate TEXT NOT NULL,              -- candidate id
  source    INTEGER NOT NULL,
  result    TEXT NOT NULL CHECK (result IN ('PASSED', 'WARNED', 'FAILED')),
  evidence  TEXT NOT NULL,
  principal TEXT NOT NULL,
  at        TEXT NOT NULL,
  file      TEXT NOT NULL,
  envelope  BLOB NOT NULL
) STRICT;

CREATE INDEX run_result_candidate ON run_result (suite, candidate, id);

CREATE TRIGGER break_glass_no_update BEFORE UPDATE ON break_glass
BEGIN SELECT RAISE(ABORT, 'break-glass records are append-only'); END;
CREATE TRIGGER break_glass_no_delete BEFORE DELETE ON break_glass
BEGIN SELECT RAISE(ABORT, 'break-glass records are append-only'); END;
CREATE TRIGGER break_glass_in_order BEFORE INSERT ON break_glass
WHEN NEW.id IS NOT (SELECT coalesce(max(id), 0) + 1 FROM break_glass)
  OR EXISTS (SELECT 1 FROM break_glass WHERE uid = NEW.uid)
BEGIN SELECT RAISE(ABORT, 'a record follows the last one, and none stands twice'); END;

CREATE TRIGGER run_result_no_update BEFORE UPDATE ON run_result
BEGIN SELECT RAISE(ABORT, 'test results are append-only'); END;
CREATE TRIGGER run_result_no_delete BEFORE DELETE ON run_result
BEGIN SELECT RAISE(ABORT, 'test results are append-only'); END;
CREATE TRIGGER run_result_in_order BEFORE INSERT ON run_result
WHEN NEW.id IS NOT (SELECT coalesce(max(id), 0) + 1 FROM run_result)
  OR EXISTS (SELECT 1 FROM run_result WHERE uid = NEW.uid)
BEGIN SELECT RAISE(ABORT, 'a test result follows the last one, and none stands twice'); END;

DROP VIEW decisions;
CREATE VIEW decisions AS
  SELECT d.number, s.suite_id, c.candidate_id, d.decision, d.principal, d.payload_sha256,
         d.report_sha256, d.file, d.at, d.standing, d.agent, d.environment,
         (SELECT group_concat(principal, ', ') FROM
           (SELECT principal FROM signature WHERE decision = d.number ORDER BY seq)) AS signers
  FROM decision d JOIN candidate c ON c.id = d.candidate JOIN suite s ON s.id = d.suite;
