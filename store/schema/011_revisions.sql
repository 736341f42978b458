-- Evidence never gets less. An attempt that is imported again gets a revision: `trace` holds the
-- record that is judged as the attempt, and every other record of it stands here whole.

-- One record of an attempt that is not the one judged. `contained`: the record that was judged
-- until a later one came that holds all of it. `beside`: one that changes or drops an event, so that
-- both count against the candidate and nothing else of the attempt is measured, until a record comes
-- that holds them all (`whole`). The columns are those of `trace` and `source_verdict`; `findings` is
-- a JSON array of [gate, code, severity, seq, detail] as judged when it came. A large record lies in
-- `chunk` under the negative of its id here.
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

-- What a source itself calls an attempt (a session, a run, a trace id): the same name again under
-- the same candidate and episode is a revision.
CREATE TABLE attempt_name (
  name  TEXT NOT NULL,
  trace INTEGER NOT NULL,
  PRIMARY KEY (name, trace)
) STRICT, WITHOUT ROWID;

-- Which file an import read (a copy under another map is an import of its own) and the map that
-- named its episodes: the digest of the map, empty without one.
CREATE TABLE source_file (
  source INTEGER PRIMARY KEY,
  sha256 TEXT NOT NULL,
  map    TEXT NOT NULL
) STRICT;

CREATE INDEX source_file_sha256 ON source_file (sha256);

-- What judging the same bytes under newer code changed: codes before and after, and both versions.
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

INSERT INTO source_file SELECT id, sha256, '' FROM source;
