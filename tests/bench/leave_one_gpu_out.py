#!/usr/bin/env python3
"""Says how good the configurations are that recordings of other GPUs propose for a GPU that was never tuned on.

    tests/bench/leave_one_gpu_out.py --tunebook build/bin/tunebook [--trials 10] [--subsets] [--json FILE] RECORDING...

Each GPU is left out in turn of every kernel that was recorded on several (`tunebook replay --leave-gpu-out`); the share of the best
configuration's speed that the first choice reaches, and the best of the first trials. Every row is printed, then the marks, met or
not. --subsets also leaves out further GPUs, so that each target is answered from every smaller set of donors: how much the figures
hang on the donors at hand.
"""

import argparse
import itertools
import json
import math
import subprocess
import sys

# (what, geometric mean, worst): the goals of the project; none for the worst of several trials.
MARKS = [("answered", 0.92, 0.75), ("after_trials", 0.97, None)]
LEAST_SHARE = 1e-3  # of a choice that failed


def leave_out(tunebook, recordings, trials):
    """The cases as `tunebook replay --leave-gpu-out --json` gives them; [] where nothing can be left out."""
    command = [tunebook, "replay", *recordings, "--leave-gpu-out", "--trials", str(trials), "--json"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode == 2 and "nothing can be left out" in result.stderr:
        return []
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {result.returncode}\n{result.stderr}")
    return json.loads(result.stdout)["cases"]


def mean_and_worst(values):
    """Geometric mean and least of shares."""
    return math.exp(sum(math.log(max(value, LEAST_SHARE)) for value in values) / len(values)), min(values)


def value_of(case, what):
    return case["best_after"][-1] if what == "after_trials" else case[what]


def print_cases(cases, trials):
    print(f"| GPU left out | from | winner of a similar one | first choice | best of {trials} |")
    print("| --- | --- | ---: | ---: | ---: |")
    for case in cases:
        values = " | ".join(f"{value_of(case, what):.3f}" for what in ("similar_winner", "answered", "after_trials"))
        print(f"| {case['target']} | {', '.join(case['donors'])} | {values} |")
    for name, which in (("geometric mean", 0), ("worst", 1)):
        values = [mean_and_worst([value_of(case, what) for case in cases])[which] for what in ("similar_winner", "answered", "after_trials")]
        print(f"| {name} | | " + " | ".join(f"{value:.3f}" for value in values) + " |")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tunebook", required=True, help="the program")
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--subsets", action="store_true", help="every smaller set of donors, too")
    parser.add_argument("--json", metavar="FILE", help="write all cases")
    parser.add_argument("recordings", nargs="+", metavar="RECORDING")
    options = parser.parse_args()

    cases = leave_out(options.tunebook, options.recordings, options.trials)
    if not cases:
        sys.exit("no kernel was recorded on two GPUs")
    print_cases(cases, options.trials)
    for what, mean_goal, worst_goal in MARKS:
        mean, worst = mean_and_worst([value_of(case, what) for case in cases])
        met = mean >= mean_goal and (worst_goal is None or worst >= worst_goal)
        goal = f"{mean_goal:.2f}" + ("" if worst_goal is None else f" / {worst_goal:.2f}")
        print(f"{what}: {mean:.3f} / {worst:.3f}, goal {goal}: {'met' if met else 'not met'}")

    more = []
    if options.subsets:
        names = {}
        for path in options.recordings:
            names[path.rsplit("/", 1)[-1].removesuffix(".gz").removesuffix(".csv").removesuffix(".json")] = path
        groups = sorted({tuple(sorted([case["target"], *case["donors"]])) for case in cases})
        for group in groups:
            for size in range(2, len(group)):
                for members in itertools.combinations(group, size):
                    more += leave_out(options.tunebook, [names[member] for member in members], options.trials)
        if more:
            print("\nFrom every smaller set of donors:\n")
            print_cases(more, options.trials)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"trials": options.trials, "cases": cases, "subsets": more}, file, indent=1)


if __name__ == "__main__":
    main()
