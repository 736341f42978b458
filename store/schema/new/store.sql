-- What the numbered scripts make, at once, for a new store.
-- Written by `python docs/make.py`: change a numbered script, never this one.
CREATE TABLE "_sqlite_migrations" (
   "id" INTEGER PRIMARY KEY,
   "migration_set" TEXT,
   "name" TEXT,
   "applied_at" TEXT
);
CREATE UNIQUE INDEX "idx__sqlite_migrations_migration_set_name"
    ON "_sqlite_migrations" ("migration_set", "name");
CREATE TABLE suite (
  id        INTEGER PRIMARY KEY,
  suite_id  TEXT NOT NULL UNIQUE,
  digest    TEXT NOT NULL,
  probe     INTEGER NOT NULL DEFAULT 0,
  title     TEXT NOT NULL DEFAULT '',
  body      BLOB NOT NULL,
  frozen_at TEXT NOT NULL,
  seq       INTEGER NOT NULL            -- journal entry that registered it
) STRICT;
CREATE TABLE episode (
  id         INTEGER PRIMARY KEY,
  suite      INTEGER NOT NULL REFERENCES suite(id),
  episode_id TEXT NOT NULL,
  position   INTEGER NOT NULL,          -- order in the suite
  title      TEXT NOT NULL DEFAULT '',
  tags       TEXT NOT NULL DEFAULT '[]', category TEXT NOT NULL DEFAULT 'task', critical TEXT NOT NULL DEFAULT '[]',
  UNIQUE (suite, episode_id)
) STRICT;
CREATE TABLE candidate (
  id           INTEGER PRIMARY KEY,
  suite        INTEGER NOT NULL REFERENCES suite(id),
  candidate_id TEXT NOT NULL,
  digest       TEXT,
  manifest     BLOB,
  seq          INTEGER NOT NULL, planned INTEGER,
  UNIQUE (suite, candidate_id)
) STRICT;
CREATE TABLE source (
  id      INTEGER PRIMARY KEY,
  sha256  TEXT NOT NULL,
  path    TEXT NOT NULL,
  size    INTEGER NOT NULL,
  reader  TEXT NOT NULL,
  suite   TEXT NOT NULL DEFAULT '',     -- the suite and candidate asked for, if any:
  candidate TEXT NOT NULL DEFAULT '',   -- the same file for another candidate is another import
  state   TEXT NOT NULL,                -- reading | done
  records INTEGER NOT NULL DEFAULT 0,
  added   INTEGER NOT NULL DEFAULT 0,
  known   INTEGER NOT NULL DEFAULT 0,
  refused INTEGER NOT NULL DEFAULT 0,
  notes   TEXT NOT NULL DEFAULT '[]',
  at      TEXT NOT NULL,
  UNIQUE (sha256, suite, candidate)
) STRICT;
CREATE TABLE pack (
  id     INTEGER PRIMARY KEY,
  size   INTEGER NOT NULL,              -- bytes before compression
  sha256 BLOB NOT NULL,                 -- of the frame
  frame  BLOB NOT NULL
) STRICT;
CREATE TABLE trace (
  id          INTEGER PRIMARY KEY,
  candidate   INTEGER NOT NULL,
  episode     INTEGER NOT NULL,
  attempt     INTEGER NOT NULL,
  gates       INTEGER NOT NULL,
  passed      INTEGER,                  -- 1, 0, or null: not measured
  critical    INTEGER NOT NULL,
  infra       INTEGER NOT NULL,
  cost_usd    REAL,
  latency_ms  REAL,
  steps       INTEGER NOT NULL,
  timeouts    INTEGER NOT NULL,
  events      INTEGER NOT NULL,
  termination TEXT,
  final_state TEXT,
  evidence    INTEGER NOT NULL,         -- first 8 bytes of sha256: the same evidence twice is seen
  sha256      BLOB NOT NULL,            -- of the record as imported
  source      INTEGER NOT NULL,
  record      INTEGER NOT NULL,
  pack        INTEGER,                  -- null: payload refused (raw identifiers) or in chunks
  offset      INTEGER,
  length      INTEGER,
  diagnostics BLOB                      -- six float32, NaN = undefined; null = none
) STRICT;
CREATE UNIQUE INDEX trace_slot ON trace (candidate, episode, attempt);
CREATE INDEX trace_evidence ON trace (evidence);
CREATE INDEX trace_failed ON trace (candidate, id) WHERE passed = 0 OR infra = 1;
CREATE TABLE chunk (
  trace     INTEGER NOT NULL,
  n         INTEGER NOT NULL,
  first_seq INTEGER NOT NULL,           -- 0 for the head
  events    INTEGER NOT NULL,
  frame     BLOB NOT NULL,
  PRIMARY KEY (trace, n)
) STRICT, WITHOUT ROWID;
CREATE TABLE finding (
  trace    INTEGER NOT NULL,
  n        INTEGER NOT NULL,
  gate     TEXT NOT NULL,
  code     TEXT NOT NULL,
  severity TEXT NOT NULL,
  seq      INTEGER,
  detail   TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (trace, n)
) STRICT, WITHOUT ROWID;
CREATE TABLE source_verdict (
  trace  INTEGER PRIMARY KEY,
  passed INTEGER,
  reward REAL,
  detail TEXT NOT NULL DEFAULT '{}'
) STRICT;
CREATE TABLE roll (
  candidate    INTEGER NOT NULL,
  episode      INTEGER NOT NULL,
  attempts     INTEGER NOT NULL DEFAULT 0,
  measured     INTEGER NOT NULL DEFAULT 0,
  passes       INTEGER NOT NULL DEFAULT 0,
  critical     INTEGER NOT NULL DEFAULT 0,
  infra        INTEGER NOT NULL DEFAULT 0,
  in_plan      INTEGER NOT NULL DEFAULT 0,   -- attempts among those the policy plans
  cost_nano    INTEGER NOT NULL DEFAULT 0,
  cost_unknown INTEGER NOT NULL DEFAULT 0,
  steps        INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (candidate, episode)
) STRICT, WITHOUT ROWID;
CREATE TABLE quarantine (
  id           INTEGER PRIMARY KEY,
  source       INTEGER NOT NULL,
  record       INTEGER NOT NULL,
  candidate_id TEXT,
  episode_id   TEXT,
  suite_id     TEXT,
  attempt      INTEGER,
  reasons      TEXT NOT NULL,           -- JSON array of codes
  UNIQUE (source, record)
) STRICT;
CREATE VIRTUAL TABLE search USING fts5 (body, content='', detail=none);
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE journal (
  seq  INTEGER PRIMARY KEY,
  body BLOB NOT NULL,
  prev BLOB NOT NULL CHECK (length(prev) = 32),
  hash BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;
CREATE TRIGGER journal_no_update BEFORE UPDATE ON journal
BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER journal_no_delete BEFORE DELETE ON journal
BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER journal_in_order BEFORE INSERT ON journal
WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM journal)
  OR NEW.prev IS NOT coalesce((SELECT hash FROM journal ORDER BY seq DESC LIMIT 1), zeroblob(32))
