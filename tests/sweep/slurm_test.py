"""A sweep on a real Slurm cluster of virtual nodes: tasks that are killed, whose node is lost, that are requeued, and the merge after them.

slurm_test.py TUNEBOOK SOURCE    exit code 77: skipped, with the reason
"""
import ctypes
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

import slurm_cluster
from slurm_cluster import SlurmCluster

SKIPPED = 77
NODES = 5         # one more than shards: a task whose node is lost finds another one
SHARDS = 4
CPU_SIZES = [32768 + 1024 * i for i in range(8)]
REPLAYED_SIZES = [100 + i for i in range(4)]
LIMIT_S = 160     # below ctest's, so that everything is tidied up
INSIDE = "TUNEBOOK_SLURM_TEST_INSIDE"


def contain():
    """Runs the rest of this program so that nothing can outlive it: in a process namespace of its own, which the kernel empties when its first
    process ends. Where that is not allowed, as the reaper of all orphans among its descendants, which are then killed by name of the cluster.
    """
    if INSIDE in os.environ:
        return
    os.environ[INSIDE] = "1"
    unshare = shutil.which("unshare")
    wrapper = [unshare, "--pid", "--fork", "--kill-child", "--mount-proc"] if unshare else []
    if wrapper and subprocess.run([*wrapper, "true"], capture_output=True).returncode == 0:
        os.execv(wrapper[0], [*wrapper, sys.executable, "-B", *sys.argv])
    PR_SET_CHILD_SUBREAPER = 36
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def rows(book, sql):
    connection = sqlite3.connect(f"file:{book}?immutable=1", uri=True)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


# Everything that makes a trial this one measurement, without row ids: they differ between books.
TRIALS = """
SELECT session.uid, trial.proposal, configuration.json, trial.outcome, trial.median_us, hex(trial.samples_us), trial.reused, trial.recorded_utc
FROM trial JOIN session ON session.id = session_id JOIN configuration ON configuration.id = trial.configuration_id
"""


