-- What an import asks of each file: with many files of one attempt, a walk over all rows each time
-- made importing them take time with the square of their number.

CREATE INDEX episode_position ON episode (suite, position);
CREATE INDEX source_size ON source (size);
CREATE INDEX candidate_planned ON candidate (planned) WHERE planned IS NOT NULL;