BEGIN SELECT RAISE(ABORT, 'a journal entry must follow the last one'); END;
CREATE TABLE decision (
  number       INTEGER PRIMARY KEY,
  suite        INTEGER NOT NULL,
  candidate    INTEGER NOT NULL,
  decision     TEXT NOT NULL,
  principal    TEXT NOT NULL,
  payload_sha256 TEXT NOT NULL,
  report_sha256  TEXT NOT NULL,
  file         TEXT NOT NULL,
  envelope     BLOB NOT NULL,
  at           TEXT NOT NULL,
  seq          INTEGER NOT NULL
, standing TEXT NOT NULL DEFAULT 'signed'
  CHECK (standing IN ('signed', 'pending')), agent TEXT NOT NULL DEFAULT '', environment TEXT NOT NULL DEFAULT '') STRICT;
CREATE VIEW traces AS
  SELECT s.suite_id || '/' || c.candidate_id || '/' || e.episode_id || '/' || t.attempt AS trace_id,
         s.suite_id, s.digest AS suite_digest, s.probe, c.candidate_id, e.episode_id, t.attempt,
         t.passed, t.critical, t.infra AS infrastructure, t.cost_usd, t.latency_ms, t.steps,
         t.timeouts, t.events, t.termination, t.final_state, lower(hex(t.sha256)) AS sha256,
         o.path AS source_path, o.sha256 AS source_sha256, t.record AS source_record,
         (t.gates & 3)          AS completeness,
         ((t.gates >> 2) & 3)   AS state,
         ((t.gates >> 4) & 3)   AS authority,
         ((t.gates >> 6) & 3)   AS redaction,
         ((t.gates >> 8) & 3)   AS process,
         ((t.gates >> 10) & 3)  AS timeout,
         ((t.gates >> 12) & 3)  AS budget,
         t.id AS trace
  FROM trace t
  JOIN candidate c ON c.id = t.candidate
  JOIN suite s ON s.id = c.suite
  JOIN episode e ON e.id = t.episode
  JOIN source o ON o.id = t.source;
