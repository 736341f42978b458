-- Of the acts of one person on one event and kind the latest counts, by its own time and then its
-- uid, in whichever order a store came to know them: another store's notes may be older ones.
DROP VIEW notes;

CREATE VIEW notes AS
  SELECT uid, suite AS suite_id, trace AS trace_id, seq, kind,
         json_extract(CAST(body AS TEXT), '$.text') AS text, reviewer, at
  FROM note AS one
  WHERE NOT EXISTS (
    SELECT 1 FROM note AS later
    WHERE later.trace = one.trace AND later.seq = one.seq AND later.kind = one.kind
      AND later.reviewer = one.reviewer AND (later.at, later.uid) > (one.at, one.uid))
    AND NOT json_extract(CAST(body AS TEXT), '$.removed');
