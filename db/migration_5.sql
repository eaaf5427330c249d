-- From version 4 to version 5. A test compares the outcome with schema.sql, where each column is explained.
CREATE TABLE model (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  kernel_id INTEGER NOT NULL REFERENCES kernel (id),
  device_id INTEGER NOT NULL REFERENCES device (id),
  dtype TEXT NOT NULL,
  method TEXT NOT NULL,
  format INTEGER NOT NULL,
  content_hash BLOB NOT NULL CHECK (length(content_hash) = 16),
  body BLOB NOT NULL,
  trials INTEGER NOT NULL,
  problems INTEGER NOT NULL,
  learned_from TEXT NOT NULL,
  learned_utc TEXT NOT NULL,
  UNIQUE (kernel_id, device_id, dtype, method)
) STRICT;