CREATE VIEW events AS
  SELECT v.trace_id, x.seq, x.kind, x.tool, x.status, x.actor, x.latency_ms, x.cost_usd
  FROM event x JOIN traces v ON v.trace = x.trace;
CREATE VIEW findings AS
  SELECT v.trace_id, f.gate, f.code, f.severity, f.seq, f.detail
  FROM finding f JOIN traces v ON v.trace = f.trace;
CREATE TABLE first_set (
  candidate    INTEGER NOT NULL,
  episode      INTEGER NOT NULL,
  last         INTEGER NOT NULL,             -- attempts numbered up to this one are the set
  attempts     INTEGER NOT NULL DEFAULT 0,
  measured     INTEGER NOT NULL DEFAULT 0,
  passes       INTEGER NOT NULL DEFAULT 0,
  critical     INTEGER NOT NULL DEFAULT 0,
  infra        INTEGER NOT NULL DEFAULT 0,
  in_plan      INTEGER NOT NULL DEFAULT 0,
  cost_nano    INTEGER NOT NULL DEFAULT 0,
  cost_unknown INTEGER NOT NULL DEFAULT 0,
  steps        INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (candidate, episode)
) STRICT, WITHOUT ROWID;
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
CREATE TABLE note (
  id       INTEGER PRIMARY KEY,
  uid      TEXT NOT NULL UNIQUE,        -- sha256 of the body
  suite    TEXT NOT NULL,               -- suite id
  trace    TEXT NOT NULL,               -- trace id
  seq      INTEGER NOT NULL,            -- the event
  kind     TEXT NOT NULL CHECK (kind IN ('bookmark', 'note')),
  reviewer TEXT NOT NULL,
  at       TEXT NOT NULL,
  body     BLOB NOT NULL
) STRICT;
CREATE INDEX note_trace ON note (trace, seq);
CREATE INDEX note_suite ON note (suite, id);
CREATE TRIGGER note_no_update BEFORE UPDATE ON note
BEGIN SELECT RAISE(ABORT, 'notes are append-only'); END;
CREATE TRIGGER note_no_delete BEFORE DELETE ON note
BEGIN SELECT RAISE(ABORT, 'notes are append-only'); END;
CREATE TRIGGER note_in_order BEFORE INSERT ON note
WHEN NEW.id IS NOT (SELECT coalesce(max(id), 0) + 1 FROM note)
  OR EXISTS (SELECT 1 FROM note WHERE uid = NEW.uid)
BEGIN SELECT RAISE(ABORT, 'a note follows the last one, and none stands twice'); END;
CREATE VIEW notes AS
  SELECT uid, suite AS suite_id, trace AS trace_id, seq, kind,
         json_extract(CAST(body AS TEXT), '$.text') AS text, reviewer, at
  FROM note AS one
  WHERE NOT EXISTS (
    SELECT 1 FROM note AS later
    WHERE later.trace = one.trace AND later.seq = one.seq AND later.kind = one.kind
      AND later.reviewer = one.reviewer AND (later.at, later.uid) > (one.at, one.uid))
    AND NOT json_extract(CAST(body AS TEXT), '$.removed');
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
CREATE TABLE signature (
  decision  INTEGER NOT NULL,
  keyid     TEXT NOT NULL,              -- fingerprint of the key
  principal TEXT NOT NULL,
  at        TEXT NOT NULL,
  seq       INTEGER NOT NULL,
  PRIMARY KEY (decision, keyid)
) STRICT, WITHOUT ROWID;
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
CREATE VIEW decisions AS
  SELECT d.number, s.suite_id, c.candidate_id, d.decision, d.principal, d.payload_sha256,
         d.report_sha256, d.file, d.at, d.standing, d.agent, d.environment,
         (SELECT group_concat(principal, ', ') FROM
           (SELECT principal FROM signature WHERE decision = d.number ORDER BY seq)) AS signers
  FROM decision d JOIN candidate c ON c.id = d.candidate JOIN suite s ON s.id = d.suite;
