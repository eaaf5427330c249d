"""A Slurm cluster of several virtual nodes on this machine, for tests: started as root without systemd, gone with its object.

Every node has its own folder for local disk, as $TMPDIR of what runs there; a job's part of it is removed when the job leaves the
node, as clusters do. A node that is lost takes its processes and its disk with it.
"""
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol", "squeue")

CONFIGURATION = """\
ClusterName=tunebooktest
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
# A requeue waits until the old credential has expired: 120 s by default.
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
SlurmctldDebug=verbose
SlurmdDebug=verbose
Prolog={folder}/prolog
TaskProlog={folder}/task_prolog
Epilog={folder}/epilog
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
JobRequeue=1
KillWait=5
SlurmdTimeout=5
SlurmctldTimeout=10
InactiveLimit=0
MinJobAge=3600
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
GresTypes=gpu
{nodes}
PartitionName=test Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""

# $TMPDIR is the job's own folder on the local disk of its node; Slurm takes what a task prolog prints into the task's environment.
PROLOG = """#!/bin/sh
mkdir -p "{folder}/disk-$SLURMD_NODENAME/job-$SLURM_JOB_ID"
"""
TASK_PROLOG = """#!/bin/sh
echo "export TMPDIR={folder}/disk-$SLURMD_NODENAME/job-$SLURM_JOB_ID"
"""
EPILOG = """#!/bin/sh
rm -rf "{folder}/disk-$SLURMD_NODENAME/job-$SLURM_JOB_ID"
echo "$SLURMD_NODENAME $SLURM_JOB_ID" >>"{folder}/epilogs"
"""


def missing():
    """Why no cluster can be started here; "" if one can."""
    if os.geteuid() != 0:
        return "starting Slurm daemons needs root"
    names = [name for name in PROGRAMS if not find_program(name)]
    if names:
        return f"{', '.join(names)} not installed (Debian: slurmctld slurmd slurm-client munge)"
    try:
        socket.gethostbyname(host_name())
    except OSError:
        return f"the host name {host_name()} does not resolve"
    return ""


def find_program(name):
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def host_name():
    return socket.gethostname().split(".")[0]


def free_ports(count):
    """Ports that nobody listens on now; held open together so that they differ."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def processes():
    """Of every process that can be seen: its id, its parent's, and its environment as bytes."""
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            parent = int(pathlib.Path("/proc", entry, "stat").read_text().rsplit(")", 1)[1].split()[1])
            environment = pathlib.Path("/proc", entry, "environ").read_bytes()
        except (OSError, IndexError, ValueError):
            continue
        yield int(entry), parent, environment


def descendants(roots):
    children = {}
    for pid, parent, _ in processes():
        children.setdefault(parent, []).append(pid)
    found, pending = [], list(roots)
    while pending:
        pid = pending.pop()
        found.append(pid)
        pending.extend(children.get(pid, []))
    return found


