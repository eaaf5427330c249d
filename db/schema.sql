-- The book of Tunebook, version 5: what was tried, on what, and what came out of it.
--
-- Habits of this file:
--  * every table is STRICT; times, sizes and rates have their unit in the column name;
--  * a hash is the 16 bytes of core's content_hash over canonical text, so that a row is found by one index probe and a
--    kernel's parameters never become tables or columns;
--  * rows are only ever added; exceptions are the columns of a session that change (its end, its wall time) and models;
--  * the newest of several rows is the one recorded last (recorded_utc, then id): books are merged, and ids then tell the order of merging.
-- The connection settings (WAL, foreign keys, ...) are in sqlite.cc; application_id and user_version in migrations.cc.

-- What ran the kernels. `key` is the identity (canonical JSON without limits); the columns repeat it for matching by part.
CREATE TABLE device (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  compute_capability INTEGER NOT NULL,  -- 90 for sm_90, 0 where it has none
  instruction_set TEXT NOT NULL,
  sm_count INTEGER NOT NULL,
  memory_gib INTEGER NOT NULL,
  host_compiler TEXT NOT NULL,
  json TEXT NOT NULL                    -- the whole device with its limits, as first seen
) STRICT;

-- Driver, runtime, clocks, host, ...: what is worth knowing about a trial but does not make it another trial.
CREATE TABLE environment (
  id INTEGER PRIMARY KEY,
  hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 16),
  json TEXT NOT NULL
) STRICT;

-- One version of a kernel template. The normalised spec is kept so that a lookup can check constraints and give presets
-- without the template folder. A larger id is a version first seen later.
CREATE TABLE kernel (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  hash TEXT NOT NULL,                   -- of source, spec and includes
  spec TEXT NOT NULL,                   -- JSON, order of declaration kept
  UNIQUE (name, hash)
) STRICT;

CREATE TABLE problem (
  id INTEGER PRIMARY KEY,
  hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 16),
  json TEXT NOT NULL                    -- canonical: keys sorted, no spaces
) STRICT;

CREATE TABLE configuration (
  id INTEGER PRIMARY KEY,
  hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 16),
  json TEXT NOT NULL                    -- canonical: keys sorted, no spaces
) STRICT;

-- One run of `tune`, taken up again until it is finished.
CREATE TABLE session (
  id INTEGER PRIMARY KEY,
  uid TEXT NOT NULL UNIQUE CHECK (length(uid) = 32),  -- random; unique among all books
  identity_hash BLOB NOT NULL CHECK (length(identity_hash) = 16),  -- of the context and of identity_json
  identity_json TEXT NOT NULL,
  kernel_id INTEGER NOT NULL REFERENCES kernel (id),
  device_id INTEGER NOT NULL REFERENCES device (id),
  problem_id INTEGER NOT NULL REFERENCES problem (id),
  environment_id INTEGER NOT NULL REFERENCES environment (id),  -- of its first run
  toolchain TEXT NOT NULL,              -- compiler, driver, options
  method TEXT NOT NULL,                 -- "cold/1": cache mode, measuring version
  strategy TEXT NOT NULL,
  seed INTEGER NOT NULL,                -- unsigned 64 bits, stored as the signed number of the same bits
  budget TEXT NOT NULL,
  where_json TEXT NOT NULL,             -- list of the expressions that narrowed the space
  standing_winner TEXT NOT NULL,        -- canonical configuration that its first run read from the book, or ''
  wall_seconds REAL NOT NULL,           -- summed over its runs
  started_utc TEXT NOT NULL,            -- ISO 8601
  finished_utc TEXT                     -- ISO 8601 with microseconds, so that text order is time order; NULL: unfinished
) STRICT;
CREATE INDEX session_by_identity ON session (identity_hash);
CREATE INDEX session_by_problem ON session (problem_id, kernel_id, device_id);
CREATE INDEX session_by_kernel ON session (kernel_id, device_id);
CREATE INDEX session_unfinished ON session (id) WHERE finished_utc IS NULL;  -- their number tells a lookup that one has ended

