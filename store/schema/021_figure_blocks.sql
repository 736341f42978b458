-- Sources, latencies, and sums of diagnostics of 512 traces at a time: a report of a million traces
-- reads two thousand rows for them in place of a million.

-- Of the traces `id / 512 = block` those of one candidate. A block has all its rows, or none: then
-- its traces are read. It is made when its last trace comes in.
CREATE TABLE figure_block (
  block     INTEGER NOT NULL,
  candidate INTEGER NOT NULL,
  unknown   INTEGER NOT NULL,           -- attempts without a latency, but for those lost to infrastructure
  episodes  BLOB NOT NULL,              -- int64, of each attempt that has one, by latency
  latencies BLOB NOT NULL,              -- float64, in ms
  sums      BLOB NOT NULL,              -- per diagnostic: traces, sum, greatest denominator (float64)
  sources   TEXT NOT NULL,              -- JSON array of the sources of all of them
  PRIMARY KEY (block, candidate)
) STRICT, WITHOUT ROWID;

-- What is no longer so is not kept, whoever changed it.
CREATE TRIGGER figure_block_changed
  AFTER UPDATE OF candidate, episode, passed, infra, latency_ms, diagnostics, source
  ON trace
  BEGIN DELETE FROM figure_block WHERE block = OLD.id / 512; END;
