-- The failing and flagged traces of 512 as well: a report of a million traces, of which 70,000 fail,
-- reads two thousand rows for them, their findings and flags.

DROP TRIGGER figure_block_changed;
DROP TABLE figure_block;

-- Of the traces `id / 512 = block` those of one candidate. A block has all its rows, or none: then
-- its traces are read. It is made when its last trace comes in. No evidence: made from `trace`,
-- `finding` and `source_verdict`.
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

-- What is no longer so is not kept, whoever changed it.
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
