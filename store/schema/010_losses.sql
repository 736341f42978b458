-- Statements that journal was lost: signed by an approver when a store goes on from an earlier entry
-- than was signed. Only ever added to, and shown in every later report.

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
