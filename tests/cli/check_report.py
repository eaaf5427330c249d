#!/usr/bin/env python3
"""Recomputes what a report says from the book itself, by SQL and arithmetic of its own.

    check_report.py BOOK REPORT.json REPORT.md SCHEMA.json

The report must be of the whole book, of at most as many trials as are shown without thinning. Prints what disagrees; exit code 1 then.
"""

import json
import math
import pathlib
import re
import sqlite3
import statistics
import struct
import sys

problems = []


def expect(condition, *what):
    if not condition:
        problems.append(" ".join(str(each) for each in what))


def near(x, y, relative=1e-9):
    return x is None and y is None or x is not None and y is not None and math.isclose(x, y, rel_tol=relative, abs_tol=1e-12)


# ---- the schema: as much of it as the schema uses, so that the check needs no library

def validate(value, schema, root, place="$"):
    """A list of what is wrong."""
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}

    def is_kind(kind):
        if kind == "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        if kind == "number":
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        return isinstance(value, kinds[kind])

    wrong = []
    for key, rule in schema.items():
        if key == "$ref":
            target = root
            for step in rule.split("/")[1:]:
                target = target[step]
            wrong += validate(value, target, root, place)
        elif key == "type":
            if not any(is_kind(kind) for kind in ([rule] if isinstance(rule, str) else rule)):
                wrong.append(f"{place}: {value!r:.60} is no {rule}")
        elif key == "enum" and value not in rule or key == "const" and value != rule:
            wrong.append(f"{place}: {value!r} is not {rule}")
        elif key in ("anyOf", "oneOf"):
            fits = [validate(value, one, root, place) for one in rule]
            good = sum(not each for each in fits)
            if good == 0 or key == "oneOf" and good != 1:
                wrong.append(f"{place}: fits {good} of {key}: {[each[:3] for each in fits]}")
        elif key == "minimum" and isinstance(value, (int, float)) and value < rule:
            wrong.append(f"{place}: {value} < {rule}")
        elif key == "exclusiveMinimum" and isinstance(value, (int, float)) and value <= rule:
            wrong.append(f"{place}: {value} <= {rule}")
        elif key == "maximum" and isinstance(value, (int, float)) and value > rule:
            wrong.append(f"{place}: {value} > {rule}")
        elif key == "required" and isinstance(value, dict):
            wrong += [f"{place}: lacks {name}" for name in rule if name not in value]
        elif key == "properties" and isinstance(value, dict):
            for name, one in rule.items():
                if name in value:
                    wrong += validate(value[name], one, root, f"{place}.{name}")
        elif key == "additionalProperties" and isinstance(value, dict):
            for name in value:
                if name not in schema.get("properties", {}):
                    wrong += validate(value[name], rule, root, f"{place}.{name}")
        elif key == "propertyNames" and isinstance(value, dict):
            for name in value:
                wrong += validate(name, rule, root, f"{place} name")
        elif key == "items" and isinstance(value, list):
            for at, one in enumerate(value):
                wrong += validate(one, rule, root, f"{place}[{at}]")
        elif key in ("minItems", "maxItems") and isinstance(value, list):
            if key == "minItems" and len(value) < rule or key == "maxItems" and len(value) > rule:
                wrong.append(f"{place}: {len(value)} elements")
        elif key not in ("$schema", "$defs", "title", "description", "enum", "const", "minimum", "exclusiveMinimum", "maximum", "required", "properties", "additionalProperties",
                         "propertyNames", "items", "minItems", "maxItems"):
            wrong.append(f"the schema uses {key}, which this check does not know")
    return wrong


def check_schema(report, schema):
    wrong = validate(report, schema, schema)
    # The check itself must see faults.
    for broken in ({**report, "items": 7}, {key: value for key, value in report.items() if key != "side"}, {**report, "kind": "other"}):
        expect(validate(broken, schema, schema), "the schema accepts a broken report")
    for each in wrong[:10]:
        expect(False, "schema:", each)
    try:
        import jsonschema
    except ImportError:
        return
    jsonschema.Draft202012Validator.check_schema(schema)
    for error in list(jsonschema.Draft202012Validator(schema).iter_errors(report))[:3]:
        expect(False, "jsonschema:", error.message[:300])