CREATE TABLE contract (
  episode INTEGER PRIMARY KEY,
  body    BLOB NOT NULL                 -- the normalised episode (JSON)
) STRICT;
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
CREATE VIEW costs AS
  SELECT entry AS entry_id, suite AS suite_id, candidate AS candidate_id,
         json_extract(text, '$.kind') AS kind, json_extract(text, '$.amount_usd') AS amount_usd,
         json_extract(text, '$.note') AS note, json_extract(text, '$.reviewer') AS reviewer, at,
         json_extract(text, '$.corrects') AS corrects
  FROM (SELECT *, CAST(body AS TEXT) AS text FROM cost);
CREATE TABLE loss (
  id        INTEGER PRIMARY KEY,
  uid       TEXT NOT NULL UNIQUE,       -- sha256 of the signed payload
  journal   TEXT NOT NULL,              -- the journal, as decisions name it
  lost_seq  INTEGER NOT NULL,           -- the highest entry that was known of it
  kept_seq  INTEGER NOT NULL,           -- the entry from which it goes on
  decisions TEXT NOT NULL,              -- JSON array: payloads (sha256) signed on what is gone
  principal TEXT NOT NULL,
  reason    TEXT NOT NULL,
  at        TEXT NOT NULL,
  file      TEXT NOT NULL,
  envelope  BLOB NOT NULL
) STRICT;
CREATE TRIGGER loss_no_update BEFORE UPDATE ON loss
BEGIN SELECT RAISE(ABORT, 'statements of loss are append-only'); END;
CREATE TRIGGER loss_no_delete BEFORE DELETE ON loss
BEGIN SELECT RAISE(ABORT, 'statements of loss are append-only'); END;
CREATE TRIGGER loss_in_order BEFORE INSERT ON loss
WHEN NEW.id IS NOT (SELECT coalesce(max(id), 0) + 1 FROM loss)
  OR EXISTS (SELECT 1 FROM loss WHERE uid = NEW.uid)
BEGIN SELECT RAISE(ABORT, 'a statement follows the last one, and none stands twice'); END;
CREATE TABLE revision (
  id          INTEGER PRIMARY KEY,
  trace       INTEGER NOT NULL,
  n           INTEGER NOT NULL,         -- from 1, in the order in which they came to stand here
  stands      TEXT NOT NULL CHECK (stands IN ('contained', 'beside')),
  whole       INTEGER NOT NULL,         -- 1: the record that is judged since then holds all earlier ones
  why         TEXT NOT NULL,            -- what goes on, changed or is gone
  gates       INTEGER NOT NULL,
  passed      INTEGER,
  critical    INTEGER NOT NULL,
  infra       INTEGER NOT NULL,
  cost_usd    REAL,
  latency_ms  REAL,
  steps       INTEGER NOT NULL,
  timeouts    INTEGER NOT NULL,
  events      INTEGER NOT NULL,
  termination TEXT,
  final_state TEXT,
  evidence    INTEGER NOT NULL,
  sha256      BLOB NOT NULL,
  source      INTEGER NOT NULL,
  record      INTEGER NOT NULL,
  pack        INTEGER,
  offset      INTEGER,
  length      INTEGER,
  said        INTEGER,                  -- the source's verdict, reward and further facts
  reward      REAL,
  detail      TEXT,
  findings    TEXT NOT NULL,
  at          TEXT NOT NULL,
  UNIQUE (trace, n)
) STRICT;
CREATE INDEX revision_evidence ON revision (evidence);
CREATE TABLE attempt_name (
  name  TEXT NOT NULL,
  trace INTEGER NOT NULL,
  PRIMARY KEY (name, trace)
) STRICT, WITHOUT ROWID;
CREATE TABLE source_file (
  source INTEGER PRIMARY KEY,
  sha256 TEXT NOT NULL,
  map    TEXT NOT NULL
) STRICT;
CREATE INDEX source_file_sha256 ON source_file (sha256);
CREATE TABLE rescored (
  id          INTEGER PRIMARY KEY,
  trace       INTEGER NOT NULL,
  before      TEXT NOT NULL,            -- JSON arrays of codes
  after       TEXT NOT NULL,
  code_before TEXT NOT NULL,            -- versions of reviewer; empty: not known
  code_after  TEXT NOT NULL,
  at          TEXT NOT NULL
) STRICT;
CREATE INDEX rescored_trace ON rescored (trace);
CREATE TRIGGER revision_no_update BEFORE UPDATE ON revision
BEGIN SELECT RAISE(ABORT, 'a revision is never changed'); END;
CREATE TRIGGER revision_no_delete BEFORE DELETE ON revision
BEGIN SELECT RAISE(ABORT, 'a revision is never taken away'); END;
CREATE TRIGGER rescored_no_update BEFORE UPDATE ON rescored
BEGIN SELECT RAISE(ABORT, 'what was rescored is append-only'); END;
CREATE TRIGGER rescored_no_delete BEFORE DELETE ON rescored
BEGIN SELECT RAISE(ABORT, 'what was rescored is append-only'); END;
CREATE VIEW revisions AS
  SELECT v.trace_id, r.n, r.stands, r.why, r.passed, r.critical, r.events, r.cost_usd, r.latency_ms,
         lower(hex(r.sha256)) AS sha256, o.path AS source_path, o.sha256 AS source_sha256,
         r.record AS source_record, r.findings, r.at
  FROM revision r JOIN traces v ON v.trace = r.trace JOIN source o ON o.id = r.source;
