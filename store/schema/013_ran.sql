-- What the runner measured of what it ran. Imported traces have no row here, and neither have those
-- that were made before the runner measured anything: their code is not bound.

-- One measurement, once for all attempts that it is of: reviewer/ran@1 in RFC 8785 JSON.
CREATE TABLE ran (
  id   INTEGER PRIMARY KEY,
  uid  TEXT NOT NULL UNIQUE,            -- sha256 of the body
  body BLOB NOT NULL
) STRICT;

-- Consecutive traces of one candidate that a measurement is of; attempts that infrastructure ended
-- are left out, since they are evidence of nothing.
CREATE TABLE ran_traces (
  first     INTEGER PRIMARY KEY,        -- id of the first trace
  traces    INTEGER NOT NULL,
  candidate INTEGER NOT NULL,
  ran       INTEGER NOT NULL REFERENCES ran (id)
) STRICT;

CREATE INDEX ran_traces_candidate ON ran_traces (candidate, ran, traces);
