#!/usr/bin/env python3
"""How good are the book's answers for shapes that nobody tuned? One command, every row printed.

    tests/bench/lookup_quality.py --tunebook build/bin/tunebook --device cuda:0 --keep quality

For each kernel shapes are drawn (log-uniform; 35 % of the sizes no multiples of 8). `--tuned` of
them are tuned into one book, session after session, each with what the book says by then.
A sweep then covers the region that they were drawn from, not knowing what will be asked: it chooses
`--probes` further shapes, where answers are expected to lose most, and tries the `--probe-budget`
best predicted configurations on each (--probes 0 leaves that out). `--asked` others are tuned into
a second book, which knows nothing of the first. Then the first book is asked for the others. Its answer, its two next best, the winner of the second book and the
preset `default` are timed on the device, interleaved in fresh processes.

ratio = time of the tuned winner / time of the answer; best of three takes the fastest of the first
three. An answer that is missing, wrong or does not run has the ratio 0 and counts as 0.01 in
geometric means. `within`: the answer lost no more than the bound that it came with.

It uses only verbs of the program. Exit code 0 whatever was met, 1 if something could not be
measured.
"""

import argparse
import concurrent.futures
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

from lookup_shapes import KERNELS, draw_shapes, limits, shape_text

# Goals: geometric mean and worst of the ratio. With 48 or more tuned shapes others.
MARK, GOAL, GOAL_48, GOAL_LLM = (0.93, 0.70), (0.97, 0.85), (0.98, 0.88), (0.97, 0.90)
BEST_OF_THREE = (0.985, 0.92)
COVERAGE = (0.72, 0.90)
NO_ANSWER = 0.01


# The program.

class Tunebook:
    def __init__(self, options):
        self.options = options
        self.verbs = subprocess.run([options.tunebook, "--help"], capture_output=True, text=True,
                                    check=False).stdout

    def has_verb(self, verb):
        return f"\n  {verb} " in self.verbs

    def call(self, words, allowed=(0,), limit=math.inf):
        """The one JSON object that a verb prints; None and what it said if it fails."""
        if limit == math.inf:
            limit = self.options.session_limit
        if self.options.templates and words[0] in ("tune", "best", "sweep"):
            words = words + ["--templates", self.options.templates]
        try:
            done = subprocess.run([self.options.tunebook] + words + ["--json"], capture_output=True,
                                  text=True, check=False, timeout=limit)
        except subprocess.TimeoutExpired:
            return None, f"no end within {self.options.session_limit:g} s"
        try:
            if done.returncode not in allowed:
                raise ValueError
            return json.loads(done.stdout), done.stderr
        except ValueError:
            return None, (done.stderr.strip() or done.stdout.strip())[-400:]

    def tune(self, row, shape, book, device, words):
        return self.call(["tune", row["kernel"], "--shape", shape_text(row, shape),
                          "--device", device, "--book", book, "--seed", "1",
                          "--no-baseline"] + words)