class SlurmTest:
    def __init__(self, folder, tunebook, source):
        self.folder = folder
        self.tunebook = str(pathlib.Path(tunebook).resolve())
        self.source = pathlib.Path(source).resolve()
        self.shared = folder / "shared"
        self.sweep = self.shared / "sweep"
        self.shared.mkdir()
        self.cluster = SlurmCluster(folder / "cluster", NODES)
        self.cluster.environment.update(HOME=str(folder / "home"), TUNEBOOK_BOOK=str(folder / "book.db"))
        self.cluster.environment.pop("TUNEBOOK_CACHE", None)
        self.begin = time.monotonic()

    def say(self, text):
        print(f"{time.monotonic() - self.begin:6.1f} s  {text}", flush=True)

    def run_tunebook(self, *arguments):
        result = subprocess.run([self.tunebook, *arguments], env=self.cluster.environment, capture_output=True, text=True, timeout=120)
        check(result.returncode == 0, f"tunebook {' '.join(arguments)}: exit code {result.returncode}\n{result.stdout}{result.stderr}")
        return result

    def write_plan(self):
        recordings = self.shared / "recordings"
        recordings.mkdir()
        recorded = self.source / "tests/data/recorded/coulomb__KTT_2080Ti.json"
        for size in REPLAYED_SIZES:
            description = json.loads(recorded.read_text())
            description["problem_size"] = [size]
            (recordings / f"coulomb_{size}.json").write_text(json.dumps(description))
            shutil.copy(recorded.with_suffix(".csv.gz"), recordings / f"coulomb_{size}.csv.gz")
        plan = {
            "tunebook": 1, "seed": 7, "finalists": 2, "finalist_processes": 1,
            "sessions": [
                {"kernels": "vector_add", "devices": "cpu", "budget": "12", "shapes": [{"n": size} for size in CPU_SIZES]},
                {"kernels": "directCoulombSum_kernel", "budget": "40",
                 "devices": [f"replay:{recordings}/coulomb_{size}.json" for size in REPLAYED_SIZES]},
            ],
        }
        path = self.shared / "nightly.json"
        path.write_text(json.dumps(plan, indent=2))
        return path

    # --- what can be seen of the sweep from the shared folder, as a user would

    def manifest(self, shard):
        """Of the shard's newest snapshot; None if there is none."""
        files = sorted((self.sweep / f"shard-{shard:04}").glob("snapshot-*.json"))
        try:
            return json.loads(files[-1].read_text()) | {"file": str(files[-1].with_suffix(".db"))} if files else None
        except FileNotFoundError:  # replaced by a newer one meanwhile
            return None

    def log(self, shard):
        path = self.sweep / "log" / f"shard-{shard}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def job(self, shard):
        return next((job for job in self.cluster.jobs() if job["ArrayJobId" if "ArrayJobId" in job else "JobId"] == self.array
                     and job.get("ArrayTaskId") == str(shard)), None)

    def files_at_home(self):
        return sorted(str(path) for path in (self.folder / "home").rglob("*"))

    def in_the_middle(self, shard):
        """True if the shard's newest snapshot has a finished session and one that is half done."""
        manifest = self.manifest(shard)
        if not manifest or manifest["finished_sessions"] < 1 or manifest["sessions"] == manifest["finished_sessions"]:
            return False
        check(not manifest["complete"], f"shard {shard} is complete before anything could happen to it")
        try:
            [(trials,)] = rows(manifest["file"], "SELECT count(*) FROM trial JOIN session ON session.id = session_id WHERE finished_utc IS NULL")
        except sqlite3.OperationalError:  # replaced by a newer one meanwhile
            return False
        return trials > 0

    # --- what happens to the tasks

    def kill_payload(self, shard):
        node = self.job(shard)["NodeList"]
        for pid in self.cluster.processes_of(node):
            words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if words[0].decode() == self.tunebook and b"--shard" in words:
                os.kill(pid, signal.SIGKILL)
                return self.say(f"shard {shard}: its payload on {node} is killed")
        raise AssertionError(f"no payload of shard {shard} on {node}")

    def lose_node(self, shard):
        self.lost = self.job(shard)["NodeList"]
        self.cluster.lose_node(self.lost)
        self.say(f"shard {shard}: its node {self.lost} is lost")

    def requeue(self, shard):
        self.cluster.run("scontrol", "requeue", f"{self.array}_{shard}")
        self.say(f"shard {shard}: requeued by scontrol")

    # --- the test

    def submit(self):
        plan = self.write_plan()
        self.words = ["sweep", str(plan), "--templates", str(self.source / "tests/data/user_kernels"), "--slurm", "--slurm-folder", str(self.sweep),
                      "--slurm-shards", str(SHARDS), "--snapshot-every", "0.5", "--slurm-option", "gres=gpu:1", "--slurm-option", "time=10", "--json"]
        dry = json.loads(self.run_tunebook(*self.words, "--slurm-option", "cpu@constraint=fast", "--dry-run").stdout)
        check(not self.sweep.exists(), "--dry-run wrote something")
        check(["--constraint=fast" in command for command in dry["commands"]].count(True) == 1, f"options of a device: {dry['commands']}")
        submitted = json.loads(self.run_tunebook(*self.words).stdout)
        check([shard["shard"] for shard in submitted["shards"]] == list(range(SHARDS)), f"shards: {submitted['shards']}")
        check(sum(shard["items"] for shard in submitted["shards"]) == len(CPU_SIZES) + len(REPLAYED_SIZES), f"items: {submitted['shards']}")
        [self.array], self.merge = submitted["arrays"], submitted["merge"]
        self.at_home = self.files_at_home()
        self.say(f"submitted: array {self.array}, merge {self.merge}")

    def disturb(self):
        self.kept = {}
        pending = {0: self.kill_payload, 1: self.lose_node, 2: self.requeue}
        while pending:
            for shard in list(pending):
                if self.in_the_middle(shard):
                    pending.pop(shard)(shard)
                    # Read after the event: no later snapshot of the same task is missed.
                    self.kept[shard] = rows(self.manifest(shard)["file"], TRIALS)
            check(time.monotonic() - self.begin < LIMIT_S, f"no snapshot of shards {list(pending)}")
            time.sleep(0.05)

    def wait_for_the_end(self):
        def ended():
            jobs = self.cluster.jobs()
            # The node comes back, as after a repair, when its task runs elsewhere.
            if self.lost not in self.cluster.daemons and any(
                    job.get("ArrayTaskId") == "1" and job["Restarts"] == "1" and job["JobState"] == "RUNNING" for job in jobs):
                self.cluster.start_node(self.lost)
                self.say(f"node {self.lost} is back")
            merge = next(job for job in jobs if job["JobId"] == self.merge)
            return merge if merge["JobState"] not in ("PENDING", "RUNNING", "COMPLETING") else None
        merge = self.cluster.wait_until(ended, LIMIT_S - (time.monotonic() - self.begin), "the merge job")
        self.say(f"the merge job is {merge['JobState']}")
        check(merge["JobState"] == "COMPLETED", (self.sweep / "log" / "merge.log").read_text())
        for shard in range(SHARDS):
            check(self.job(shard)["JobState"] == "COMPLETED", f"shard {shard}: {self.job(shard)}\n{self.log(shard)}")
            check(self.job(shard)["EndTime"] <= merge["StartTime"], f"the merge began before shard {shard} had ended")

    def check_tasks(self):
        for shard in range(SHARDS):
            restarts, attempt, log = int(self.job(shard)["Restarts"]), self.manifest(shard)["attempt"], self.log(shard)
            disturbed = shard in self.kept
            check(restarts == (1 if disturbed else 0), f"shard {shard}: {restarts} restarts\n{log}")
            check(attempt == restarts + 1, f"shard {shard}: attempt {attempt} after {restarts} restarts\n{log}")
            check(log.count("goes on from the snapshot of") == restarts, f"shard {shard} did not go on from its snapshot\n{log}")
            self.say(f"shard {shard}: {restarts} restarts, {len(self.kept.get(shard, []))} trials before, "
                     f"{self.manifest(shard)['trials']} in the end")
        check(self.job(1)["NodeList"] != self.lost, f"shard 1 ran on the node that was lost\n{self.log(1)}")
        check("DUE TO JOB REQUEUE" in self.log(2), f"shard 2 was not requeued\n{self.log(2)}")
        check("back into the queue (restart 1 of 2)" in self.log(0), f"shard 0 was not put back\n{self.log(0)}")
        # The signal of the requeue was passed on in time for a snapshot of what had been done by then.
        check("stopped before its end" in self.log(2), f"shard 2 left nothing when it was told to stop\n{self.log(2)}")

    def check_book(self):
        book = self.sweep / "merged.db"
        trials = rows(book, TRIALS)
        for shard, before in self.kept.items():
            check(before and set(before) <= set(trials), f"shard {shard}: trials of its snapshot are not in the merged book")
        check(len({trial[:2] for trial in trials}) == len(trials), "a proposal of a session was run twice")
        again = rows(book, "SELECT count(*) FROM trial WHERE reused = 0 GROUP BY key HAVING count(*) > 1")
        check(not again, f"{len(again)} trials were measured twice")
        sessions = rows(book, """SELECT kernel.name, problem.json, count(*), sum(finished_utc IS NOT NULL)
                                 FROM session JOIN kernel ON kernel.id = kernel_id JOIN problem ON problem.id = problem_id GROUP BY 1, 2""")
        check(len(sessions) == len(CPU_SIZES) + len(REPLAYED_SIZES), f"sessions: {sessions}")
        check(all(row[2:] == (1, 1) for row in sessions), f"not every session exactly once: {sessions}")
        check(rows(book, "PRAGMA integrity_check") == [("ok",)], "the merged book is damaged")
        self.say(f"merged: {len(sessions)} sessions, {len(trials)} trials, each once")

    def check_what_is_left(self):
        # Nothing lies on the nodes' local disks, and the same command has nothing to do.
        self.cluster.wait_until(lambda: all(not any(self.cluster.disk(node).iterdir()) for node in self.cluster.nodes), 20, "the epilogs")
        check(self.files_at_home() == self.at_home, "a task wrote into the home folder")
        again = json.loads(self.run_tunebook(*self.words).stdout)
        check(again["submitted"] is False, f"submitted again: {again}")
        merged = (self.sweep / "merged.db").read_bytes()
        result = self.run_tunebook("sweep", "--frozen", str(self.sweep / "plan.json"), "--merge", "--json")
        check(json.loads(result.stdout)["missing"] == [], "something is missing")
        check(rows(self.sweep / "merged.db", TRIALS + " ORDER BY 1, 2") != [] and merged, "no merged book")
        self.run_tunebook("merge", str(self.sweep / "merged.db"))
        check(self.run_tunebook("best", "vector_add", "--shape", f"n={CPU_SIZES[0]}", "--device", "cpu", "--json").stdout, "no answer from the book")

    def run(self):
        with self.cluster:
            self.say(f"{NODES} nodes are up")
            self.submit()
            self.disturb()
            self.wait_for_the_end()
            self.check_tasks()
            self.check_book()
            self.check_what_is_left()
        self.say("done")


def main():
    tunebook, source = sys.argv[1:]
    reason = slurm_cluster.missing()
    if reason:
        print("skipped:", reason)
        return SKIPPED
    contain()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tunebook-slurm-"))
    test = SlurmTest(folder, tunebook, source)

    def stop(*_):
        raise TimeoutError(f"stopped after {time.monotonic() - test.begin:.0f} s")
    signal.signal(signal.SIGALRM, stop)
    signal.signal(signal.SIGTERM, stop)
    signal.alarm(LIMIT_S + 10)
    try:
        test.run()
    except BaseException:
        for shard in range(SHARDS):
            print(f"--- log of shard {shard}\n{test.log(shard)}")
        merge = test.sweep / "log" / "merge.log"
        print(f"--- log of the merge\n{merge.read_text() if merge.exists() else 'none'}", flush=True)
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
