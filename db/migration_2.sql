-- From version 1 to version 2. A test compares the outcome with schema.sql, where each column is explained.
ALTER TABLE trial ADD COLUMN skipped_problems INTEGER NOT NULL DEFAULT 0;
ALTER TABLE trial ADD COLUMN launch_us REAL NOT NULL DEFAULT 0;
ALTER TABLE trial ADD COLUMN energy_j REAL;
ALTER TABLE trial ADD COLUMN power_w REAL;
ALTER TABLE trial ADD COLUMN throttled TEXT NOT NULL DEFAULT '';
ALTER TABLE trial ADD COLUMN retaken_batches INTEGER NOT NULL DEFAULT 0;
ALTER TABLE winner ADD COLUMN energy_j REAL;
ALTER TABLE finalist ADD COLUMN energy_j REAL;
ALTER TABLE finalist ADD COLUMN sanitizer TEXT NOT NULL DEFAULT '';
CREATE TABLE profile (
  id INTEGER PRIMARY KEY,
  trial_id INTEGER NOT NULL REFERENCES trial (id),
  tool TEXT NOT NULL,
  json TEXT NOT NULL,
  recorded_utc TEXT NOT NULL
) STRICT;
CREATE INDEX profile_by_trial ON profile (trial_id);
CREATE TABLE ceiling (
  id INTEGER PRIMARY KEY,
  device_id INTEGER NOT NULL REFERENCES device (id),
  environment_id INTEGER NOT NULL REFERENCES environment (id),
  what TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  method TEXT NOT NULL,
  rate REAL NOT NULL,
  rate_low REAL NOT NULL,
  rate_high REAL NOT NULL,
  recorded_utc TEXT NOT NULL
) STRICT;
CREATE INDEX ceiling_by_device ON ceiling (device_id);
