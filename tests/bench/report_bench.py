#!/usr/bin/env python3
"""How long a report over a large book takes, and how large its page is.

    tests/bench/report_bench.py --tunebook build/bin/tunebook [--trials 1000000] [--shapes 20] [--book FILE]

Makes a book of that many trials (one session a shape, seven parameters, a twelfth of the trials failed, with messages that differ in their
numbers), then writes its report as HTML, JSON and Markdown, each by a program of its own, and prints seconds (wall, processor), peak memory and
bytes. The goal is a page of less than 2 MB in less than 5 s.
"""

import argparse
import json
import os
import pathlib
import random
import re
import resource
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PARAMETERS = {
    "BM": [16, 32, 64, 128, 256], "BN": [16, 32, 64, 128, 256], "BK": [4, 8, 16, 32, 64], "TM": [1, 2, 4, 8, 16],
    "TN": [1, 2, 4, 8, 16], "STAGES": [1, 2, 3, 4], "VECTOR": [1, 2, 4], "SWIZZLE": [False, True], "UNROLL": [1, 2, 4, 8],
}
FAILURES = [
    ("compile_error", "kernel.cu({0}): error: no instance of function template \"tile\" matches (0x{0:x})\n" + "  detected during instantiation\n" * 10),
    ("wrong_result", "c[{0}]: {1} instead of 0.5"), ("run_timeout", "no result in 10 s"), ("fault", "illegal address in block {0}"),
    ("no_resources", "{0} bytes of shared memory, the device has 232448"),
]


def canonical(values):
    return json.dumps(values, sort_keys=True, separators=(",", ":"))


def configuration(number):
    values = {}
    for name, choices in PARAMETERS.items():
        number, place = divmod(number, len(choices))
        values[name] = choices[place]
    return values


def spec():
    return {
        "tunebook": 1, "kernel": "matmul", "summary": "c = a * b", "source": "kernel.cu", "entry": "matmul", "instantiate": list(PARAMETERS),
        "problem": {"m": {"default": 64, "verify": [1]}, "n": {"default": 64, "verify": [1]}, "k": {"default": 64, "verify": [1]}},
        "parameters": {name: {"values": values} for name, values in PARAMETERS.items()}, "constraints": [],
        "presets": {"default": configuration(0), "tiled": configuration(12345)}, "launch": {"block": ["32"], "grid": ["1"]},
        "arguments": [{"name": "c", "type": "f32*", "count": "m * n", "access": "out"}],
        "reference": {"source": "reference.cu", "entry": "r", "block": ["32"], "grid": ["1"]}, "tolerance": {"f32": {"rel": "0", "abs": "1"}},
        "work": {"flops": "2 * m * n * k", "bytes": "4 * (m * k + k * n + m * n)"},
    }