CREATE TABLE gate_count (
  candidate INTEGER NOT NULL,
  first     INTEGER NOT NULL,           -- 1: of the first complete set alone
  episode   INTEGER NOT NULL,
  gate      TEXT NOT NULL,
  failed    INTEGER NOT NULL,
  unknown   INTEGER NOT NULL,
  PRIMARY KEY (candidate, first, episode, gate)
) STRICT, WITHOUT ROWID;
CREATE TABLE ran (
  id   INTEGER PRIMARY KEY,
  uid  TEXT NOT NULL UNIQUE,            -- sha256 of the body
  body BLOB NOT NULL
) STRICT;
CREATE TABLE ran_traces (
  first     INTEGER PRIMARY KEY,        -- id of the first trace
  traces    INTEGER NOT NULL,
  candidate INTEGER NOT NULL,
  ran       INTEGER NOT NULL REFERENCES ran (id)
) STRICT;
CREATE INDEX ran_traces_candidate ON ran_traces (candidate, ran, traces);
CREATE INDEX episode_position ON episode (suite, position);
CREATE INDEX source_size ON source (size);
CREATE INDEX candidate_planned ON candidate (planned) WHERE planned IS NOT NULL;
CREATE TABLE event_shape (
  id     INTEGER PRIMARY KEY,
  kind   TEXT NOT NULL,
  tool   TEXT,
  status TEXT,
  actor  TEXT
) STRICT;
CREATE INDEX event_shape_is ON event_shape (tool, kind, status, actor);
CREATE TABLE event_list (
  trace INTEGER PRIMARY KEY,
  body  TEXT NOT NULL
) STRICT;
CREATE TABLE event_figure (
  trace      INTEGER NOT NULL,
  place      INTEGER NOT NULL,
  latency_ms REAL,
  cost_usd   REAL,
  PRIMARY KEY (trace, place)
) STRICT, WITHOUT ROWID;
CREATE VIEW event AS
  SELECT l.trace, coalesce(json_extract(e.value, '$[3]'), e.key + 1) AS seq, s.kind, s.tool,
         s.status, s.actor,
         coalesce(json_extract(e.value, '$[1]') / 1e6, f.latency_ms) AS latency_ms,
         coalesce(json_extract(e.value, '$[2]') / 1e9, f.cost_usd) AS cost_usd
  FROM event_list l CROSS JOIN json_each(l.body) e
  LEFT JOIN event_shape s ON s.id = json_extract(e.value, '$[0]')
  LEFT JOIN event_figure f ON f.trace = l.trace AND f.place = e.key;
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
CREATE VIEW review_sets AS
  SELECT name, uid, suite AS suite_id, json_extract(text, '$.kind') AS kind,
         json_extract(text, '$.sample') AS sample, json_extract(text, '$.seed') AS seed,
         json_extract(text, '$.size') AS population,
         json_array_length(text, '$.units') AS items, at
  FROM (SELECT *, CAST(body AS TEXT) AS text FROM review_set);
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
CREATE VIEW pattern_names AS
  SELECT uid, suite AS suite_id, pattern AS pattern_id,
         json_extract(CAST(body AS TEXT), '$.name') AS name,
         json_extract(CAST(body AS TEXT), '$.note') AS note, reviewer, at
  FROM pattern_name AS one
  WHERE NOT EXISTS (
    SELECT 1 FROM pattern_name AS later, json_each(CAST(later.body AS TEXT), '$.replaces') AS old
    WHERE later.suite = one.suite AND later.pattern = one.pattern AND old.value = one.uid)
    AND json_extract(CAST(body AS TEXT), '$.name') <> '';
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
         json_extract(text, '$.evidence_opened') AS evidence_opened,
         json_extract(text, '$.revises') AS revises, at
  FROM (SELECT *, CAST(body AS TEXT) AS text FROM label);
