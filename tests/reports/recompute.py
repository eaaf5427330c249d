"""What `tunebook compare --json` must say, computed anew from the two books with SQL and formulas of its own.

    recompute.py BASE CANDIDATE FILE.json     exit code 1 and a list of what differs, if anything does

A side is BOOK or BOOK#date=YYYY-MM-DD or BOOK#session=ID. The tails of Student's t come from a continued fraction and its quantiles from
bisection, so that nothing is shared with the program but the definitions.
"""
import json
import math
import sqlite3
import statistics
import struct
import sys

FAMILY_ALPHA = 0.05
NOISE_NIGHTS = 5
SHOWN_NIGHTS = 90
RELATIVE_TOLERANCE = 1e-8
VERDICTS = ["regression", "improvement", "only in base", "inconclusive", "only in candidate", "unchanged"]  # as they are listed


# ---- Student's t

def possible(bound, median):
    """A bound that is no time says nothing: the median stands for it."""
    return bound if bound is not None and 0 < bound < float("inf") else median


def beta_fraction(a, b, x):
    """Continued fraction of the incomplete beta function (Abramowitz & Stegun 26.5.8), evaluated after Lentz."""
    tiny = 1e-300
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > tiny else tiny)
    result = d
    for m in range(1, 2000):
        for numerator in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                          -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):
            d = 1.0 + numerator * d
            c = 1.0 + numerator / c
            d = 1.0 / (d if abs(d) > tiny else tiny)
            c = c if abs(c) > tiny else tiny
            result *= d * c
        if abs(d * c - 1.0) < 1e-16:
            break
    return result


def regularised_beta(a, b, x):
    if x <= 0 or x >= 1:
        return min(max(x, 0.0), 1.0)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * beta_fraction(a, b, x) / a
    return 1.0 - front * beta_fraction(b, a, 1.0 - x) / b


def two_sided(t, degrees):
    return regularised_beta(degrees / 2, 0.5, degrees / (degrees + t * t))


def quantile_95(degrees):
    low, high = 0.0, 1e7
    for _ in range(300):
        middle = (low + high) / 2
        low, high = (middle, high) if two_sided(middle, degrees) > 0.05 else (low, middle)
    return (low + high) / 2


def welch(base, candidate):
    """(change, low, high, p) on the scale of logarithms; None if there are too few times or bad ones."""
    if min(len(base), len(candidate)) < 2 or not all(map(is_time, base + candidate)):
        return None
    x, y = [math.log(t) for t in base], [math.log(t) for t in candidate]
    difference = statistics.fmean(y) - statistics.fmean(x)
    u, v = statistics.variance(x) / len(x), statistics.variance(y) / len(y)
    change = math.expm1(difference)
    if u + v == 0:
        return change, change, change, 1.0 if difference == 0 else 0.0
    degrees = (u + v) ** 2 / (u ** 2 / (len(x) - 1) + v ** 2 / (len(y) - 1))
    error = math.sqrt(u + v)
    margin = quantile_95(degrees) * error
    return change, math.expm1(difference - margin), math.expm1(difference + margin), two_sided(difference / error, degrees)


def holm(values):
    adjusted, largest = [0.0] * len(values), 0.0
    for rank, i in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        largest = max(largest, min(1.0, (len(values) - rank) * values[i]))
        adjusted[i] = largest
    return adjusted


def is_time(value):
    return math.isfinite(value) and value > 0


# ---- books

SESSIONS = """
SELECT s.id AS row, s.uid, s.toolchain, s.method, s.started_utc, s.finished_utc, s.identity_json, k.name AS kernel, k.hash AS kernel_hash,
       d.key AS device_key, d.name AS device, d.kind, p.json AS problem, e.json AS environment,
       (SELECT max(w.id) FROM winner w WHERE w.session_id = s.id) AS winner
FROM session s JOIN kernel k ON k.id = s.kernel_id JOIN device d ON d.id = s.device_id JOIN problem p ON p.id = s.problem_id
JOIN environment e ON e.id = s.environment_id
"""


class Book:
    def __init__(self, path):
        self.db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self.db.row_factory = sqlite3.Row
        self.sessions = [dict(row) for row in self.db.execute(SESSIONS)]
        for session in self.sessions:
            session["time"] = session["finished_utc"] or session["started_utc"]
            session["record"] = None
            if session["winner"]:
                session["record"] = dict(self.db.execute(
                    "SELECT w.*, c.json AS configuration FROM winner w JOIN configuration c ON c.id = w.configuration_id WHERE w.id = ?",
                    [session["winner"]]).fetchone())
            objective = json.loads(session["identity_json"]).get("objective", "time")
            session["key"] = (session["kernel"], session["device_key"], session["method"],
                              session["record"]["objective"] if session["record"] else objective, session["problem"])

    def process_medians(self, session):
        row = self.db.execute("SELECT process_medians_us FROM finalist WHERE winner_id = ? AND configuration_id = ? ORDER BY place LIMIT 1",
                              [session["winner"], session["record"]["configuration_id"]]).fetchone()
        blob = row[0] if row else b""
        return list(struct.unpack(f"<{len(blob) // 8}d", blob))


