-- From version 2 to version 3. A test compares the outcome with schema.sql, where each column is explained.
CREATE INDEX session_by_kernel ON session (kernel_id, device_id);
CREATE INDEX session_unfinished ON session (id) WHERE finished_utc IS NULL;
CREATE TABLE requirement (
  id INTEGER PRIMARY KEY,
  kernel_id INTEGER NOT NULL REFERENCES kernel (id),
  configuration_id INTEGER NOT NULL REFERENCES configuration (id),
  device_id INTEGER NOT NULL REFERENCES device (id),
  registers INTEGER,
  shared_bytes INTEGER,
  UNIQUE (kernel_id, configuration_id, device_id)
) STRICT;
CREATE TABLE publication (
  published_utc TEXT NOT NULL
) STRICT;
INSERT INTO requirement (kernel_id, configuration_id, device_id, registers, shared_bytes)
SELECT kernel_id, configuration_id, device_id, max(registers), max(coalesce(shared_static_bytes, 0) + coalesce(shared_dynamic_bytes, 0))
FROM trial JOIN session ON session.id = session_id
WHERE origin LIKE 'preset:%' AND coalesce(registers, shared_static_bytes, shared_dynamic_bytes) IS NOT NULL
GROUP BY kernel_id, configuration_id, device_id;
