-- The contract of each episode by itself, so that looking at one reads one. `suite.body` keeps the
-- rest: with the contracts put back into its list of episodes, in the suite's order, it is the
-- bytes whose digest the journal holds.
CREATE TABLE contract (
  episode INTEGER PRIMARY KEY,
  body    BLOB NOT NULL                 -- the normalised episode (JSON)
) STRICT;

-- Of each contract what rows are filtered, grouped and explained by.
ALTER TABLE episode ADD COLUMN category TEXT NOT NULL DEFAULT 'task';
ALTER TABLE episode ADD COLUMN critical TEXT NOT NULL DEFAULT '[]';