def read_side(text):
    """Of each key the session that counts, with its winner and its nights."""
    path, *filters = text.split("#")
    book = Book(path)
    chosen = book.sessions
    for each in filters:
        name, value = each.split("=", 1)
        if name == "date":
            chosen = [s for s in chosen if s["time"][:10] == value]
        elif name == "session":
            chosen = [s for s in chosen if s["uid"].startswith(value)]
        else:
            raise ValueError(f"filter {name} is not known here")
    items = {}
    for session in chosen:
        def rank(s):
            return (s["finished_utc"] is not None, s["time"])
        known = items.get(session["key"])
        if known is None or (rank(session), known["uid"]) > (rank(known), session["uid"]):
            items[session["key"]] = session
    for key, session in items.items():
        session["wins"] = bool(session["record"]) and session["finished_utc"] is not None
        session["process_medians_us"] = book.process_medians(session) if session["wins"] else []
        nights = {}
        for other in sorted(book.sessions, key=lambda s: (s["time"], [-ord(c) for c in s["uid"]])):
            if other["key"] == key and other["finished_utc"] and other["record"] and other["time"] <= session["time"]:
                nights[other["time"][:10]] = other
        session["nights"] = [nights[date] for date in sorted(nights)][-SHOWN_NIGHTS:]
    return items


def noise_of(base, candidate):
    last, changes, counted = {}, [], set()
    for night in base["nights"]:
        if night["uid"] == candidate["uid"]:
            continue
        median = night["record"]["median_us"]
        if not is_time(median):
            continue
        version = (night["record"]["configuration"], night["kernel_hash"])
        if version in last:
            changes.append(median / last[version][0] - 1)
            counted |= {last[version][1], night["uid"]}
        last[version] = (median, night["uid"])
    return (3 * statistics.stdev(changes) if len(changes) >= NOISE_NIGHTS - 1 else 0.0), len(counted)


# ---- the comparison

def pair(base, candidate):
    pairs = [(key, key) for key in base if key in candidate]
    def loose(key):
        return (key[0], key[2].split("@")[0], key[3], key[4])
    left = [k for k in base if k not in candidate]
    right = [k for k in candidate if k not in base]
    for key in left:
        partners = [k for k in right if loose(k) == loose(key)]
        if len(partners) == 1 and sum(loose(k) == loose(key) for k in left) == 1:
            pairs.append((key, partners[0]))
    return pairs


def compare(base, candidate, settings):
    """Expected items by (base session or None, candidate session or None)."""
    expected = {}
    pairs = pair(base, candidate)
    for left, right in pairs:
        x, y = base[left], candidate[right]
        threshold = settings["kernel_thresholds"].get(x["kernel"], settings["threshold"])
        noise, nights = noise_of(x, y)
        expected[(x["uid"], y["uid"])] = item = {
            "threshold": threshold, "noise": noise, "noise_nights": nights, "gate": max(threshold, noise), "verdict": "inconclusive",
            "kernel_changed": x["kernel_hash"] != y["kernel_hash"], "base_processes": len(x["process_medians_us"]),
            "candidate_processes": len(y["process_medians_us"]), "sides": (x, y)}
        if x["wins"] and y["wins"] and x["uid"] == y["uid"]:
            item["same_session"] = True  # nothing is tested
            item["same_configuration"] = True
        elif x["wins"] and y["wins"]:
            item["welch"] = welch(x["process_medians_us"], y["process_medians_us"])
            item["same_configuration"] = x["record"]["configuration"] == y["record"]["configuration"]
        elif x["wins"]:
            item["verdict"] = "only in base"
        elif y["wins"]:
            item["verdict"] = "only in candidate"
    tested = [item for item in expected.values() if item.get("welch")]
    for item, p in zip(tested, holm([item["welch"][3] for item in tested])):
        change, low, high, _ = item["welch"]
        item["holm_p"] = p
        if p < FAMILY_ALPHA and abs(change) > item["gate"]:
            item["verdict"] = "regression" if change > 0 else "improvement"
        elif -item["gate"] <= low and high <= item["gate"]:
            item["verdict"] = "unchanged"
    paired_base, paired_candidate = {p[0] for p in pairs}, {p[1] for p in pairs}
    for key, session in base.items():
        if key not in paired_base:
            expected[(session["uid"], None)] = {"verdict": "only in base"}
    for key, session in candidate.items():
        if key not in paired_candidate:
            expected[(None, session["uid"])] = {"verdict": "only in candidate"}
    return expected


