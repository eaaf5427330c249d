-- From version 3 to version 4. A test compares the outcome with schema.sql, where each column is explained.
CREATE TABLE baseline (
  id INTEGER PRIMARY KEY,
  session_id INTEGER NOT NULL REFERENCES session (id),
  operation TEXT NOT NULL,
  state TEXT NOT NULL,
  name TEXT NOT NULL,
  message TEXT NOT NULL,
  method TEXT NOT NULL,
  process_medians_us BLOB NOT NULL,
  median_us REAL,
  ci_low_us REAL,
  ci_high_us REAL,
  recorded_utc TEXT NOT NULL
) STRICT;
CREATE INDEX baseline_by_session ON baseline (session_id);