CREATE TABLE payload_archive (
  id     INTEGER PRIMARY KEY,
  path   TEXT NOT NULL UNIQUE,
  size   INTEGER NOT NULL,              -- bytes
  sha256 BLOB NOT NULL,
  frames INTEGER NOT NULL,
  at     TEXT NOT NULL
) STRICT;
CREATE TABLE archived_pack (
  pack    INTEGER PRIMARY KEY,
  archive INTEGER NOT NULL,
  offset  INTEGER NOT NULL,
  length  INTEGER NOT NULL
) STRICT;
CREATE INDEX archived_pack_archive ON archived_pack (archive, offset);
CREATE TABLE archived_chunk (
  trace   INTEGER NOT NULL,
  n       INTEGER NOT NULL,
  archive INTEGER NOT NULL,
  offset  INTEGER NOT NULL,
  length  INTEGER NOT NULL,
  sha256  BLOB NOT NULL,                -- of the frame
  PRIMARY KEY (trace, n)
) STRICT, WITHOUT ROWID;
CREATE INDEX archived_chunk_archive ON archived_chunk (archive, offset);
CREATE INDEX contract_by_person ON contract (episode)
  WHERE instr(body, CAST('"person"' AS BLOB)) > 0;
CREATE TABLE count_block (
  id        INTEGER PRIMARY KEY,        -- candidate << 40 | block: one number is found in a third of the time
  candidate INTEGER NOT NULL CHECK (candidate = id >> 40),
  episodes  BLOB NOT NULL,              -- uint16: id % 512 of each, rising
  kinds     TEXT NOT NULL,              -- JSON: each combination of the other counts once
  places    BLOB NOT NULL,              -- uint16, of each episode: its place in `kinds`
  costs     BLOB NOT NULL,              -- int64, nano-USD
  steps     BLOB NOT NULL               -- int64
) STRICT;
CREATE TRIGGER count_block_roll_added AFTER INSERT ON roll
  BEGIN DELETE FROM count_block WHERE id = NEW.candidate << 40 | NEW.episode / 512; END;
CREATE TRIGGER count_block_roll_changed AFTER UPDATE ON roll
  BEGIN DELETE FROM count_block WHERE id = NEW.candidate << 40 | NEW.episode / 512; END;
CREATE TRIGGER count_block_roll_moved AFTER UPDATE OF candidate, episode ON roll
  BEGIN DELETE FROM count_block WHERE id = OLD.candidate << 40 | OLD.episode / 512; END;
CREATE TRIGGER count_block_roll_gone AFTER DELETE ON roll
  BEGIN DELETE FROM count_block WHERE id = OLD.candidate << 40 | OLD.episode / 512; END;
CREATE TRIGGER count_block_gate_added AFTER INSERT ON gate_count WHEN NEW.first = 0
  BEGIN DELETE FROM count_block WHERE id = NEW.candidate << 40 | NEW.episode / 512; END;
CREATE TRIGGER count_block_gate_changed AFTER UPDATE ON gate_count WHEN NEW.first = 0
  BEGIN DELETE FROM count_block WHERE id = NEW.candidate << 40 | NEW.episode / 512; END;
CREATE TRIGGER count_block_gate_moved AFTER UPDATE OF candidate, first, episode ON gate_count
  BEGIN DELETE FROM count_block WHERE id = OLD.candidate << 40 | OLD.episode / 512; END;