def literal(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else f"'{value}'"


def narrowed_to(configurations):
    """--where words that leave these configurations alone.

    What each parameter may be comes first: it keeps the space small.
    """
    words = []
    for name in configurations[0]:
        values = sorted({literal(c[name]) for c in configurations})
        words += ["--where", f"{name} in [{', '.join(values)}]"]
    each = [" and ".join(f"{n} == {literal(v)}" for n, v in c.items()) for c in configurations]
    return words + ["--where", " or ".join(f"({text})" for text in each)]


def same(x, y):
    return x is not None and y is not None and dict(x) == dict(y)


def distinct(configurations):
    kept = []
    for one in configurations:
        if one is not None and not any(same(one, other) for other in kept):
            kept.append(one)
    return kept


class Row:
    """One kernel: its books, its shapes, what was found."""

    def __init__(self, program, name, folder):
        self.program, self.options, self.name = program, program.options, name
        self.row = KERNELS[name]
        self.folder = os.path.join(folder, name.replace(":", "-"))
        os.makedirs(self.folder, exist_ok=True)
        count = self.options.tuned + self.options.asked
        shapes = draw_shapes(name, self.options.seed, count, self.options.sizes_of)
        self.known_shapes = shapes[:self.options.tuned]
        self.asked_shapes = shapes[self.options.tuned:]
        self.began = time.time()
        self.said = []

    def book(self, name):
        return os.path.join(self.folder, name)

    def spent(self):
        return time.time() - self.began

    def left(self, share):
        """Whether this share of the time limit is not over yet."""
        return self.spent() < share * self.options.time_limit

    def say(self, text):
        self.said.append(text)
        print(f"    {self.name}: {text}", file=sys.stderr, flush=True)

    def tune_all(self, shapes, book, device, share):
        """The shapes that have a winner then, with its time and configuration."""
        found = []
        for number, shape in enumerate(shapes):
            if not self.left(share):
                self.say(f"{len(shapes) - number} of {len(shapes)} shapes of {book} were not "
                         f"tuned: {share:.0%} of the time limit are over")
                break
            result, said = self.program.tune(
                self.row, shape, self.book(book), device,
                ["--budget", str(self.options.budget), "--finalists", "8",
                 "--finalist-processes", "2"])
            if result is None or not result.get("winner"):
                reason = said if result is None else result["trials"]
                self.say(f"{shape_text(self.row, shape)}: no winner: {reason}")
                continue
            found.append((shape, result["winner"]))
        return found

    def cover(self, share):
        """The same for shapes that a sweep chooses: as many as would be drawn, once."""
        return self.sweep("cover", share, {
            **self.region(), "target_loss": "0.01%", "most_shapes": self.options.tuned,
            "budget": self.options.budget, "finalists": 8, "finalist_processes": 2})

    def sweep(self, name, share, entry):
        """The items of a plan of one entry that have a winner; once, also with --resume."""
        done = self.book(f"{name}-done.json")
        if os.path.exists(done):
            with open(done, encoding="utf-8") as file:
                return json.load(file)
        plan = {"tunebook": 1, "devices": self.options.device, "seed": self.options.seed,
                "baseline": False, "sessions": [entry]}
        with open(self.book(f"{name}.json"), "w", encoding="utf-8") as file:
            json.dump(plan, file)
        words = ["sweep", self.book(f"{name}.json"), "--book", self.book("known.db")]
        if self.options.time_limit < math.inf:
            left = share * self.options.time_limit - self.spent()
            words += ["--time", f"{max(1, left):.0f}s"]
        summary, said = self.program.call(words, allowed=(0, 1, 3), limit=None)
        if summary is None:
            self.say(f"the region was not covered: {said}")
            return []
        for region in summary["regions"]:
            self.say(f"region {region['region']}: expected loss {region['before']:.3f} before, "
                     f"{region['now']:.3f} now")
        found = [result["item"] for result in summary["results"] if result["winner"]]
        with open(done, "w", encoding="utf-8") as file:
            json.dump(found, file)
        return found

    def region(self):
        """The shapes that are drawn, as the entry of a plan."""
        sizes = self.row.get(self.options.sizes_of, self.row["sizes"])
        cover = {name: {"from": low, "to": high} for name, (low, high) in sizes.items()}
        conditions = limits(self.row)
        layers = self.row.get("small_layers" if self.options.sizes_of == "small" else "layers")
        if layers:
            cover.update(n=sorted({n for n, _ in layers}), k=sorted({k for _, k in layers}))
            pairs = " or ".join(f"n == {n} and k == {k}" for n, k in layers)
            conditions = conditions + [f"({pairs})"]
        entry = {"kernels": self.row["kernel"], "types": self.row["dtype"], "cover": cover}
        return {**entry, "when": " and ".join(conditions)} if conditions else entry

    def probe(self, share):
        """A few predicted configurations on shapes that a sweep chooses. How many had a winner."""
        if self.options.probes == 0 or self.options.known == "cover":
            return 0
        entry = {**self.region(), "target_loss": "0.01%", "most_shapes": self.options.probes}
        return len(self.sweep("probe", share, {
            **entry, "budget": self.options.probe_budget, "from_book": self.options.probe_budget,
            "finalists": 0}))

    def learn(self):
        if not self.program.has_verb("learn"):
            return None
        result, said = self.program.call(["learn", "--book", self.book("known.db")])
        if result is None:
            self.say(f"learn: {said}")
        return result

    def ask(self, shape):
        """The answer, and the first three usable configurations, the answer's first."""
        result, said = self.program.call(
            ["best", self.row["kernel"], "--shape", shape_text(self.row, shape),
             "--device", self.options.device, "--book", self.book("known.db"),
             "--explain", "--most", "50"], allowed=(0, 3))
        if result is None:
            self.say(f"{shape_text(self.row, shape)}: no answer: {said}")
            return None, []
        answer = result["explanation"]["answer"]
        considered = [one["candidate"]["configuration"]
                      for one in result["explanation"]["considered"]
                      if one["tier"] is not None and one["obstacle"] in ("none", "not needed")]
        if answer is None:
            return None, []
        return answer, distinct([answer["configuration"]] + considered)[:3]

    def times(self, number, shape, configurations):
        """A time in us for each, None if it failed, and that of the preset `default`.

        Medians over fresh processes, interleaved: the finalists of one session over them alone.
        """
        book = self.book(f"timed-{number}.db")
        count = len(configurations)
        result, said = self.program.tune(
            self.row, shape, book, self.options.device,
            ["--strategy", "exhaustive", f"--from-book={count}", "--budget", str(count),
             "--finalists", "16", "--finalist-processes", str(self.options.rounds)]
            + narrowed_to(configurations))
        if result is None:
            self.say(f"{shape_text(self.row, shape)}: not timed: {said}")
            return None, None
        report, said = self.program.call(["report", book])
        if report is None:
            self.say(f"{shape_text(self.row, shape)}: {said}")
            return None, None
        item = report["items"][0]
        found = []
        for one in configurations:
            finalist = next((r for r in item["top"]
                             if r["finalist"] and same(r["configuration"], one)), None)
            trial = next((t for t in item["trials"] if same(t["configuration"], one)
                          and t["outcome"] in ("ok", "abandoned")), None)
            # Abandoned: it takes more than 1.25 of the fastest's time, and has none but its first.
            us = finalist["time"]["median_us"] if finalist else trial["time_us"] if trial else None
            found.append(us)
        default = (result["presets"].get("default") or {}).get("median_us")
        return found, default

    def measure(self, number, shape, winner):
        answer, candidates = self.ask(shape)
        result = {"kernel": self.row["kernel"], "row": self.name, "dtype": self.row["dtype"],
                  "shape": shape, "answer": answer, "candidates": candidates,
                  "tuned_configuration": winner["configuration"]}
        timed = distinct([winner["configuration"]] + candidates)
        times, default = self.times(number, shape, timed)
        if times is None:
            result["error"] = "not timed"
            return result

        def time_of(configuration):
            return next(us for one, us in zip(timed, times) if same(one, configuration))

        tuned = time_of(winner["configuration"])
        if tuned is None:
            result["error"] = "the tuned winner did not run again"
            return result

        def ratio(us):
            return tuned / us if us else 0.0

        answered = [ratio(time_of(c)) for c in candidates] or [0.0]
        result.update(tuned_us=tuned, answered_us=time_of(candidates[0]) if candidates else None,
                      ratio=answered[0], best_of_three=max(answered),
                      default_ratio=ratio(default) if default else None)
        if answer and answer.get("loss_bound") is not None:
            result.update(expected_loss=answer["expected_loss"], loss_bound=answer["loss_bound"],
                          within=1 - answered[0] <= answer["loss_bound"])
        return result

    def run(self):
        truth_device = self.options.truth_device or self.options.device
        probed = 0
        jobs = [(self.known_shapes, "known.db", self.options.device),
                (self.asked_shapes, "truth.db", truth_device)]
        if self.options.known == "cover":
            tuned = [self.cover(0.42), self.tune_all(*jobs[1], 0.8)]
        elif truth_device == self.options.device:
            tuned = [self.tune_all(*jobs[0], 0.34)]
            probed = self.probe(0.5)
            tuned.append(self.tune_all(*jobs[1], 0.84))
        else:  # two devices of one kind: both books at once
            with concurrent.futures.ThreadPoolExecutor(2) as threads:
                tuned = list(threads.map(lambda job: self.tune_all(*job, 0.6), jobs))
            probed = self.probe(0.7)
        tuned_s = time.time() - self.began
        if probed < self.options.probes:
            self.say(f"{probed} of {self.options.probes} probes have a winner")
        learned = self.learn()
        rows = []
        for number, (shape, winner) in enumerate(tuned[1]):
            if not self.left(1):
                self.say(f"{len(tuned[1]) - number} of {len(tuned[1])} answers were not timed: "
                         "the time limit is over")
                break
            rows.append(self.measure(number, shape, winner))
            print(line(rows[-1]), flush=True)
        return {"row": self.name, "tuned": len(tuned[0]), "asked": len(tuned[1]), "probed": probed,
                "rows": rows,
                "summary": summary(self.name, len(tuned[0]), rows), "models": learned,
                "said": self.said, "tuned_s": tuned_s, "seconds": time.time() - self.began}


# What is shown.

HEADER = ["kernel", "dtype", "shape", "tier", "distance", "tuned us", "answered us", "ratio",
          "best of three", "default", "expected loss", "bound", "within"]


def line(result):
    answer = result["answer"] or {}

    def number(key, digits=3):
        return f"{result[key]:.{digits}f}" if result.get(key) is not None else "-"

    cells = [result["kernel"], result["dtype"], ",".join(str(v) for v in result["shape"].values()),
             answer.get("tier", "none"), f"{answer['distance']:.2f}" if answer else "-",
             number("tuned_us", 2), number("answered_us", 2), number("ratio"),
             number("best_of_three"), number("default_ratio"), number("expected_loss"),
             number("loss_bound"),
             result.get("error") or {True: "yes", False: "no", None: "-"}[result.get("within")]]
    return "| " + " | ".join(cells) + " |"


def geometric_mean(ratios):
    if not ratios:
        return None
    return math.exp(statistics.fmean(math.log(max(ratio, NO_ANSWER)) for ratio in ratios))


def verdict(mean, worst, goal, mark=None):
    if mean is None:
        return "not measured"

    def reached(bounds):
        return mean >= bounds[0] and worst >= bounds[1]

    return "goal met" if reached(goal) else "first mark met" if mark and reached(mark) else "missed"


def summary(name, tuned, rows):
    ratios = [row["ratio"] for row in rows if "ratio" in row]
    three = [row["best_of_three"] for row in rows if "ratio" in row]
    bounded = [row["within"] for row in rows if "within" in row]
    defaults = [row["default_ratio"] for row in rows if row.get("default_ratio") is not None]
    tiers = [(row["answer"] or {}).get("tier", "none") for row in rows]
    goal = GOAL_LLM if name == "llm" else GOAL_48 if tuned >= 48 else GOAL
    worst, worst_of_three = min(ratios, default=None), min(three, default=None)
    expected = [row["expected_loss"] for row in rows if "within" in row]
    losses = [max(0.0, 1 - ratio) for ratio in ratios]
    return {"shapes": len(ratios), "not_measured": len(rows) - len(ratios), "tuned_shapes": tuned,
            "geometric_mean": geometric_mean(ratios), "worst": worst, "goal": goal,
            "verdict": verdict(geometric_mean(ratios), worst, goal, MARK),
            "best_of_three": geometric_mean(three), "best_of_three_worst": worst_of_three,
            "best_of_three_verdict": verdict(geometric_mean(three), worst_of_three, BEST_OF_THREE),
            "default": geometric_mean(defaults), "bounded": len(bounded), "within": sum(bounded),
            "mean_expected_loss": statistics.fmean(expected) if expected else None,
            "mean_loss": statistics.fmean(losses) if losses else None,
            "tiers": {tier: tiers.count(tier) for tier in sorted(set(tiers))}}


def show_summaries(results):
    header = ["kernel", "tuned", "probed", "asked", "geometric mean, worst", "goal", "",
              "best of three, worst", "goal", "", "default", "lost, expected", "within the bound",
              "answers", "s"]
    print("\n| " + " | ".join(header) + " |")
    print("| " + " | ".join(["---"] * len(header)) + " |")

    def pair(x, y):
        return ", ".join("-" if value is None else f"{value:.3f}" for value in (x, y))

    for result in results:
        s = result["summary"]
        within = "-"
        if s["bounded"]:
            within = f"{s['within']} of {s['bounded']} ({s['within'] / s['bounded']:.0%})"
        cells = [result["row"], s["tuned_shapes"], result["probed"], s["shapes"],
                 pair(s["geometric_mean"], s["worst"]), pair(*s["goal"]), s["verdict"],
                 pair(s["best_of_three"], s["best_of_three_worst"]), pair(*BEST_OF_THREE),
                 s["best_of_three_verdict"], "-" if s["default"] is None else f"{s['default']:.3f}",
                 pair(s["mean_loss"], s["mean_expected_loss"]), within,
                 ", ".join(f"{n} {tier}" for tier, n in s["tiers"].items()),
                 f"{result['seconds']:.0f}"]
        print("| " + " | ".join(str(cell) for cell in cells) + " |")
    bounded = sum(r["summary"]["bounded"] for r in results)
    within = sum(r["summary"]["within"] for r in results)
    if bounded:
        share = within / bounded
        met = "goal met" if COVERAGE[0] <= share <= COVERAGE[1] else "missed"
        print(f"\nThe 80 % bound holds for {within} of {bounded} answers ({share:.0%}; "
              f"goal {COVERAGE[0]:.0%} to {COVERAGE[1]:.0%}: {met}).")
    else:
        print("\nNo answer had a bound of its loss.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tunebook", default="tunebook")
    parser.add_argument("--templates", default="", help="template folder (default: the program's)")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--truth-device", default="",
                        help="tune the second book here at the same time: one of the same kind")
    parser.add_argument("--kernels", default=",".join(KERNELS),
                        help="comma-separated: " + ", ".join(KERNELS))
    parser.add_argument("--tuned", type=int, default=24,
                        help="shapes that the asked book is tuned for")
    parser.add_argument("--asked", type=int, default=24, help="other shapes that it is asked for")
    parser.add_argument("--probes", type=int, default=48,
                        help="shapes that a sweep chooses once these are tuned")
    parser.add_argument("--probe-budget", type=int, default=5,
                        help="predicted configurations that it tries on each")
    parser.add_argument("--seed", type=int, default=1, help="of the shapes")
    parser.add_argument("--budget", default="80", help="trials of each session")
    parser.add_argument("--rounds", type=int, default=3,
                        help="fresh processes that time an answer beside the tuned winner")
    parser.add_argument("--time-limit", type=float, default=math.inf, metavar="S",
                        help="for each kernel; what is left out is said")
    parser.add_argument("--session-limit", type=float, default=300, metavar="S",
                        help="a session that takes longer counts as failed")
    parser.add_argument("--small", action="store_true",
                        help="small sizes (always on the cpu device)")
    parser.add_argument("--known", choices=["drawn", "cover"], default="drawn",
                        help="cover: a sweep chooses the shapes of the asked book (implies --box)")
    parser.add_argument("--box", action="store_true", help="sizes from a box, as --known cover")
    parser.add_argument("--keep", default="", metavar="DIR", help="keep the books here")
    parser.add_argument("--resume", action="store_true",
                        help="go on with the books in --keep: what they hold is not tuned again")
    parser.add_argument("--shapes-only", action="store_true", help="print the shapes and end")
    parser.add_argument("--json", default="", metavar="FILE",
                        help="write everything that was found to this file")
    options = parser.parse_args()
    if options.small or options.device == "cpu":
        options.sizes_of = "small"
    else:
        options.sizes_of = "box" if options.box or options.known == "cover" else "sizes"
    names = [name for name in options.kernels.split(",") if name]
    for name in names:
        if name not in KERNELS:
            parser.error(f"--kernels: '{name}' is none of {', '.join(KERNELS)}")
    if options.known == "cover" and "llm" in names:
        if options.kernels != ",".join(KERNELS):
            parser.error("--known cover: the list llm is no region; leave it out")
        names.remove("llm")
    if options.tuned < 1 or options.asked < 1 or options.probe_budget < 1 or options.probes < 0:
        parser.error("--tuned, --asked and --probe-budget: at least 1; --probes: at least 0")
    if options.known == "cover":
        options.probes = 0
    if options.resume and not options.keep:
        parser.error("--resume needs --keep DIR")
    used = options.keep and os.path.isdir(options.keep) and os.listdir(options.keep)
    if used and not options.resume:
        parser.error(f"--keep {options.keep}: it holds something already; add --resume to go on "
                     "with it, or name another folder")
    if options.shapes_only:
        for name in names:
            count = options.tuned + options.asked
            shapes = draw_shapes(name, options.seed, count, options.sizes_of)
            sizes = [value for shape in shapes for value in shape.values()]
            odd = sum(value % 8 != 0 for value in sizes) / len(sizes)
            print(f"{name}: {odd:.0%} of the sizes are no multiples of 8")
            for number, shape in enumerate(shapes):
                part = "tuned" if number < options.tuned else "asked"
                print(f"  {part} {shape_text(KERNELS[name], shape)}")
        return 0

    scratch = None if options.keep else tempfile.TemporaryDirectory(prefix="lookup-quality-")
    folder = options.keep or scratch.name
    program = Tunebook(options)
    print(f"seed {options.seed}, {options.tuned} shapes tuned and {options.asked} asked, "
          f"budget {options.budget}, {options.probes} probes of {options.probe_budget} trials, "
          f"{options.device}\n")
    print("| " + " | ".join(HEADER) + " |")
    print("| " + " | ".join(["---"] * len(HEADER)) + " |")
    results = []
    for name in names:
        results.append(Row(program, name, folder).run())
        if options.json:  # after each kernel: a run that is killed has its results
            with open(options.json, "w", encoding="utf-8") as file:
                settings = {key: str(value) for key, value in vars(options).items()}
                json.dump({"options": settings, "results": results}, file)
    show_summaries(results)
    complete = all(r["tuned"] == options.tuned and r["summary"]["shapes"] == options.asked
                   for r in results)
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
