#!/usr/bin/env python3
"""Chooses the constants of the strategies by replay, and says how well constants do that were chosen without a space's kernel.

    tests/bench/choose_constants.py --tunebook build/bin/tunebook [--seeds 20] [--strategies surrogate,genetic,...] RECORDING...

For each strategy the constants are changed one after the other, over the values listed below, keeping what raises the mean of P;
ties within the noise go to the value that stands in the source. Every (constants, space) is scored once and kept in --cache FILE.
The same search is then repeated leaving out all spaces of one kernel at a time. What was found is scored once more, with other seeds
and without a cut, on all spaces; the spaces left out are scored with what was found without them: the column "without its kernel".
The output is Markdown; the values to put into the source stand under each table.

`untold`, the number of proposals in flight, is no constant of the search: it is what the devices need to be kept busy.
"""

import argparse
import json
import os
import subprocess
import sys

# The values tried for each constant; the first is the one in the source.
GRID = {
    "surrogate": {
        "initial": [10, 6, 16],
        "spread": [40, 10, 100],
        "random": [800, 400],
        "pairs": [150, 0],
        "elite": [8, 4, 12],
        "refresh": [12, 6, 24],
        "refit": [1.15, 1.05, 1.4],
        "steps": [8, 4, 16],
        "points": [200, 120, 300],
        "length": [0.7, 0.4, 1.2],
        "length_spread": [1.0, 0.6],
        "noise": [0.01, 0.003, 0.03],
        "noise_spread": [1.0, 0.5],
        "cap": [0.75, 0.6, 0.9],
        "alignment": [1, 0],
    },
    "genetic": {"population": [20, 12, 30], "selection": [4, 2.5, 6], "mutation": [0.4, 0.2, 0.6], "climb": [1, 0]},
    "local_search": {"samples": [20, 10, 40], "kick": [2, 1, 3], "barren": [6, 3, 12]},
    "differential_evolution": {"population": [30, 20, 45], "factor": [0.9, 0.7, 1.0], "crossover": [0.6, 0.4, 0.8]},
    "auto": {"least": [120, 80, 200], "barren": [60, 30, 120], "turn": [2, 3]},
}
# A change has to raise the mean of P by this much to be kept: half the width of its interval with 20 seeds is some 0.01.
LEAST_GAIN = 0.01


class Scores:
    """P of (strategy, constants) on every recording, from the cache or by one run of `tunebook replay`."""

    def __init__(self, options):
        self.options = options
        self.cache = {}
        if os.path.exists(options.cache):
            with open(options.cache, encoding="utf-8") as file:
                self.cache = json.load(file)

    def of(self, strategy, constants):
        """On the seeds and the cut that the constants are chosen by."""
        return self.run(strategy, constants, ["--seeds", str(self.options.seeds), "--budget", str(self.options.budget)])

    def final(self, strategy, constants):
        """On seeds of their own, to the end of each space's budget: choosing by some seeds favours what was lucky with them."""
        return self.run(strategy, constants, ["--seeds", str(self.options.final_seeds), "--seed", str(self.options.seeds)])

    def run(self, strategy, constants, arguments):
        changed = {name: value for name, value in sorted(constants.items()) if value != GRID[strategy][name][0]}
        key = json.dumps([strategy, changed, arguments, self.options.recordings])
        if key not in self.cache:
            command = [self.options.tunebook, "replay", *self.options.recordings, "--strategies", strategy, "--json", *arguments]
            for name, value in changed.items():
                command += ["--set", f"{strategy}.{name}={value}"]
            result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            counted = {space["space"] for space in result["spaces"] if space["counted"]}
            self.cache[key] = {score["space"]: score["P"]["value"] for score in result["scores"] if score["space"] in counted}
            with open(self.options.cache, "w", encoding="utf-8") as file:
                json.dump(self.cache, file)
            print(f"  {strategy} {changed or 'as in the source'}: {mean(self.cache[key].values()):.4f}", file=sys.stderr)
        return self.cache[key]


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def choose(scores, strategy, left_out=()):
    """Coordinate by coordinate, on the spaces that are not left out."""
    def value(constants):
        return mean(p for space, p in scores.of(strategy, constants).items() if space not in left_out)

    constants = {name: values[0] for name, values in GRID[strategy].items()}
    best = value(constants)
    for name, values in GRID[strategy].items():
        for candidate in values[1:]:
            changed = {**constants, name: candidate}
            result = value(changed)
            if result > best + LEAST_GAIN:
                constants, best = changed, result
    return constants


def kernel_of(recording):
    """The first word of the recording's name: implementations of one algorithm count as one kernel."""
    return os.path.basename(recording).split("_")[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recordings", nargs="+", help="NAME.json of recordings")
    parser.add_argument("--tunebook", default="tunebook")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--budget", type=int, default=300, help="evaluations of each run at most, while constants are chosen")
    parser.add_argument("--final-seeds", type=int, default=100, help="runs of what was chosen, with seeds after those")
    parser.add_argument("--strategies", default=",".join(GRID))
    parser.add_argument("--cache", default="choose_constants.json", help="scores already known")
    options = parser.parse_args()
    options.recordings = sorted(options.recordings)
    scores = Scores(options)

    kernels = {}
    for recording in options.recordings:
        space = os.path.basename(recording).removesuffix(".json")
        kernels.setdefault(kernel_of(recording), []).append(space)
    for strategy in options.strategies.split(","):
        chosen = choose(scores, strategy)
        full = scores.final(strategy, chosen)
        without = {}
        differences = {}
        for kernel, spaces in kernels.items():
            if not any(space in full for space in spaces):
                continue
            constants = choose(scores, strategy, left_out=spaces)
            result = scores.final(strategy, constants)
            without.update({space: result[space] for space in spaces if space in result})
            differences[kernel] = {name: value for name, value in constants.items() if value != chosen[name]}
        print(f"### `{strategy}`\n\n| space | P | without its kernel |\n| --- | ---: | ---: |")
        for space in full:
            print(f"| {space} | {full[space]:.3f} | {without[space]:.3f} |")
        print(f"| mean | {mean(full.values()):.3f} | {mean(without.values()):.3f} |\n")
        print("Chosen: " + ", ".join(f"`{name}` {value:g}" for name, value in chosen.items()) + ".")
        moved = {name: value for name, value in chosen.items() if value != GRID[strategy][name][0]}
        if moved:
            print("Not as in the source: " + ", ".join(f"`{name}` {GRID[strategy][name][0]:g}" for name in moved) + " there.")
        for kernel, difference in differences.items():
            if difference:
                print(f"Without {kernel}: " + ", ".join(f"`{name}` {value:g}" for name, value in difference.items()) + ".")
        print(flush=True)


if __name__ == "__main__":
    main()
