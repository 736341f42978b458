-- Payloads that lie in files outside the database. The row of a pack or a chunk stays, with an empty
-- frame, and says here where its frame is. Every frame is proved against its digest when it is read.

-- One immutable file: zstd frames end to end. `path` is relative to the folder of the store when it
-- lies below it.
CREATE TABLE payload_archive (
  id     INTEGER PRIMARY KEY,
  path   TEXT NOT NULL UNIQUE,
  size   INTEGER NOT NULL,              -- bytes
  sha256 BLOB NOT NULL,
  frames INTEGER NOT NULL,
  at     TEXT NOT NULL
) STRICT;

-- The digest of a pack's frame is in `pack`.
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
