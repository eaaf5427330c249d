#!/usr/bin/env python3
"""The bundled templates beside what people use now: one table, one command, on one GPU.

    tests/bench/template_table.py --tunebook build/bin/tunebook --device cuda:0

Each row of template_table.json is tuned over the configurations that it names (`where`), then its winner is measured again in
`--runs` - 1 further sessions with new books. In each session the winner and the baseline (cuBLAS, cuDNN, CUB, a device copy of the same bytes)
are timed interleaved, in fresh processes, by the same method. The table gives the median of the runs' ratios (baseline / winner) and the
widest of their 95 % intervals. Every row is printed, met or not. Exit code 0 whatever was met, 1 if a row has no winner.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time


def run_json(words, timeout):
    """The one JSON object that the command prints; None and what it said if it fails."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return None, f"no answer within {timeout} s"
    try:
        return json.loads(done.stdout), done.stderr
    except json.JSONDecodeError:
        return None, done.stderr.strip()[-400:]


def pinned(configuration):
    """A --where that leaves this configuration alone."""
    def value(v):
        return str(v) if isinstance(v, (bool, int)) else f"'{v}'"
    return " and ".join(f"{name} == {value(v)}" for name, v in configuration.items())


class Bench:
    def __init__(self, options):
        self.options = options
        self.folder = tempfile.mkdtemp(prefix="template-table-")

    def session(self, row, where, book, strategy_words):
        ceilings = os.path.join(self.folder, "ceilings.db")
        if os.path.exists(ceilings):
            shutil.copy(ceilings, os.path.join(self.folder, book))
        words = [self.options.tunebook, "tune", row["kernel"], "--shape", row["shape"], "--device", self.options.device, "--json", "--seed", "1",
                 "--book", os.path.join(self.folder, book), "--finalist-processes", str(self.options.processes)]
        for condition in where:
            words += ["--where", condition]
        return run_json(words + strategy_words, row.get("timeout_s", 120))

    def calibrate(self):
        """Ceilings, so that percents of them can be told: measured once, into the book that further ones are copied from."""
        book = os.path.join(self.folder, "ceilings.db")
        result, said = run_json([self.options.tunebook, "calibrate", "--device", self.options.device, "--book", book, "--json"], 300)
        if result is None:
            print(f"calibrate: {said}", file=sys.stderr)
        return result

    def measure(self, row, number):
        began = time.time()
        first, said = self.session(row, row.get("where", []), f"{number}.db", ["--strategy", "random", "--budget", row.get("budget", "60")])
        out = {"row": row, "runs": [], "said": said.strip().splitlines()[-3:] if said else []}
        if first is None or not first.get("winner"):
            out["error"] = said if first is None else "no winner"
            return out
        configuration = first["winner"]["configuration"]
        sessions = [first]
        for repeat in range(1, self.options.runs):
            again, said = self.session(row, [pinned(configuration)], f"{number}-{repeat}.db", ["--strategy", "exhaustive", "--budget", "all"])
            if again is not None and again.get("winner") and again["winner"]["configuration"] == configuration:
                sessions.append(again)
            else:
                out["said"].append(f"run {repeat + 1}: {said if again is None else 'another winner: ' + json.dumps((again.get('winner') or {}).get('configuration'))}")
        out["configuration"] = configuration
        out["trials"] = first["trials"]
        out["seconds"] = time.time() - began
        for session in sessions:
            winner, baseline = session["winner"], session.get("baseline") or {}
            out["runs"].append({"median_us": winner["median_us"], "gflops": winner.get("gflops"), "gbps": winner.get("gbps"),
                                "baseline": baseline, "default_us": (session.get("presets", {}).get("default") or {}).get("median_us"),
                                "ceiling": session.get("ceiling")})
        return out