CREATE TRIGGER count_block_gate_gone AFTER DELETE ON gate_count
  BEGIN DELETE FROM count_block WHERE id = OLD.candidate << 40 | OLD.episode / 512; END;
CREATE TABLE figure_block (
  id        INTEGER PRIMARY KEY,        -- block << 24 | candidate: one number is found in a third of the time
  block     INTEGER NOT NULL,
  candidate INTEGER NOT NULL CHECK (id = block << 24 | candidate),
  unknown   INTEGER NOT NULL,           -- attempts without a latency, but for those lost to infrastructure
  episodes  BLOB NOT NULL,              -- int64, of each attempt that has one, by latency
  latencies BLOB NOT NULL,              -- float64, in ms
  sums      BLOB NOT NULL,              -- per diagnostic: traces, sum, greatest denominator (float64)
  sources   TEXT NOT NULL,              -- JSON array of the sources of all of them
  noted     BLOB NOT NULL,              -- int64 pairs: episode and attempt of the failing and flagged ones, by id
  digests   BLOB NOT NULL,              -- sha256 of each of those
  places    BLOB NOT NULL,              -- uint16, of each of those: its place in `kinds`
  kinds     TEXT NOT NULL               -- JSON: each combination of verdict, findings and flags once
) STRICT;
CREATE INDEX figure_block_candidate ON figure_block (candidate, block);
CREATE TRIGGER figure_block_trace_changed
  AFTER UPDATE OF id, candidate, episode, attempt, gates, passed, critical, infra, latency_ms,
    termination, sha256, source, diagnostics
  ON trace
  BEGIN DELETE FROM figure_block
    WHERE id BETWEEN OLD.id / 512 << 24 AND (OLD.id / 512 << 24) + 16777215; END;
CREATE TRIGGER figure_block_trace_gone AFTER DELETE ON trace
  BEGIN DELETE FROM figure_block
    WHERE id BETWEEN OLD.id / 512 << 24 AND (OLD.id / 512 << 24) + 16777215; END;
CREATE TRIGGER figure_block_finding_added AFTER INSERT ON finding
  BEGIN DELETE FROM figure_block
    WHERE id BETWEEN NEW.trace / 512 << 24 AND (NEW.trace / 512 << 24) + 16777215; END;
CREATE TRIGGER figure_block_finding_changed AFTER UPDATE ON finding
  BEGIN DELETE FROM figure_block
    WHERE id BETWEEN NEW.trace / 512 << 24 AND (NEW.trace / 512 << 24) + 16777215; END;
CREATE TRIGGER figure_block_finding_moved AFTER UPDATE OF trace ON finding
  BEGIN DELETE FROM figure_block
    WHERE id BETWEEN OLD.trace / 512 << 24 AND (OLD.trace / 512 << 24) + 16777215; END;
CREATE TRIGGER figure_block_finding_gone AFTER DELETE ON finding
  BEGIN DELETE FROM figure_block
    WHERE id BETWEEN OLD.trace / 512 << 24 AND (OLD.trace / 512 << 24) + 16777215; END;
CREATE TRIGGER figure_block_source_verdict_added AFTER INSERT ON source_verdict
  BEGIN DELETE FROM figure_block
    WHERE id BETWEEN NEW.trace / 512 << 24 AND (NEW.trace / 512 << 24) + 16777215; END;
CREATE TRIGGER figure_block_source_verdict_changed AFTER UPDATE OF trace, passed ON source_verdict
  BEGIN DELETE FROM figure_block
    WHERE id BETWEEN NEW.trace / 512 << 24 AND (NEW.trace / 512 << 24) + 16777215; END;
CREATE TRIGGER figure_block_source_verdict_moved AFTER UPDATE OF trace ON source_verdict
  BEGIN DELETE FROM figure_block
    WHERE id BETWEEN OLD.trace / 512 << 24 AND (OLD.trace / 512 << 24) + 16777215; END;
CREATE TRIGGER figure_block_source_verdict_gone AFTER DELETE ON source_verdict
  BEGIN DELETE FROM figure_block
    WHERE id BETWEEN OLD.trace / 512 << 24 AND (OLD.trace / 512 << 24) + 16777215; END;
INSERT INTO meta VALUES ('event_shapes', '0');
INSERT INTO meta VALUES ('indexed', '0');
PRAGMA user_version=23;