def kill(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


class SlurmCluster:
    """Nodes n1, n2, ... with `cpus` processors and one (pretended) GPU each. Use in a `with` statement."""

    def __init__(self, folder, nodes, cpus=1):
        self.folder = pathlib.Path(folder)
        self.nodes = [f"n{i}" for i in range(1, nodes + 1)]
        self.cpus = cpus
        self.daemons = {}
        self.environment = dict(os.environ, SLURM_CONF=str(self.folder / "slurm.conf"))
        for name in [name for name in self.environment if name.startswith(("SBATCH_", "SLURM_")) and name != "SLURM_CONF"]:
            del self.environment[name]

    def __enter__(self):
        try:
            self._configure()
            self._start_munge()
            self._start("slurmctld", ["slurmctld", "-D"])
            for node in self.nodes:
                self.start_node(node)
            self.wait_until(self._all_idle, 30, "the nodes to be idle")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        kill(descendants(daemon.pid for daemon in self.daemons.values()))
        # What lost its parent on the way: steps and what they run have the configuration's path in their environment.
        marker = f"SLURM_CONF={self.folder}/slurm.conf".encode()
        for _ in range(50):
            left = [pid for pid, _, environment in processes() if marker in environment.split(b"\0") and pid != os.getpid()]
            if not left:
                break
            kill(left)
            time.sleep(0.1)
        for daemon in self.daemons.values():
            daemon.wait()
        self.daemons.clear()

    def _configure(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "state").mkdir()
        ports = free_ports(1 + len(self.nodes))
        lines = []
        for node, port in zip(self.nodes, ports[1:]):
            self.spool(node).mkdir()
            self.disk(node).mkdir()
            gpu = self.folder / f"gpu-{node}"
            os.mknod(gpu, 0o666 | 0o020000, os.makedev(1, 3))  # Slurm wants character devices: these are /dev/null
            lines.append(f"NodeName={node} NodeHostname={host_name()} NodeAddr=127.0.0.1 Port={port} CPUs={self.cpus} Sockets=1 "
                         f"CoresPerSocket={self.cpus} ThreadsPerCore=1 RealMemory=1000 Gres=gpu:1 State=UNKNOWN")
        gres = ["AutoDetect=off"] + [f"NodeName={node} Name=gpu File={self.folder}/gpu-{node}" for node in self.nodes]
        (self.folder / "gres.conf").write_text("\n".join(gres) + "\n")
        (self.folder / "slurm.conf").write_text(
            CONFIGURATION.format(host=host_name(), port=ports[0], folder=self.folder, nodes="\n".join(lines)))
        for name, text in (("prolog", PROLOG), ("task_prolog", TASK_PROLOG), ("epilog", EPILOG)):
            path = self.folder / name
            path.write_text(text.format(folder=self.folder))
            path.chmod(0o755)

    def _start_munge(self):
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        files = [f"--{what}={self.folder}/munge.{what}" for what in ("socket", "pid-file", "log-file", "seed-file")]
        # --force: the folder of a test may be writable by others (/tmp).
        self._start("munged", ["munged", "--foreground", "--force", f"--key-file={key}", *files])
        self.wait_until(lambda: (self.folder / "munge.socket").exists(), 10, "munged")

    def _start(self, name, command):
        with open(self.folder / f"{name}.out", "ab") as out:
            self.daemons[name] = subprocess.Popen([find_program(command[0]), *command[1:]], env=self.environment, stdin=subprocess.DEVNULL,
                                                  stdout=out, stderr=out, start_new_session=True)

    def start_node(self, node):
        self._start(node, ["slurmd", "-D", "-N", node])

    def lose_node(self, node):
        """As if its power were cut: its processes are gone at once, and so is its disk. Slurm is not told."""
        slurmd = self.daemons.pop(node)
        kill(descendants([slurmd.pid]) + self.processes_of(node))
        slurmd.wait()
        # Else slurmd would find its jobs there when it comes back.
        for folder in (self.disk(node), self.spool(node)):
            shutil.rmtree(folder)
            folder.mkdir()

    def processes_of(self, node):
        """What runs on the node: slurmd's children leave its process tree, but not its environment."""
        marker, cluster = f"SLURMD_NODENAME={node}".encode(), f"SLURM_CONF={self.folder}/slurm.conf".encode()
        return [pid for pid, _, environment in processes() if {marker, cluster} <= set(environment.split(b"\0"))]

    def disk(self, node):
        return self.folder / f"disk-{node}"

    def spool(self, node):
        return self.folder / f"spool-{node}"

    def run(self, *command):
        """The standard output of a command of Slurm's; an error if it fails."""
        result = subprocess.run([find_program(command[0]), *command[1:]], env=self.environment, capture_output=True, text=True, timeout=60)
        if result.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {result.stderr.strip()}")
        return result.stdout

    def jobs(self):
        """Of every job and task of an array: its fields as `scontrol show job` has them."""
        result = []
        for block in self.run("scontrol", "--oneliner", "show", "job").splitlines():
            fields = dict(word.split("=", 1) for word in block.split() if "=" in word)
            if "JobId" in fields:
                result.append(fields)
        return result

    def _all_idle(self):
        states = self.run("scontrol", "--oneliner", "show", "nodes").count(" State=IDLE ")
        return states == len(self.nodes)

    def wait_until(self, condition, seconds, what):
        """Returns the condition's first true value. RuntimeError with the ends of the daemons' logs if it takes too long."""
        end = time.monotonic() + seconds
        error = None
        while time.monotonic() < end:
            try:
                value = condition()
                if value:
                    return value
            except RuntimeError as failure:  # the controller may not listen yet
                error = failure
            time.sleep(0.1)
        logs = "".join(f"--- {log.name}\n" + "".join(log.read_text(errors="replace").splitlines(True)[-30:])
                       for log in sorted(self.folder.glob("*.log")) + sorted(self.folder.glob("*.out")))
        raise RuntimeError(f"waited {seconds} s for {what}{f' ({error})' if error else ''}\n{logs}")
