-- The contracts that may have a user whom a person plays: every report asks for them, and to look
-- for the word in a hundred thousand contracts takes longer than to read all counts.
CREATE INDEX contract_by_person ON contract (episode)
  WHERE instr(body, CAST('"person"' AS BLOB)) > 0;