-- One configuration tried. Failures are trials too. A proposal that was tried again (a lost worker) has several rows; the
-- newest counts.
CREATE TABLE trial (
  id INTEGER PRIMARY KEY,
  key BLOB NOT NULL CHECK (length(key) = 16),  -- hash of kernel, device key, toolchain, method, problem and configuration
  session_id INTEGER NOT NULL REFERENCES session (id),
  configuration_id INTEGER NOT NULL REFERENCES configuration (id),
  environment_id INTEGER NOT NULL REFERENCES environment (id),
  proposal INTEGER NOT NULL,            -- order of proposal in its session
  origin TEXT NOT NULL,                 -- "preset:NAME", "standing_winner", "strategy"
  reused INTEGER NOT NULL CHECK (reused IN (0, 1)),  -- 1: a copy of an older trial's result, not run in this session
  outcome TEXT NOT NULL,
  message TEXT NOT NULL,
  -- Resources of the compiled kernel; NULL: not known.
  registers INTEGER,                    -- per thread
  shared_static_bytes INTEGER,
  shared_dynamic_bytes INTEGER,
  spill_load_bytes INTEGER,
  spill_store_bytes INTEGER,
  stack_bytes INTEGER,
  code_bytes INTEGER,
  max_threads_per_block INTEGER,
  blocks_per_sm INTEGER,
  -- Verification.
  verified_problems INTEGER NOT NULL,
  skipped_problems INTEGER NOT NULL DEFAULT 0,  -- verify problems that the configuration's constraints exclude
  verify_max_error REAL,                -- NULL: not a number
  -- Times of one launch, without what launching itself costs (launch_us).
  median_us REAL,
  min_us REAL,
  ci_low_us REAL,
  ci_high_us REAL,
  samples_us BLOB NOT NULL,             -- little-endian f64
  launches_per_sample INTEGER NOT NULL,
  launch_us REAL NOT NULL DEFAULT 0,
  energy_j REAL,                        -- of one launch; NULL: not measured
  sm_clock_mhz REAL,                    -- while timing; NULL: not read
  memory_clock_mhz REAL,
  temperature_c REAL,
  power_w REAL,
  throttled TEXT NOT NULL DEFAULT '',   -- why the device held back while samples were taken that were kept all the same
  retaken_batches INTEGER NOT NULL DEFAULT 0,
  -- What the trial cost.
  compile_seconds REAL,
  verify_seconds REAL,
  time_seconds REAL,
  recorded_utc TEXT NOT NULL
) STRICT;
CREATE INDEX trial_by_key ON trial (key) WHERE reused = 0;
CREATE INDEX trial_by_session ON trial (session_id, proposal);

-- What a session chose. Append-only; the newest of a session counts.
CREATE TABLE winner (
  id INTEGER PRIMARY KEY,
  session_id INTEGER NOT NULL REFERENCES session (id),
  trial_id INTEGER REFERENCES trial (id),
  configuration_id INTEGER NOT NULL REFERENCES configuration (id),
  objective TEXT NOT NULL,              -- "time", "energy"
  median_us REAL NOT NULL,
  ci_low_us REAL NOT NULL,
  ci_high_us REAL NOT NULL,
  gflops REAL,
  gbps REAL,
  energy_j REAL,                        -- of one launch; NULL: not measured
  registers INTEGER,                    -- per thread; NULL: not known
  shared_bytes INTEGER,                 -- static and dynamic, per block; NULL: not known
  recorded_utc TEXT NOT NULL
) STRICT;
CREATE INDEX winner_by_session ON winner (session_id);

-- The finalists of a winner, itself first (place 0), each measured again in several fresh processes.
CREATE TABLE finalist (
  winner_id INTEGER NOT NULL REFERENCES winner (id),
  place INTEGER NOT NULL,
  configuration_id INTEGER NOT NULL REFERENCES configuration (id),
  process_medians_us BLOB NOT NULL,     -- little-endian f64, one per process
  median_us REAL NOT NULL,
  ci_low_us REAL NOT NULL,
  ci_high_us REAL NOT NULL,
  in_tie_set INTEGER NOT NULL CHECK (in_tie_set IN (0, 1)),
  registers INTEGER,
  shared_bytes INTEGER,
  energy_j REAL,                        -- of one launch; NULL: not measured
  sanitizer TEXT NOT NULL DEFAULT '',   -- "": not run; "clean"; else what was found
  PRIMARY KEY (winner_id, place)
) STRICT, WITHOUT ROWID;

-- What a block of a preset needs, as compiled for a device: a lookup that falls back on the preset compares it with the asked
-- device's limits. Kept apart from the trials, which a published book has not.
CREATE TABLE requirement (
  id INTEGER PRIMARY KEY,
  kernel_id INTEGER NOT NULL REFERENCES kernel (id),
  configuration_id INTEGER NOT NULL REFERENCES configuration (id),
  device_id INTEGER NOT NULL REFERENCES device (id),
  registers INTEGER,                    -- per thread; NULL: not known
  shared_bytes INTEGER,                 -- static and dynamic; NULL: not known
  UNIQUE (kernel_id, configuration_id, device_id)
) STRICT;

