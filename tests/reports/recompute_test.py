"""Makes books of many kinds, compares them with the program, and recomputes what it says.

    recompute_test.py --tunebook PROGRAM --db FOLDER     the folder with schema.sql and schema.h
"""
import argparse
import hashlib
import json
import math
import pathlib
import random
import re
import sqlite3
import struct
import subprocess
import sys
import tempfile

import recompute

SPEC = {"problem": {"n": {}, "dtype": {}}, "parameters": {"BLOCK": {}, "ITEMS": {}}}


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def hash_of(text):
    return hashlib.md5(text.encode()).digest()


class Writer:
    """A book made by plain inserts."""

    def __init__(self, path, options):
        self.db = sqlite3.connect(path)
        self.db.executescript((options.db / "schema.sql").read_text(encoding="utf-8"))
        header = (options.db / "schema.h").read_text(encoding="utf-8")
        for pragma, constant in (("application_id", "kApplicationId"), ("user_version", "kSchemaVersion")):
            value = int(re.search(rf"{constant} = (\w+);", header).group(1), 0)
            self.db.execute(f"PRAGMA {pragma} = {value}")
        self.sessions = 0

    def row(self, table, **columns):
        names = ", ".join(columns)
        return self.db.execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(columns))})", list(columns.values())).lastrowid

    def row_once(self, table, by, **columns):
        found = self.db.execute(f"SELECT id FROM {table} WHERE {' AND '.join(f'{name} = ?' for name in by)}", [columns[name] for name in by]).fetchone()
        return found[0] if found else self.row(table, **columns)

    def session(self, date, n, configuration, times, *, kernel="copy", kernel_hash="k1", device="NVIDIA H200", method="cold/2",
                toolchain="nvrtc 13.0.88; driver 580.1 (CUDA 13.0)", finished=True, objective="time", energy=None, uid=None):
        """One finished session whose winner took `times` in its processes; without times it has no winner."""
        identity = {"kind": "cuda", "name": device, "compute_capability": 90, "instruction_set": "", "sm_count": 132, "memory_gib": 140, "host_compiler": ""}
        kernel_id = self.row_once("kernel", ["name", "hash"], name=kernel, hash=kernel_hash, spec=json.dumps(SPEC))
        device_id = self.row_once("device", ["key"], key=canonical(identity), **identity, json=json.dumps({**identity, "limits": {}}))
        problem = canonical({"n": n, "dtype": "f32"})
        problem_id = self.row_once("problem", ["hash"], hash=hash_of(problem), json=problem)
        environment = canonical({"driver": toolchain.partition("; driver ")[2], "compiler": toolchain.partition("; driver ")[0], "uuid": f"GPU-{date}"})
        environment_id = self.row_once("environment", ["hash"], hash=hash_of(environment), json=environment)
        text = canonical(configuration)
        configuration_id = self.row_once("configuration", ["hash"], hash=hash_of(text), json=text)
        self.sessions += 1
        uid = uid or hashlib.md5(f"{id(self)} {self.sessions} {date} {n} {kernel}".encode()).hexdigest()
        finish = f"{date}T03:{self.sessions // 60 % 60:02d}:{self.sessions % 60:02d}.000000Z"
        session = self.row("session", uid=uid, identity_hash=hash_of(uid), identity_json=json.dumps({"objective": objective}), kernel_id=kernel_id,
                           device_id=device_id, problem_id=problem_id, environment_id=environment_id, toolchain=toolchain, method=method,
                           strategy="random", seed=self.sessions, budget="20", where_json="[]", standing_winner="", wall_seconds=1.0,
                           started_utc=f"{date}T01:00:00.000000Z", finished_utc=finish if finished else None)
        median = sorted(times)[len(times) // 2] if times else None
        trial = self.row("trial", key=hash_of(uid + "trial"), session_id=session, configuration_id=configuration_id, environment_id=environment_id,
                         proposal=0, origin="strategy", reused=0, outcome="ok" if times else "wrong_result", message="", verified_problems=3,
                         median_us=median, min_us=median, ci_low_us=median, ci_high_us=median, samples_us=b"", launches_per_sample=1,
                         recorded_utc=f"{date}T02:00:00.000000Z")
        if times:
            winner = self.row("winner", session_id=session, trial_id=trial, configuration_id=configuration_id, objective=objective, median_us=median,
                              ci_low_us=min(times), ci_high_us=max(times), energy_j=energy, recorded_utc=finish)
            self.row("finalist", winner_id=winner, place=0, configuration_id=configuration_id,
                     process_medians_us=struct.pack(f"<{len(times)}d", *times), median_us=median, ci_low_us=min(times), ci_high_us=max(times),
                     in_tie_set=1, energy_j=energy)

    def close(self):
        self.db.commit()
        self.db.close()


def sample(rng, time, noise, processes):
    return [time * math.exp(rng.gauss(0, noise)) for _ in range(processes)]


def configuration(rng=None):
    return {"BLOCK": rng.choice([64, 128]) if rng else 128, "ITEMS": 4}


def make_books(rng, folder, options):
    """A base of several nights and a candidate: shapes that moved, that did not, that are on one side only, with few processes or bad times."""
    base, candidate = Writer(folder / "base.db", options), Writer(folder / "candidate.db", options)
    for n in range(1, 26):
        kernel = "copy" if n <= 15 else "scale"
        time, noise = 10 * n, rng.choice([0.002, 0.005, 0.01, 0.03])
        processes = rng.choice([10, 10, 10, 5, 3])
        for night in range(rng.choice([1, 2, 6, 8])):
            version = rng.choice(["k1", "k1", "k1", "k0"])
            base.session(f"2026-11-{night + 1:02d}", n, configuration(rng), sample(rng, time, noise, processes), kernel=kernel, kernel_hash=version)
        base.session("2026-11-20", n, configuration(), sample(rng, time, noise, processes), kernel=kernel)
        shift = rng.choice([0, 0, 0.03, -0.04, 0.1, -0.2, 0.015])
        candidate.session("2026-11-21", n, configuration(rng), sample(rng, time * (1 + shift), noise, rng.choice([10, 10, 5])), kernel=kernel)
    ten = sample(rng, 100, 0.005, 10)
    base.session("2026-11-20", 101, configuration(), ten)
    candidate.session("2026-11-21", 102, configuration(), ten)
    base.session("2026-11-20", 103, configuration(), ten)
    candidate.session("2026-11-21", 103, configuration(), [100.0])
    base.session("2026-11-20", 104, configuration(), [50.0] * 10)
    candidate.session("2026-11-21", 104, configuration(), [51.5] * 10)
    base.session("2026-11-20", 105, configuration(), ten)
    candidate.session("2026-11-21", 105, configuration(), ten[:8] + [-1.0])
    base.session("2026-11-20", 106, configuration(), ten, objective="energy")
    candidate.session("2026-11-21", 106, configuration(), ten, objective="time")
    base.session("2026-11-20", 107, configuration(), ten, objective="energy", energy=0.25)
    candidate.session("2026-11-21", 107, configuration(), [1.1 * time for time in ten], objective="energy", energy=0.2)
    for book in (base, candidate):  # one session, in a book and in its copy
        book.session("2026-11-20", 108, configuration(), ten, uid=hashlib.md5(b"kept").hexdigest())
    candidate.session("2026-11-22", 101, configuration(), ten, finished=False)
    base.close()
    candidate.close()
    return folder / "base.db", folder / "candidate.db"


def make_variants(rng, folder, options):
    """Pairs of books that differ in one thing, each with what compare must be told to allow it."""
    cases = {"same": {}, "driver": {"toolchain": "nvrtc 13.0.88; driver 581.2 (CUDA 13.0)"}, "toolkit": {"toolchain": "nvrtc 13.1; driver 580.1 (CUDA 13.0)"},
             "gpu": {"device": "NVIDIA H100"}, "clocks": {"method": "cold/2@1500MHz"}, "kernel": {"kernel_hash": "k2"}, "lost": {}, "nothing": {"method": "warm/2"}}
    for name, changes in cases.items():
        base, candidate = Writer(folder / f"{name}-base.db", options), Writer(folder / f"{name}-candidate.db", options)
        for n in (1, 2):
            base.session("2026-11-20", n, configuration(), sample(rng, 20, 0.004, 10))
            candidate.session("2026-11-21", n, configuration(), [] if name == "lost" and n == 2 else sample(rng, 20, 0.004, 10), **changes)
        base.close()
        candidate.close()
        yield name, folder / f"{name}-base.db", folder / f"{name}-candidate.db"


class Checker:
    def __init__(self, program):
        self.program = program
        self.runs, self.items, self.failures, self.verdicts = 0, 0, [], set()

    def compare(self, base, candidate, *arguments, code=None):
        command = [self.program, "compare", base, candidate, "--json", *arguments]
        result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        self.runs += 1
        what = " ".join(command[2:])
        if result.stdout.count("\n") != 1:
            self.failures.append(f"{what}: exit code {result.returncode}, no JSON: {result.stderr}")
            return
        given = json.loads(result.stdout)
        self.items += len(given["items"])
        self.verdicts |= {item["verdict"] for item in given["items"]}
        self.failures += [f"{what}: {error}" for error in recompute.check(base, candidate, given)]
        if given["exit_code"] != result.returncode or code not in (None, result.returncode):
            self.failures.append(f"{what}: exit code {result.returncode}, the JSON says {given['exit_code']}, expected {code}")
        if given["gate_refused"] and "--allow-different" not in result.stderr:
            self.failures.append(f"{what}: the refusal names no remedy: {result.stderr}")
        if self.runs == 1:
            self.failures += [f"a wrong {name} is not noticed" for name, wrong in wrong_answers(given) if not recompute.check(base, candidate, wrong)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tunebook", required=True)
    parser.add_argument("--db", required=True, type=pathlib.Path)
    options = parser.parse_args()
    checker = Checker(options.tunebook)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for seed in range(4):
            (folder / str(seed)).mkdir()
            base, candidate = map(str, make_books(random.Random(seed), folder / str(seed), options))
            checker.compare(base, candidate, "--allow-different", "kernel")
            checker.compare(base, candidate, "--allow-different", "all", "--threshold", "5%", "--threshold", "scale=0.5%")
            checker.compare(base, candidate, "--fail-on", "inconclusive", "--allow-different", "all")
            checker.compare(f"{base}#date=2026-11-01", f"{base}#date=2026-11-20", "--fail-on", "never", code=0)
            checker.compare(f"{base}#date=2026-11-20", f"{base}#date=2026-11-02", "--allow-different", "kernel")
        for what, base, candidate in make_variants(random.Random(7), folder, options):
            expected = {"same": 0, "lost": 3}.get(what, 2)
            checker.compare(str(base), str(candidate), code=expected)
            checker.compare(str(base), str(candidate), "--fail-on", "never", code=0)
            if what not in ("same", "lost", "nothing"):
                checker.compare(str(base), str(candidate), "--allow-different", what, code=0)
    for verdict in set(recompute.VERDICTS) - checker.verdicts:
        checker.failures.append(f"no item was {verdict}: the books are too tame")
    if not checker.failures:
        print(f"{checker.runs} comparisons of {checker.items} items agree with the books")
        return 0
    print("\n".join(checker.failures))
    return 1


def wrong_answers(given):
    """The same comparison with one thing in it that is not so."""
    def change(name, edit):
        copy = json.loads(json.dumps(given))
        edit(copy)
        return name, copy

    def tested(copy):
        return next(item for item in copy["items"] if item["p"] and item["p"] > 1e-3 and item["holm_p"] < 1 and item["noise"])

    for field in ("change", "p", "holm_p", "noise", "gate", "threshold"):
        yield change(field, lambda copy: tested(copy).update({field: tested(copy)[field] * (1 + 1e-6)}))
    yield change("change_ci", lambda copy: tested(copy)["change_ci"].reverse())
    yield change("verdict", lambda copy: copy["items"][0].update(verdict="unchanged"))
    yield change("base_processes", lambda copy: tested(copy).update(base_processes=4))
    yield change("same_configuration", lambda copy: tested(copy).update(same_configuration=not tested(copy)["same_configuration"]))
    yield change("order", lambda copy: copy["items"].reverse())
    yield change("missing", lambda copy: copy["items"].pop())
    yield change("counts", lambda copy: copy["counts"].update(regression=99))
    yield change("exit_code", lambda copy: copy.update(exit_code=1))
    yield change("gate_refused", lambda copy: copy.update(gate_refused=not copy["gate_refused"]))


if __name__ == "__main__":
    sys.exit(main())