# ---- the book

def doubles(blob):
    return list(struct.unpack(f"<{len(blob) // 8}d", blob))


class Book:
    def __init__(self, path):
        self.db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self.db.row_factory = sqlite3.Row
        self.db.text_factory = lambda raw: raw.decode("utf-8", "replace")

    def rows(self, sql, *values):
        return self.db.execute(sql, values).fetchall()

    def trials(self, session):
        """The last try of each proposal, in the order of proposal."""
        last = {}
        for row in self.rows("SELECT trial.*, configuration.json AS configuration FROM trial JOIN configuration ON configuration.id = configuration_id "
                             "WHERE session_id = ? ORDER BY trial.id", session):
            last[(row["proposal"], row["configuration_id"])] = row
        return [last[key] for key in sorted(last)]


def has_time(outcome):
    return outcome in ("ok", "abandoned")


def expected_best(times, failures, draws):
    """Mean best of `draws` of the trials without replacement, given that not all are failures; in exact fractions."""
    from fractions import Fraction
    times = sorted(times)
    total = len(times) + failures
    ways = sum(math.comb(total - place - 1, draws - 1) * Fraction(time) for place, time in enumerate(times))
    return float(ways / (math.comb(total, draws) - math.comb(failures, draws)))


def amounts(problem):
    m, n, k = problem["m"], problem["n"], problem["k"]
    return 2.0 * m * n * k, 4.0 * (m * k + k * n + m * n)


