-- Counts per gate are rows: a gate more is no column more.

-- Of an episode's attempts, how many fail a gate and of how many it is not measured; no row where
-- neither is any. Those of every attempt made stand beside `roll`, those of the first complete set
-- beside `first_set`.
CREATE TABLE gate_count (
  candidate INTEGER NOT NULL,
  first     INTEGER NOT NULL,           -- 1: of the first complete set alone
  episode   INTEGER NOT NULL,
  gate      TEXT NOT NULL,
  failed    INTEGER NOT NULL,
  unknown   INTEGER NOT NULL,
  PRIMARY KEY (candidate, first, episode, gate)
) STRICT, WITHOUT ROWID;

INSERT INTO gate_count SELECT candidate, 0, episode, 'completeness', fail_0, unknown_0
  FROM roll WHERE fail_0 + unknown_0 > 0;
INSERT INTO gate_count SELECT candidate, 0, episode, 'state', fail_1, unknown_1
  FROM roll WHERE fail_1 + unknown_1 > 0;
INSERT INTO gate_count SELECT candidate, 0, episode, 'authority', fail_2, unknown_2
  FROM roll WHERE fail_2 + unknown_2 > 0;
INSERT INTO gate_count SELECT candidate, 0, episode, 'redaction', fail_3, unknown_3
  FROM roll WHERE fail_3 + unknown_3 > 0;
INSERT INTO gate_count SELECT candidate, 0, episode, 'process', fail_4, unknown_4
  FROM roll WHERE fail_4 + unknown_4 > 0;
INSERT INTO gate_count SELECT candidate, 0, episode, 'timeout', fail_5, unknown_5
  FROM roll WHERE fail_5 + unknown_5 > 0;
INSERT INTO gate_count SELECT candidate, 0, episode, 'budget', fail_6, unknown_6
  FROM roll WHERE fail_6 + unknown_6 > 0;
INSERT INTO gate_count SELECT candidate, 1, episode, 'completeness', fail_0, unknown_0
  FROM first_set WHERE fail_0 + unknown_0 > 0;
INSERT INTO gate_count SELECT candidate, 1, episode, 'state', fail_1, unknown_1
  FROM first_set WHERE fail_1 + unknown_1 > 0;
INSERT INTO gate_count SELECT candidate, 1, episode, 'authority', fail_2, unknown_2
  FROM first_set WHERE fail_2 + unknown_2 > 0;
INSERT INTO gate_count SELECT candidate, 1, episode, 'redaction', fail_3, unknown_3
  FROM first_set WHERE fail_3 + unknown_3 > 0;
INSERT INTO gate_count SELECT candidate, 1, episode, 'process', fail_4, unknown_4
  FROM first_set WHERE fail_4 + unknown_4 > 0;
INSERT INTO gate_count SELECT candidate, 1, episode, 'timeout', fail_5, unknown_5
  FROM first_set WHERE fail_5 + unknown_5 > 0;
INSERT INTO gate_count SELECT candidate, 1, episode, 'budget', fail_6, unknown_6
  FROM first_set WHERE fail_6 + unknown_6 > 0;

ALTER TABLE roll DROP COLUMN fail_0;
ALTER TABLE roll DROP COLUMN unknown_0;
ALTER TABLE roll DROP COLUMN fail_1;
ALTER TABLE roll DROP COLUMN unknown_1;
ALTER TABLE roll DROP COLUMN fail_2;
ALTER TABLE roll DROP COLUMN unknown_2;
ALTER TABLE roll DROP COLUMN fail_3;
ALTER TABLE roll DROP COLUMN unknown_3;
ALTER TABLE roll DROP COLUMN fail_4;
ALTER TABLE roll DROP COLUMN unknown_4;
ALTER TABLE roll DROP COLUMN fail_5;
ALTER TABLE roll DROP COLUMN unknown_5;
ALTER TABLE roll DROP COLUMN fail_6;
ALTER TABLE roll DROP COLUMN unknown_6;
ALTER TABLE first_set DROP COLUMN fail_0;
ALTER TABLE first_set DROP COLUMN unknown_0;
ALTER TABLE first_set DROP COLUMN fail_1;
ALTER TABLE first_set DROP COLUMN unknown_1;
ALTER TABLE first_set DROP COLUMN fail_2;
ALTER TABLE first_set DROP COLUMN unknown_2;
ALTER TABLE first_set DROP COLUMN fail_3;
ALTER TABLE first_set DROP COLUMN unknown_3;
ALTER TABLE first_set DROP COLUMN fail_4;
ALTER TABLE first_set DROP COLUMN unknown_4;
ALTER TABLE first_set DROP COLUMN fail_5;
ALTER TABLE first_set DROP COLUMN unknown_5;
ALTER TABLE first_set DROP COLUMN fail_6;
ALTER TABLE first_set DROP COLUMN unknown_6;
