-- Labels say whether the person opened what was done before the message: 1, 0, or null where that was
-- not recorded, as in every label made before.
DROP VIEW labels;
CREATE VIEW labels AS
  SELECT uid, json_extract(text, '$.suite_id') AS suite_id,
         json_extract(text, '$.episode_id') AS episode_id, item,
         json_extract(text, '$.kind') AS kind, showing, reviewer, role,
         json_extract(text, '$.answer') AS answer, json_extract(text, '$.marks') AS marks,
         json_extract(text, '$.decided') AS decided, json_extract(text, '$.skipped') AS skipped,
         json_extract(text, '$.withdrawn') AS withdrawn, json_extract(text, '$.flag') AS flag,
         json_extract(text, '$.note') AS note, json_extract(text, '$.left') AS "left",
         json_extract(text, '$.right') AS "right", json_extract(text, '$.message') AS message,
         json_extract(text, '$.rubric_id') AS rubric_id,
         json_extract(text, '$.rubric_version') AS rubric_version,
         json_extract(text, '$.stratum') AS stratum, json_extract(text, '$.reasons') AS reasons,
         json_extract(text, '$.pi') AS pi, json_extract(text, '$.duration_ms') AS duration_ms,
         json_extract(text, '$.evidence_opened') AS evidence_opened,
         json_extract(text, '$.revises') AS revises, at
  FROM (SELECT *, CAST(body AS TEXT) AS text FROM label);