def coverage(values):
    """Of the narrowest symmetric interval of order statistics that covers the median with 95 %, else of the whole range; None: not known."""
    if not values:
        return None
    def of_rank(rank):
        return 1 - 2 * sum(math.comb(values, successes) for successes in range(rank)) / 2 ** values
    return next((of_rank(rank) for rank in range(values // 2, 0, -1) if of_rank(rank) >= 0.95), max(0.0, of_rank(1)))


def check_trials(item, trials):
    name = item["problem"]
    outcomes = {}
    for trial in trials:
        outcomes[trial["outcome"]] = outcomes.get(trial["outcome"], 0) + 1
    expect(item["outcomes"] == outcomes, name, "outcomes", item["outcomes"], outcomes)
    expect(item["trial_count"] == len(trials), name, "trial_count")
    expect(len(item["trials"]) == len(trials), name, "points", len(item["trials"]), len(trials))
    times = [trial["median_us"] if has_time(trial["outcome"]) else None for trial in trials]
    for at, (point, trial) in enumerate(zip(item["trials"], trials)):
        expect(point["evaluation"] == at + 1 and point["outcome"] == trial["outcome"] and near(point["time_us"], times[at]), name, "point", at)
        expect(point["configuration"] == json.loads(trial["configuration"]), name, "configuration of point", at)
    best, curve = math.inf, []
    for at, time in enumerate(times):
        if time is not None and time < best:
            best = time
            curve.append((at + 1, time))
    expect([(each["evaluation"], each["time_us"]) for each in item["convergence"]] == curve, name, "convergence")
    known = [time for time in times if time is not None]
    for each in item["random_expectation"]:
        wanted = expected_best(known, len(times) - len(known), each["evaluation"])
        expect(near(each["time_us"], wanted, 1e-9), name, "random expectation", each, wanted)
    expect(not known or item["random_expectation"][-1]["evaluation"] == len(trials), name, "random expectation ends early")
    for effect in item["effects"]:
        for value in effect["values"]:
            def text(configuration):
                raw = json.loads(configuration).get(effect["parameter"])
                return str(raw).lower() if isinstance(raw, bool) else str(raw)
            of_value = [time for trial, time in zip(trials, times) if text(trial["configuration"]) == value["value"]]
            timed = [time for time in of_value if time is not None]
            expect(value["trials"] == len(of_value) and value["timed"] == len(timed), name, "effect counts", effect["parameter"], value)
            expect(near(value["best_us"], min(timed, default=None)), name, "effect best", value)
            expect(near(value["median_us"], statistics.median(timed) if timed else None), name, "effect median", value)
    failed = sum(not has_time(trial["outcome"]) for trial in trials)
    expect(sum(group["count"] for group in item["failures"]) == failed or item["failure_groups"] > len(item["failures"]), name, "failures")


def check_winner(book, item, session, trials):
    name = item["problem"]
    found = book.rows("SELECT winner.*, configuration.json AS configuration FROM winner JOIN configuration ON configuration.id = configuration_id "
                      "WHERE session_id = ? ORDER BY winner.id DESC LIMIT 1", session["id"])
    if not found:
        expect(item["winner"] is None, name, "has a winner that the book has not")
        return
    winner, shown = found[0], item["winner"]
    expect(shown is not None and shown["configuration"] == json.loads(winner["configuration"]), name, "winner")
    expect(near(shown["time"]["median_us"], winner["median_us"]), name, "median")
    expect(near(shown["time"]["ci_us"][0], winner["ci_low_us"]) and near(shown["time"]["ci_us"][1], winner["ci_high_us"]), name, "interval")
    flops, moved = amounts(item["problem"])
    expect(near(shown["gflops"], flops / (winner["median_us"] * 1e-6) / 1e9), name, "GFLOP/s", shown["gflops"])
    expect(near(shown["gbps"], moved / (winner["median_us"] * 1e-6) / 1e9), name, "GB/s")
    finalists = book.rows("SELECT * FROM finalist WHERE winner_id = ? ORDER BY place", winner["id"])
    expect(item["tie_set"] == sum(row["in_tie_set"] for row in finalists), name, "tie set")
    top = [row for row in item["top"] if row["finalist"]]
    expect(len(top) == len(finalists), name, "finalists", len(top), len(finalists))
    for row, finalist in zip(top, finalists):
        medians = doubles(finalist["process_medians_us"])
        expect(row["process_medians_us"] == medians, name, "process medians")
        expect(near(row["time"]["ci_coverage"], coverage(len(medians))), name, "coverage of", len(medians), row["time"]["ci_coverage"])
        expect(near(row["time"]["median_us"], statistics.median(medians)), name, "median of the processes")
    for row in item["top"]:
        of_configuration = [trial for trial in trials if json.loads(trial["configuration"]) == row["configuration"]]
        if of_configuration:
            expect(near(row["first_pass"]["median_us"], of_configuration[-1]["median_us"]), name, "first pass")
            samples = len(of_configuration[-1]["samples_us"]) // 8
            expect(near(row["first_pass"]["ci_coverage"], coverage(samples)), name, "coverage of the first pass", samples, row["first_pass"]["ci_coverage"])
            expect(row["resources"].get("registers") == of_configuration[-1]["registers"], name, "registers")
    check_baseline(book, item, session, finalists, winner)
    check_ceiling(book, item, session, winner)


def check_baseline(book, item, session, finalists, winner):
    found = book.rows("SELECT * FROM baseline WHERE session_id = ? ORDER BY id DESC LIMIT 1", session["id"])
    if not found:
        expect(item["baseline"] is None, item["problem"], "baseline")
        return
    shown, baseline = item["baseline"], found[0]
    expect(near(shown["time"]["median_us"], baseline["median_us"]), item["problem"], "baseline time")
    pairs = list(zip(doubles(baseline["process_medians_us"]), doubles(finalists[0]["process_medians_us"])))
    logs = [math.log(x / y) for x, y in pairs]
    expect(near(shown["ratio"], math.exp(statistics.fmean(logs))), item["problem"], "baseline ratio", shown["ratio"], math.exp(statistics.fmean(logs)))
    expect(near(item["winner"]["percent_of_baseline"], 100 * baseline["median_us"] / winner["median_us"]), item["problem"], "percent of baseline")


def check_ceiling(book, item, session, winner):
    ceilings = book.rows("SELECT * FROM ceiling WHERE device_id = ? AND method = ?", session["device_id"], session["method"])
    if not ceilings:
        expect(item["ceiling"] is None, item["problem"], "ceiling")
        return
    # One bandwidth and one peak are stored: the larger of the two bounds binds.
    flops, moved = amounts(item["problem"])
    floors = [(1e-3 * (moved if row["bytes"] > 0 else flops) / row["rate"], row["what"]) for row in ceilings]
    floor, what = max(floors)
    expect(item["ceiling"]["what"] == what and near(item["ceiling"]["floor_us"], floor), item["problem"], "ceiling", item["ceiling"], floor, what)
    expect(near(item["winner"]["percent_of_ceiling"], 100 * floor / winner["median_us"]), item["problem"], "percent of ceiling")


def check_ladder(item, trials):
    rungs = [rung for rung in item["ladder"] if not rung["winner"]]
    presets = [trial for trial in trials if trial["origin"].startswith("preset:")]
    expect(len(rungs) == len(presets), item["problem"], "presets", len(rungs), len(presets))
    timed = [rung for rung in item["ladder"] if rung["time"]]
    for before, after in zip(timed, timed[1:]):
        expect(near(after["gain"], before["time"]["median_us"] / after["time"]["median_us"]), item["problem"], "gain", after["name"])
        expect(near(after["gain_in_all"], timed[0]["time"]["median_us"] / after["time"]["median_us"]), item["problem"], "gain in all")


def check_cost(book, item, session):
    sums = book.rows("SELECT sum(compile_seconds) AS c, sum(verify_seconds) AS v, sum(time_seconds) AS t, count(*) AS n FROM trial WHERE session_id = ? AND reused = 0",
                     session["id"])[0]
    cost = item["cost"]
    expect(near(cost["compile_s"], sums["c"] or 0) and near(cost["verify_s"], sums["v"] or 0) and near(cost["time_s"], sums["t"] or 0), item["problem"], "cost")
    expect(cost["measured"] == sums["n"] and near(cost["wall_s"], session["wall_seconds"]), item["problem"], "measured")
    expect(0 <= cost["idle_s"] <= max(0, session["wall_seconds"] - (sums["v"] or 0) - (sums["t"] or 0)) + 1e-9, item["problem"], "idle")


def check_search(book, item, session):
    """Of a re-timed shape: its last finished search with the same kernel."""
    found = []
    if session["strategy"] == "retime":
        found = book.rows("SELECT * FROM session WHERE problem_id = ? AND device_id = ? AND method = ? AND kernel_id = ? AND strategy NOT IN ('retime', 'finalists') "
                          "AND finished_utc <= ? ORDER BY finished_utc DESC LIMIT 1",
                          session["problem_id"], session["device_id"], session["method"], session["kernel_id"], session["finished_utc"])
    if not found:
        expect(session["strategy"] == "finalists" or item["search"] is None, item["problem"], "a search that the book has not")
        return
    search = {**item["search"], "problem": f"search of {item['problem']}"}
    expect(search["session"] == found[0]["uid"] and search["date"] == found[0]["finished_utc"][:10], search["problem"], "another session")
    check_trials(search, book.trials(found[0]["id"]))


def check_trend(book, item, session):
    nights = {}
    for row in book.rows("SELECT s.*, max(winner.id) AS winner FROM session AS s JOIN winner ON winner.session_id = s.id WHERE s.problem_id = ? AND s.device_id = ? "
                         "AND s.method = ? AND s.finished_utc IS NOT NULL AND s.finished_utc <= ? AND objective = ? GROUP BY s.id ORDER BY s.finished_utc",
                         session["problem_id"], session["device_id"], session["method"], session["finished_utc"] or "", item["objective"]):
        kind = row["strategy"] if row["strategy"] in ("retime", "finalists") else "search"
        nights[row["finished_utc"][:10]] = (book.rows("SELECT median_us FROM winner WHERE id = ?", row["winner"])[0][0], kind)
    expect([(point["date"], (point["time"]["median_us"], point["session_kind"])) for point in item["trend"]] == sorted(nights.items()), item["problem"], "trend")


def time_text(microseconds):
    if microseconds < 1e3:
        return f"{microseconds:.2f} us"
    return f"{microseconds * 1e-3:.3f} ms" if microseconds < 1e6 else f"{microseconds * 1e-6:.3f} s"


def check_markdown(report, text):
    rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in text.splitlines() if line.startswith("|")]
    rows = [row for row in rows if row and not row[0].startswith("---")]
    head = next((at for at, row in enumerate(rows) if row[0] == "kernel"), None)
    if head is None:
        expect(not report["items"], "Markdown has no table")
        return
    place = {name: at for at, name in enumerate(rows[head])}
    covers = {time["ci_coverage"] for item in report["items"] if item["winner"] and (time := item["winner"]["time"])}
    shown = next(iter(covers)) if len(covers) == 1 else None
    heading = "winner (interval)" if shown is None else f"winner ({95 if shown >= 0.95 else round(100 * shown)} % interval)"
    expect(heading in place, "Markdown lacks", heading, list(place))
    body = rows[head + 1:head + 1 + len(report["items"])]
    expect(len(body) == len(report["items"]), "Markdown has", len(body), "rows")
    for row, item in zip(body, report["items"]):
        cell = row[place[heading]]
        if item["winner"] is None:
            expect(cell == "-", "Markdown time without a winner", cell)
            continue
        time = item["winner"]["time"]
        wanted = f"{time_text(time['median_us'])} ({time_text(time['ci_us'][0])} to {time_text(time['ci_us'][1])})"
        expect(cell == wanted, "Markdown time", cell, wanted)
        percent = item["winner"]["percent_of_ceiling"]
        expect(row[place["of ceiling"]] == ("-" if percent is None else f"{percent:.0f} %"), "Markdown ceiling", row)
        kind = {"search": "", "retime": " (re-timed)", "finalists": " (finalists)"}[item["session_kind"]]
        expect(row[place["trials"]] == f"{item['trial_count']:,}{kind}", "Markdown trials", row)


def main():
    book_path, report_path, markdown_path, schema_path = (pathlib.Path(word) for word in sys.argv[1:])
    report = json.loads(report_path.read_text(encoding="utf-8"))
    check_schema(report, json.loads(schema_path.read_text(encoding="utf-8")))
    book = Book(book_path)
    expect(report["trial_count"] == sum(len(book.trials(row["id"])) for row in book.rows("SELECT id FROM session")), "trials of the report")
    expect(sum(report["outcomes"].values()) == report["trial_count"], "outcomes of the report")
    expect(report["side"]["session_count"] == book.rows("SELECT count(*) FROM session")[0][0], "sessions")
    keys = book.rows("SELECT count(*) FROM (SELECT DISTINCT problem_id, device_id, method FROM session)")[0][0]
    expect(len(report["items"]) == keys, "items", len(report["items"]), keys)
    for item in report["items"]:
        session = book.rows("SELECT * FROM session WHERE uid = ?", item["session"])[0]
        newest = book.rows("SELECT uid FROM session WHERE problem_id = ? AND device_id = ? AND method = ? AND finished_utc IS NOT NULL ORDER BY finished_utc DESC LIMIT 1",
                           session["problem_id"], session["device_id"], session["method"])
        expect(not newest or newest[0]["uid"] == item["session"], item["problem"], "is not of the newest session")
        trials = book.trials(session["id"])
        check_trials(item, trials)
        check_winner(book, item, session, trials)
        check_ladder(item, trials)
        check_search(book, item, session)
        check_cost(book, item, session)
        check_trend(book, item, session)
    check_markdown(report, markdown_path.read_text(encoding="utf-8"))
    for problem in problems:
        print(problem)
    print(f"{len(report['items'])} items, {report['trial_count']} trials: {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