def write_book(path, trials, shapes, seed=1):
    numbers = dict(re.findall(r"k(\w+) = (?:std::int64_t\{)?(0x[0-9A-Fa-f']+|\d+)", (ROOT / "db/schema.h").read_text()))
    book = sqlite3.connect(path)
    book.execute("PRAGMA journal_mode = WAL")
    book.execute("PRAGMA synchronous = OFF")
    book.executescript((ROOT / "db/schema.sql").read_text())
    book.execute(f"PRAGMA application_id = {int(numbers['ApplicationId'].replace(chr(39), ''), 0)}")
    book.execute(f"PRAGMA user_version = {int(numbers['SchemaVersion'])}")
    generator = random.Random(seed)
    device = {"compute_capability": 90, "host_compiler": "", "instruction_set": "", "kind": "cuda", "memory_gib": 141, "name": "NVIDIA H200",
              "sm_count": 132}
    book.execute("INSERT INTO device VALUES (1, ?, 'cuda', 'NVIDIA H200', 90, '', 132, 141, '', ?)",
                 (canonical(device), canonical({**device, "limits": {}})))
    book.execute("INSERT INTO environment VALUES (1, randomblob(16), ?)", (canonical({"driver": "580.1", "ordinal": 0}),))
    book.execute("INSERT INTO kernel VALUES (1, 'matmul', 'hash-1', ?)", (json.dumps(spec()),))
    configurations = min(trials, 120_000)
    book.executemany("INSERT INTO configuration VALUES (?, randomblob(16), ?)",
                     ((i + 1, canonical(configuration(i * 7919))) for i in range(configurations)))
    samples = struct.pack("<40d", *[10.0] * 40)
    row = 0
    for shape in range(shapes):
        size = 256 * (shape + 1)
        session = shape + 1
        book.execute("INSERT INTO problem VALUES (?, randomblob(16), ?)", (session, canonical({"m": size, "n": size, "k": size})))
        book.execute("INSERT INTO session VALUES (?, ?, randomblob(16), ?, 1, 1, ?, 1, 'nvrtc 13.0; driver 580.1', 'cold/2', 'random', ?, '200', '[]', '', "
                     "600.0, '2026-11-29T10:00:00.000000Z', '2026-11-29T11:00:00.000000Z')",
                     (session, f"{session:032x}", canonical({"objective": "time"}), session, session))
        count = trials // shapes + (1 if shape < trials % shapes else 0)
        best = (float("inf"), 0, 0)
        rows = []
        for proposal in range(count):
            row += 1
            place = generator.randrange(configurations)
            outcome, message, median = "ok", "", None
            if generator.random() < 1 / 12:
                outcome, text = generator.choice(FAILURES)
                message = text.format(generator.randrange(100_000), generator.random())
            else:
                median = size * generator.lognormvariate(0, 0.6) / 10
                if generator.random() < 0.3:
                    outcome = "abandoned"
                elif median < best[0]:
                    best = (median, row, place + 1)
            rows.append((row, generator.randbytes(16), session, place + 1, proposal, "strategy", outcome, message, 64, 0, 8192, 4, median,
                         median, median, median, samples if median else b"", 8, 0.2, 0.01, 0.02,
                         f"2026-11-29T10:{proposal * 3600 // count // 60:02}:{proposal * 3600 / count % 60:09.6f}Z"))
        book.executemany("INSERT INTO trial (id, key, session_id, configuration_id, environment_id, proposal, origin, reused, outcome, message, registers, "
                         "shared_static_bytes, shared_dynamic_bytes, verified_problems, median_us, min_us, ci_low_us, ci_high_us, samples_us, "
                         "launches_per_sample, compile_seconds, verify_seconds, time_seconds, recorded_utc) "
                         "VALUES (?, ?, ?, ?, 1, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        if best[1]:
            median = best[0]
            book.execute("INSERT INTO winner VALUES (?, ?, ?, ?, 'time', ?, ?, ?, NULL, NULL, NULL, 64, 8192, '2026-11-29T11:00:00.000000Z')",
                         (session, session, best[1], best[2], median, median * 0.99, median * 1.01))
            book.execute("INSERT INTO finalist VALUES (?, 0, ?, ?, ?, ?, ?, 1, 64, 8192, NULL, '')",
                         (session, best[2], struct.pack("<5d", *[median * f for f in (0.99, 0.995, 1, 1.005, 1.01)]), median, median * 0.99, median * 1.01))
        book.commit()
    book.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    book.close()


def measure(tunebook, book, option, output):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    subprocess.run([tunebook, "report", str(book), f"{option}={output}"], check=True, stderr=subprocess.DEVNULL)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"output": option[2:], "wall_s": round(wall, 2), "processor_s": round(processor, 2), "peak_mib": after.ru_maxrss // 1024,
            "bytes": os.path.getsize(output)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tunebook", default=str(ROOT / "build/bin/tunebook"))
    parser.add_argument("--trials", type=int, default=1_000_000)
    parser.add_argument("--shapes", type=int, default=20)
    parser.add_argument("--book", type=pathlib.Path, help="where the book is made, or lies already")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        book = arguments.book or pathlib.Path(folder) / "book.db"
        if not book.exists():
            start = time.monotonic()
            write_book(book, arguments.trials, arguments.shapes)
            print(f"made {book}: {book.stat().st_size >> 20} MiB in {time.monotonic() - start:.0f} s", file=sys.stderr)
        for option in ("--html", "--json", "--markdown"):
            print(json.dumps(measure(arguments.tunebook, book, option, pathlib.Path(folder) / "report")), flush=True)


if __name__ == "__main__":
    main()
