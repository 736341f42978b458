-- The first complete set: attempts may be made again, and every one is kept, but rates are made of
-- the first set alone, so that running until something passes shows and does not pay.

-- Attempts per episode that this candidate's first run declared before it had any trace, where
-- they are more than the suite's policy plans; null: the policy's.
ALTER TABLE candidate ADD COLUMN planned INTEGER;

-- Counts of the first complete set, for episodes with attempts numbered beyond the plan: those of
-- the plan, and for each of them that infrastructure lost the next one beyond. An episode without
-- a row here has nothing beyond, and `roll` (every attempt made) counts its set.
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
  fail_0 INTEGER NOT NULL DEFAULT 0, unknown_0 INTEGER NOT NULL DEFAULT 0,
  fail_1 INTEGER NOT NULL DEFAULT 0, unknown_1 INTEGER NOT NULL DEFAULT 0,
  fail_2 INTEGER NOT NULL DEFAULT 0, unknown_2 INTEGER NOT NULL DEFAULT 0,
  fail_3 INTEGER NOT NULL DEFAULT 0, unknown_3 INTEGER NOT NULL DEFAULT 0,
  fail_4 INTEGER NOT NULL DEFAULT 0, unknown_4 INTEGER NOT NULL DEFAULT 0,
  fail_5 INTEGER NOT NULL DEFAULT 0, unknown_5 INTEGER NOT NULL DEFAULT 0,
  fail_6 INTEGER NOT NULL DEFAULT 0, unknown_6 INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (candidate, episode)
) STRICT, WITHOUT ROWID;