def gate_refused(expected, settings):
    def toolchain(session):
        toolkit, _, driver = session["toolchain"].partition("; driver ")
        return {"toolkit": toolkit, "driver": driver}
    differing = set()
    for item in expected.values():
        if "sides" not in item:
            continue
        x, y = item["sides"]
        differing |= {name for name in ("toolkit", "driver") if toolchain(x)[name] != toolchain(y)[name]}
        differing |= {name for name, column in (("gpu", "device_key"), ("kernel", "kernel_hash"), ("clocks", "method")) if x[column] != y[column]}
    allowed = set(settings["allow_different"])
    return settings["fail_on"] != "never" and "all" not in allowed and bool(differing - allowed)


def exit_code(expected, settings, refused):
    verdicts = [item["verdict"] for item in expected.values()]
    lost = any(item["verdict"] == "only in base" and "sides" in item and item["sides"][1]["finished_utc"] for item in expected.values())
    if settings["fail_on"] == "never":
        return 0
    if refused:
        return 2
    if "regression" in verdicts or lost:
        return 3
    if settings["fail_on"] == "inconclusive" and ("inconclusive" in verdicts or "only in base" in verdicts):
        return 3
    compared = any(is_time(t) for item in expected.values() if "sides" in item and all(s["wins"] for s in item["sides"]) and "same_session" not in item
                   for t in item["sides"][0]["process_medians_us"])
    return 0 if compared else 2


def check(base_text, candidate_text, given):
    """What the JSON says otherwise, one line each."""
    errors = []

    def same(what, got, wanted):
        if isinstance(wanted, float) and isinstance(got, (int, float)):
            if abs(got - wanted) <= RELATIVE_TOLERANCE * max(abs(wanted), 1e-12) + 1e-13:
                return
        elif got == wanted:
            return
        errors.append(f"{what}: the JSON has {got}, expected {wanted}")

    expected = compare(read_side(base_text), read_side(candidate_text), given["settings"])
    seen = set()
    last = 0
    for item in given["items"]:
        sides = tuple(None if item[side] is None else given[side]["items"][item[side]] for side in ("base", "candidate"))
        uids = tuple(side and side["session"] for side in sides)
        name = f"{item['kernel']} {item['problem']} {uids}"
        wanted = expected.get(uids)
        if wanted is None:
            errors.append(f"{name}: not expected")
            continue
        seen.add(uids)
        same(f"{name} verdict", item["verdict"], wanted["verdict"])
        if VERDICTS.index(item["verdict"]) < last:
            errors.append(f"{name}: out of order")
        last = VERDICTS.index(item["verdict"])
        if "sides" not in wanted:
            continue
        same(f"{name} same_session", item["same_session"], wanted.get("same_session", False))
        energies = [session["record"]["energy_j"] if session["wins"] else None for session in wanted["sides"]]
        same(f"{name} energies", [item["base_energy_j"], item["candidate_energy_j"]], energies)
        known = all(energies) and "same_session" not in wanted
        same(f"{name} energy_change", item["energy_change"], energies[1] / energies[0] - 1 if known else None)
        for field in ("threshold", "noise", "noise_nights", "gate", "kernel_changed", "base_processes", "candidate_processes"):
            same(f"{name} {field}", item[field], wanted[field])
        for side, session in zip(("base", "candidate"), wanted["sides"]):
            if session["wins"]:
                same(f"{name} {side} median", item[f"{side}_time"]["median_us"], session["record"]["median_us"])
                same(f"{name} {side} interval", item[f"{side}_time"]["ci_us"], [possible(session["record"][bound], session["record"]["median_us"]) for bound in ("ci_low_us", "ci_high_us")])
        if wanted.get("welch"):
            change, low, high, p = wanted["welch"]
            same(f"{name} change", item["change"], change)
            same(f"{name} low", item["change_ci"][0], low)
            same(f"{name} high", item["change_ci"][1], high)
            same(f"{name} p", item["p"], p)
            same(f"{name} holm_p", item["holm_p"], wanted["holm_p"])
        else:
            same(f"{name} p", item["p"], None)
        if "same_configuration" in wanted:
            same(f"{name} same_configuration", item["same_configuration"], wanted["same_configuration"])
    for uids in expected.keys() - seen:
        errors.append(f"{uids}: missing")
    counts = {verdict: 0 for verdict in VERDICTS}
    for item in expected.values():
        counts[item["verdict"]] += 1
    same("counts", given["counts"], {verdict: count for verdict, count in counts.items() if count})
    refused = gate_refused(expected, given["settings"])
    same("gate_refused", given["gate_refused"], refused)
    same("exit_code", given["exit_code"], exit_code(expected, given["settings"], refused))
    return errors


if __name__ == "__main__":
    with open(sys.argv[3], encoding="utf-8") as file:
        found = check(sys.argv[1], sys.argv[2], json.load(file))
    print("\n".join(found) if found else "the JSON agrees with the books")
    sys.exit(1 if found else 0)
