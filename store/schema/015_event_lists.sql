-- The events of a trace in one row. A row per event took twice the room of the records themselves
-- and most of the time that filling them took.

-- What events have in common. Ids count from 1; `event_shapes` in meta says how many there are.
CREATE TABLE event_shape (
  id     INTEGER PRIMARY KEY,
  kind   TEXT NOT NULL,
  tool   TEXT,
  status TEXT,
  actor  TEXT
) STRICT;

CREATE INDEX event_shape_is ON event_shape (tool, kind, status, actor);

-- One trace: a JSON array of [shape, latency in ns, cost in nano-USD] in the order of its events,
-- with the event's number behind them where that is not its place, from 1. Null: not measured, or in
-- `event_figure`.
CREATE TABLE event_list (
  trace INTEGER PRIMARY KEY,
  body  TEXT NOT NULL
) STRICT;

-- Figures that are no whole numbers of those units. `place` counts from 0.
CREATE TABLE event_figure (
  trace      INTEGER NOT NULL,
  place      INTEGER NOT NULL,
  latency_ms REAL,
  cost_usd   REAL,
  PRIMARY KEY (trace, place)
) STRICT, WITHOUT ROWID;

INSERT INTO event_shape (kind, tool, status, actor)
  SELECT DISTINCT kind, tool, status, actor FROM event ORDER BY trace, seq;
INSERT INTO meta SELECT 'event_shapes', count(*) FROM event_shape;

-- A figure is kept as a whole number where that gives the very same figure back.
INSERT INTO event_list
  SELECT trace, '[' || group_concat(
    '[' || shape
        || ',' || CASE WHEN ns / 1e6 = latency_ms THEN ns ELSE 'null' END
        || ',' || CASE WHEN nano / 1e9 = cost_usd THEN nano ELSE 'null' END
        || CASE WHEN seq = place + 1 THEN '' ELSE ',' || seq END
        || ']', ',') || ']'
  FROM (SELECT e.trace, e.seq, e.latency_ms, e.cost_usd, s.id AS shape,
                 row_number() OVER (PARTITION BY e.trace ORDER BY e.seq) - 1 AS place,
                 CASE WHEN e.latency_ms * 1e6 < 9e15
                  THEN CAST(e.latency_ms * 1e6 + 0.5 AS INTEGER) END AS ns,
                 CASE WHEN e.cost_usd * 1e9 < 9e15
                  THEN CAST(e.cost_usd * 1e9 + 0.5 AS INTEGER) END AS nano
          FROM event e JOIN event_shape s ON s.tool IS e.tool AND s.kind = e.kind
           AND s.status IS e.status AND s.actor IS e.actor
          ORDER BY e.trace, e.seq)
  GROUP BY trace;
INSERT INTO event_figure
  SELECT trace, place, CASE WHEN ns / 1e6 = latency_ms THEN NULL ELSE latency_ms END,
         CASE WHEN nano / 1e9 = cost_usd THEN NULL ELSE cost_usd END
  FROM (SELECT e.trace, e.seq, e.latency_ms, e.cost_usd, s.id AS shape,
                 row_number() OVER (PARTITION BY e.trace ORDER BY e.seq) - 1 AS place,
                 CASE WHEN e.latency_ms * 1e6 < 9e15
                  THEN CAST(e.latency_ms * 1e6 + 0.5 AS INTEGER) END AS ns,
                 CASE WHEN e.cost_usd * 1e9 < 9e15
                  THEN CAST(e.cost_usd * 1e9 + 0.5 AS INTEGER) END AS nano
          FROM event e JOIN event_shape s ON s.tool IS e.tool AND s.kind = e.kind
           AND s.status IS e.status AND s.actor IS e.actor
          ORDER BY e.trace, e.seq)
  WHERE latency_ms IS NOT NULL AND ns / 1e6 IS NOT latency_ms
     OR cost_usd IS NOT NULL AND nano / 1e9 IS NOT cost_usd;
DROP TABLE event;

CREATE VIEW event AS
  SELECT l.trace, coalesce(json_extract(e.value, '$[3]'), e.key + 1) AS seq, s.kind, s.tool,
         s.status, s.actor,
         coalesce(json_extract(e.value, '$[1]') / 1e6, f.latency_ms) AS latency_ms,
         coalesce(json_extract(e.value, '$[2]') / 1e9, f.cost_usd) AS cost_usd
  FROM event_list l CROSS JOIN json_each(l.body) e
  LEFT JOIN event_shape s ON s.id = json_extract(e.value, '$[0]')
  LEFT JOIN event_figure f ON f.trace = l.trace AND f.place = e.key;