def value_of(result, peak):
    """What the row is judged by: (value, low, high) over the runs, or None."""
    row, runs = result["row"], result["runs"]
    judged = row["measure"]
    if not runs:
        return None
    if judged == "us":
        times = [r["median_us"] for r in runs]
        return statistics.median(times), min(times), max(times)
    if judged == "peak":
        if not peak:
            return None
        shares = [r["gflops"] / peak for r in runs]
        return statistics.median(shares), min(shares), max(shares)
    ratios = [r["baseline"] for r in runs if r["baseline"].get("ratio")]
    if judged == "steps":  # how many times as fast as that many single steps, each at least as long as the named row's winner takes
        single = result.get("single_us")
        if not single:
            return None
        times = [row["steps"] * single / r["median_us"] for r in runs]
        return statistics.median(times), min(times), max(times)
    if not ratios:
        return None
    return (statistics.median(b["ratio"] for b in ratios), min(b["ratio_ci"][0] for b in ratios), max(b["ratio_ci"][1] for b in ratios))


def verdict(row, value):
    if value is None:
        return "not measured"
    reached = (lambda bound: value[0] <= bound) if row["measure"] == "us" else (lambda bound: value[0] >= bound)
    if reached(row["goal"]):
        return "goal met"
    return "first mark met" if row.get("mark") is not None and reached(row["mark"]) else "missed"


def text(measure, number):
    if measure == "us":
        return f"{number:.1f} us"
    return f"{number:.3f}x" if measure in ("ratio", "steps") else f"{100 * number:.1f} %"


def share_of_ceiling(result):
    """"91 % (write)": of the ceiling that binds, the median of the runs."""
    told = [r["ceiling"] for r in result["runs"] if r.get("ceiling")]
    return f"{statistics.median(c['percent'] for c in told):.0f} % ({told[0]['binds']})" if told else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tunebook", default="tunebook")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--rows", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "template_table.json"))
    parser.add_argument("--only", default="", help="rows whose kernel or shape contains this")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--processes", type=int, default=3, help="fresh processes in each run")
    parser.add_argument("--seconds", type=float, default=1e9, help="no further row is begun after this; what is left out is said")
    parser.add_argument("--json", default="", help="write everything that was measured to this file")
    options = parser.parse_args()
    with open(options.rows, encoding="utf-8") as file:
        rows = json.load(file)["rows"]
    rows = [row for row in rows if options.only in row["kernel"] + " " + row["shape"]]

    began = time.time()
    bench = Bench(options)
    ceilings = bench.calibrate()
    peaks = {c["what"]: c["rate"] for c in (ceilings or {}).get("ceilings", [])}
    peak = peaks.get("fma_f32", 0)
    results, failed = [], False
    print("| kernel | problem | judged by | goal | measured (interval) | verdict | winner us | GFLOP/s | GB/s | of the ceiling | default us | baseline |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for number, row in enumerate(rows):
        if time.time() - began > options.seconds:
            print(f"| {row['kernel']} | {row['shape']} | | | not begun: {options.seconds:.0f} s are over | not measured | | | | | | |")
            failed = True
            continue
        result = bench.measure(row, number)
        if row["measure"] == "steps":
            result["single_us"] = next((statistics.median(r["median_us"] for r in other["runs"]) for other in results
                                        if other["row"]["kernel"] == row["kernel"] and other["row"]["shape"] == row["single"] and other["runs"]), None)
        results.append(result)
        value = value_of(result, peak)
        result["value"], result["verdict"] = value, verdict(row, value)
        failed = failed or not result["runs"]
        middle = lambda key: statistics.median([r[key] for r in result["runs"] if r.get(key)] or [0])
        names = sorted({(r["baseline"].get("name") or "none") for r in result["runs"]})
        measured = "-" if value is None else f"{text(row['measure'], value[0])} ({text(row['measure'], value[1])} to {text(row['measure'], value[2])})"
        print(f"| {row['kernel']} | {row['shape']} | {row['measure']} | {text(row['measure'], row['goal'])} | {measured} | {result['verdict']} | "
              f"{middle('median_us'):.2f} | {middle('gflops'):.0f} | {middle('gbps'):.0f} | {share_of_ceiling(result)} | {middle('default_us'):.1f} | {', '.join(names)} |", flush=True)
        if "error" in result or not value:
            print(f"    {result.get('error', '')} {' / '.join(result['said'])}", file=sys.stderr)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"ceilings": ceilings, "results": results}, file)
    print(f"\n{len(results)} rows, {options.runs} runs of {options.processes} fresh processes each, {time.time() - began:.0f} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
