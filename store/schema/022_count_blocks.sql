-- The counts of 512 episodes at a time, in columns: figures of a hundred thousand episodes are computed
-- from two hundred rows in place of a hundred thousand.

-- Of the episodes `id / 512 = block` those with a row of `roll` for the candidate. No evidence: made
-- from `roll` and `gate_count`, which are read where there is no block.
CREATE TABLE count_block (
  id        INTEGER PRIMARY KEY,        -- candidate << 40 | block: one number is found in a third of the time
  candidate INTEGER NOT NULL CHECK (candidate = id >> 40),
  episodes  BLOB NOT NULL,              -- uint16: id % 512 of each, rising
  kinds     TEXT NOT NULL,              -- JSON: each combination of the other counts once
  places    BLOB NOT NULL,              -- uint16, of each episode: its place in `kinds`
  costs     BLOB NOT NULL,              -- int64, nano-USD
  steps     BLOB NOT NULL               -- int64
) STRICT;

-- What is no longer so is not kept, whoever changed it.
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