-- One row in a published book, which nobody writes any more; none in a working book.
CREATE TABLE publication (
  published_utc TEXT NOT NULL
) STRICT;

-- How what people use now for the same work fared in a session, timed together with its finalists. The newest of a session counts.
CREATE TABLE baseline (
  id INTEGER PRIMARY KEY,
  session_id INTEGER NOT NULL REFERENCES session (id),
  operation TEXT NOT NULL,              -- "gemm", "copy", ...
  state TEXT NOT NULL,                  -- "ok", "unavailable", "wrong_result", "failed"
  name TEXT NOT NULL,                   -- "cuBLAS 13.0.2"; '': not known
  message TEXT NOT NULL,                -- which of the library's algorithms; else what went wrong
  method TEXT NOT NULL,
  process_medians_us BLOB NOT NULL,     -- little-endian f64, one per process, paired with those of the finalists
  median_us REAL,                       -- NULL: no times
  ci_low_us REAL,
  ci_high_us REAL,
  recorded_utc TEXT NOT NULL
) STRICT;
CREATE INDEX baseline_by_session ON baseline (session_id);

-- What a profiler counted for the kernel of a trial.
CREATE TABLE profile (
  id INTEGER PRIMARY KEY,
  trial_id INTEGER NOT NULL REFERENCES trial (id),
  tool TEXT NOT NULL,                   -- "ncu 2025.3.0"
  json TEXT NOT NULL,                   -- metric -> number
  recorded_utc TEXT NOT NULL
) STRICT;
CREATE INDEX profile_by_trial ON profile (trial_id);

-- The measured limits of a device. Those of one calibration have the same recorded_utc; the newest of (what, bytes, method) counts.
CREATE TABLE ceiling (
  id INTEGER PRIMARY KEY,
  device_id INTEGER NOT NULL REFERENCES device (id),
  environment_id INTEGER NOT NULL REFERENCES environment (id),
  what TEXT NOT NULL,                   -- "copy", "read", "write" in GB/s; "fma_f32", ... in GFLOP/s
  bytes INTEGER NOT NULL,               -- moved by one launch; 0: arithmetic
  method TEXT NOT NULL,
  rate REAL NOT NULL,
  rate_low REAL NOT NULL,               -- 95 % interval
  rate_high REAL NOT NULL,
  recorded_utc TEXT NOT NULL
) STRICT;
CREATE INDEX ceiling_by_device ON ceiling (device_id);

-- A model of time, learned from the trials of one kernel version, device, data type and method; db/models.md has the format. Learned
-- again: the row is replaced, and the new one has a larger id. Models are derived: merging leaves them out.
CREATE TABLE model (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  kernel_id INTEGER NOT NULL REFERENCES kernel (id),
  device_id INTEGER NOT NULL REFERENCES device (id),
  dtype TEXT NOT NULL,                  -- '' where the kernel has no such dimension
  method TEXT NOT NULL,                 -- "cold/2"
  format INTEGER NOT NULL,              -- TimeModel::kFormat
  content_hash BLOB NOT NULL CHECK (length(content_hash) = 16),  -- of the body
  body BLOB NOT NULL,
  trials INTEGER NOT NULL,              -- learned from
  problems INTEGER NOT NULL,            -- that these were of
  learned_from TEXT NOT NULL,           -- identifies the trials and the way of learning: equal text, equal model
  learned_utc TEXT NOT NULL,
  UNIQUE (kernel_id, device_id, dtype, method)
) STRICT;

-- Winners are appended, never overwritten. REPLACE would delete without firing a delete trigger, hence the insert triggers.
CREATE TRIGGER winner_no_update BEFORE UPDATE ON winner
BEGIN SELECT RAISE(ABORT, 'winners are append-only'); END;
CREATE TRIGGER winner_no_delete BEFORE DELETE ON winner
BEGIN SELECT RAISE(ABORT, 'winners are append-only'); END;
CREATE TRIGGER winner_no_replace BEFORE INSERT ON winner WHEN EXISTS (SELECT 1 FROM winner WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'winners are append-only'); END;
CREATE TRIGGER finalist_no_update BEFORE UPDATE ON finalist
BEGIN SELECT RAISE(ABORT, 'winners are append-only'); END;
CREATE TRIGGER finalist_no_delete BEFORE DELETE ON finalist
BEGIN SELECT RAISE(ABORT, 'winners are append-only'); END;
CREATE TRIGGER finalist_no_replace BEFORE INSERT ON finalist
WHEN EXISTS (SELECT 1 FROM finalist WHERE winner_id = NEW.winner_id AND place = NEW.place)
BEGIN SELECT RAISE(ABORT, 'winners are append-only'); END;
