#!/usr/bin/python3
"""A job that is hurt at every turn must end by itself with the losses of one that nobody hurt.

    chaos.py PENSTOCK [--seed N] [--events N] [--steps N] [--mirror] [--types]
             [--keep FOLDER] [--only KIND,...]

A tiny GPT in float64 on up to four CPU ranks; the machines are loopback addresses. `penstock manage`
owns the job, and this program hurts it: it kills and stops ranks, launchers and the manager (which it
starts again with the same command), takes machines away with and without notice and brings them back,
fills the disk of the checkpoints and damages the newest one. When is decided by the seed: an event
has a step of the job at which it is due and a delay behind it, so that events also hit a job that is
about to start again. Afterwards it looks at everything that is left: logs, checkpoints, processes,
ports, and every decision with its reason. With --types the machines are of two device types, and the
book has no page for an odd number of the second.
"""

import argparse
import array
import datetime
import email.utils
import http.server
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import small_gpt  # pylint: disable=wrong-import-position

SOURCE = "made up for tests/manager/chaos.py"
LAYERS = 4
SEQUENCE = 32
BATCH = 4
EVERY = 10  # steps between checkpoints
HOSTS = ["127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"]
TYPES = ["processor", "older"]  # with --types: of the first and of the last half of the hosts
TOLERANCE = 1e-10
PATIENCE = 300  # seconds without a new step are a failure; others may compute here, too
TIME_OUT = "4s"  # of ranks that hang
ONE_RANK = ["SIGKILL of a rank", "SIGKILL of a launcher", "SIGSTOP of a rank", "power off",
            "off while in use"]
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


# ---- what is trained -------------------------------------------------------------------------------

def profile():
    made = small_gpt.profile(SOURCE, LAYERS, SEQUENCE, "float64")
    made["training"] = {"bytes_per_parameter": 8, "bytes_per_gradient": 8,
                        "optimizer_bytes_per_parameter": 16, "optimizer_ps_per_parameter": 1000}
    return made


def cluster():
    return small_gpt.cluster(SOURCE, "loopback", nodes=len(HOSTS), latency_ms=0.1)


def on_two_types(model, machines, times_as_long):
    """Half of the machines are of a second type, which is said to take so many times as long."""
    for section_type in model["section_types"]:
        for row in list(section_type["measurements"]):
            longer = {key: value * times_as_long for key, value in row.items()
                      if key.endswith("_ms")}
            section_type["measurements"].append({**row, **longer, "device": TYPES[1]})
    half = len(HOSTS) // 2
    machines["device_types"].append({**machines["device_types"][0], "name": TYPES[1]})
    machines["node_types"].append({**machines["node_types"][0], "name": "older node",
                                   "device_type": TYPES[1]})
    machines["nodes"] = [{"node_type": name, "count": half} for name in ("node", "older node")]


def machine_line(host, types):
    """Of the machine file."""
    if not types:
        return f"{host} 1\n"
    return f"{host} 1 {TYPES[HOSTS.index(host) >= len(HOSTS) // 2]}\n"


def write(path, value):
    """Complete at once, as people should write machine files."""
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(value if isinstance(value, str) else json.dumps(value, indent=1))
    os.replace(path + ".new", path)


def seconds_of(time_in_utc):
    return datetime.datetime.fromisoformat(time_in_utc.replace("Z", "+00:00")).timestamp()


def steps_in(log):
    """step -> loss, of the lines that are complete."""
    if not os.path.exists(log):
        return {}
    with open(log, encoding="utf-8") as file:
        lines = file.read().split("\n")[1:-1]
    return {line["step"]: line["loss"] for line in map(json.loads, lines)}


def begin_of(log):
    """The first step that this run did: one before it, which a lost rank could not write any more,
    stands there with a time of zero."""
    with open(log, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file.read().split("\n")[1:-1]]
    return min(line["step"] + (line["step_time_ns"] == 0) for line in lines)


# ---- processes -------------------------------------------------------------------------------------

def stat_of(process):
    with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
        return file.read().rsplit(")", 1)[1].split()


def marked(folder):
    """Processes of the job, (process, is a rank, machine, generation), by what they carry."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/environ", encoding="utf-8", errors="replace") as file:
                variables = dict(v.split("=", 1) for v in file.read().split("\0") if "=" in v)
            if variables.get("PENSTOCK_CHAOS") != folder or stat_of(name)[0] in "ZX":
                continue
            found.append((int(name), "PENSTOCK_LAUNCHER_PROCESS" in variables,
                          variables.get("PENSTOCK_MACHINE"),
                          int(variables.get("PENSTOCK_GENERATION", -1))))
        except OSError:
            continue  # it ended while we looked
    return found


def hit(process, number):
    try:
        os.kill(process, number)
        return True
    except ProcessLookupError:
        return False


def listening_ports(processes):
    """Of TCP, that these processes listen on."""
    inodes = set()
    for process in processes:
        try:
            for name in os.listdir(f"/proc/{process}/fd"):
                link = os.readlink(f"/proc/{process}/fd/{name}")
                if link.startswith("socket:["):
                    inodes.add(link[8:-1])
        except OSError:
            continue
    ports = set()
    for path in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(path, encoding="utf-8") as file:
            for line in file.readlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and fields[9] in inodes:
                    ports.add(int(fields[1].rsplit(":", 1)[1], 16))
    return ports


def is_listened_on(port):
    for path in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(path, encoding="utf-8") as file:
            for line in file.readlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and int(fields[1].rsplit(":", 1)[1], 16) == port:
                    return True
    return False


# ---- what happens ----------------------------------------------------------------------------------

# How often each kind comes, in twentieths or so.
KINDS = {"kill_rank": 4, "kill_launcher": 2, "kill_manager": 4, "stop_rank": 2, "power_off": 2,
         "notice": 3, "leave": 3, "join": 5, "full_disk": 1, "corrupt": 2}


NEED_MACHINES = ("join", "corrupt", "power_off", "notice", "leave")


class Event:
    def __init__(self, step, delay, kind):
        self.step, self.delay, self.kind = step, delay, kind
        self.due = None  # when its step has been reached

    def __str__(self):
        return f"{self.kind} at step {self.step} + {self.delay:.1f} s"


def events_of(rng, count, steps, kinds):
    """Spread over the run; every fifth comes together with the one before it."""
    names = [kind for kind in kinds for _ in range(KINDS[kind])]
    # Each kind once, then by how often they come.
    chosen = list(kinds)[:count] + [rng.choice(names) for _ in range(max(0, count - len(kinds)))]
    rng.shuffle(chosen)
    events = []
    for i, kind in enumerate(chosen):
        if events and rng.random() < 0.2:
            step, delay = events[-1].step, events[-1].delay
        else:
            step = 3 + int((steps - 15) * (i + rng.random()) / count)
            delay = rng.choice([0.0, 0.0, rng.uniform(0, 3)])
        events.append(Event(step, delay, kind))
    return events


class Disk:
    """A small one for checkpoints that can be filled; without the right to mount, none."""

    SIZE = 64 << 20

    def __init__(self, path):
        self.path = path
        os.makedirs(path)
        self.mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={self.SIZE}", "penstock-chaos", path],
            check=False, stderr=subprocess.DEVNULL).returncode == 0

    def fill(self):
        with open(os.path.join(self.path, "ballast"), "wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"\0" * (1 << 16))
            except OSError:
                pass

    def free(self):
        if os.path.exists(os.path.join(self.path, "ballast")):
            os.remove(os.path.join(self.path, "ballast"))

    def unmount(self):
        if self.mounted:
            subprocess.run(["umount", "-l", self.path], check=True)


def complete_checkpoints(folder):
    """Steps, ascending."""
    steps = []
    for name in os.listdir(folder) if os.path.isdir(folder) else []:
        path = os.path.join(folder, name)
        if name.startswith("step-") and name[5:].isdigit():
            if os.path.exists(os.path.join(path, "manifest.json")):
                steps.append(int(name[5:]))
    return sorted(steps)


def damage(checkpoint, rng):
    """A few bytes in the middle of one of its files."""
    names = [name for name in os.listdir(checkpoint) if name.endswith(".safetensors")]
    path = os.path.join(checkpoint, rng.choice(sorted(names)))
    size = os.path.getsize(path)
    with open(path, "r+b") as file:
        file.seek(size // 2)
        bytes_there = file.read(16)
        file.seek(size // 2)
        file.write(bytes(255 - byte for byte in bytes_there))
    return os.path.basename(path)


# ---- who announces losses --------------------------------------------------------------------------

class Cloud:
    """Azure's scheduled events (docs: "Scheduled Events"), for the machines that are to go."""

    def __init__(self):
        self.events = {}  # host -> (id, not before)
        self.incarnation = 1
        cloud = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = json.dumps({"DocumentIncarnation": cloud.incarnation, "Events": [
                    {"EventId": name, "EventType": "Preempt", "ResourceType": "VirtualMachine",
                     "Resources": [host], "EventStatus": "Scheduled", "NotBefore": before,
                     "Description": "", "EventSource": "Platform", "DurationInSeconds": -1}
                    for host, (name, before) in list(cloud.events.items())]}).encode()
                good = self.headers.get("Metadata") == "true"
                self.send_response(200 if good else 400)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def announce(self, host, seconds):
        """Returns when it will be gone: whole seconds, as in the body."""
        at = int(time.time() + seconds) + 1
        self.incarnation += 1
        self.events[host] = (f"event-{self.incarnation}",
                             email.utils.formatdate(at, usegmt=True))
        return at

    def forget(self, host):
        self.incarnation += 1
        self.events.pop(host, None)


# ---- the trial -------------------------------------------------------------------------------------

class Chaos:
    def __init__(self, penstock, folder, options):
        self.penstock, self.folder, self.options = penstock, folder, options
        self.rng = random.Random(options.seed)
        self.disk = Disk(os.path.join(folder, "disk"))
        self.checkpoints = os.path.join(folder, "disk", "checkpoints")
        self.run_folder = os.path.join(folder, "run")
        self.cloud = Cloud()
        self.listed = list(HOSTS)
        self.pending = []  # (when, what to do)
        self.manager = None
        self.manager_runs = True  # else it is started again soon
        self.managers = self.ports_seen = 0
        self.ports = set()
        self.history = []  # (time, text)
        self.disk_is_full = False
        self.unannounced = {}  # generation -> what hit it without notice: (event, words)
        self.event = 0  # which one happens, counted
        self.seen_checkpoints = {}  # (step, when it was complete) -> when we damaged it, or None
        self.began = time.monotonic()
        self.happened = []  # times of events that hurt or changed something, of the day
        self.answers = []  # (seconds from an event to the next first step)
        self.waiting_since = None

    def say(self, text):
        line = f"{time.monotonic() - self.began:7.2f} s  {text}"
        self.history.append(line)
        if self.options.verbose:
            print(line, flush=True)

    # -- before --

    def prepare(self):
        model, machines = profile(), cluster()
        if self.options.types:
            on_two_types(model, machines, 2)
        write(self.path("profile.json"), model)
        write(self.path("cluster.json"), machines)
        rng = random.Random(1)
        with open(self.path("data.bin"), "wb") as file:  # a few epochs
            array.array("H", (rng.randrange(256) for _ in range(12000))).tofile(file)
        self.call("plan", self.path("profile.json"), "--cluster", self.path("cluster.json"),
                  "--gpus", self.gpus_of_book(), "--global-batch", str(BATCH), "--for", "penstock",
                  "-o", self.path("book.json"))
        self.train_alone()
        self.list_machines()
        write(self.path("job.json"), {
            "format": "penstock.job/1", "book": self.path("book.json"),
            "steps": self.options.steps,
            "train": [*self.train_options(), "--no-pinning", "--time-out", TIME_OUT,
                      *(["--mirror"] if self.options.mirror else [])],
            # Others compute on this machine, too: a rank that waits for them is not slow.
            "watch_slow_ranks": False,
            "checkpoints": self.checkpoints, "run_folder": self.run_folder,
            "machine_file": self.path("machines"),
            "notices": [{"provider": "azure", "base": self.cloud.base}],
            # Steps are short and this machine is slow: as many seconds as some ten steps take.
            "checkpoint_every_s": 0.5,
            "assumptions": {"write_s": 0.3, "restart_s": 4, "notice_s": 5},
            "limits": {"start_s": 25, "exit_s": 20, "silence_s": 15, "attempts": 1000,
                       "pause_s": 0.5, "longest_pause_s": 2}})

    def gpus_of_book(self):
        """With types not all pages: the manager searches for what is missing."""
        if not self.options.types:
            return f"1..{len(HOSTS)}"
        half = len(HOSTS) // 2
        return f"{TYPES[0]}=0..{half},{TYPES[1]}=0..{half}:{half}"

    def train_alone(self):
        """What nobody hurts."""
        self.call("plan", self.path("profile.json"), "--cluster", self.path("cluster.json"),
                  "--device", TYPES[0], "--gpus", "1", "--global-batch", str(BATCH), "--for", "penstock",
                  "-o", self.path("alone.json"))
        self.call("train", self.path("alone.json"), *self.train_options(), "--no-pinning", "--steps",
                  str(self.options.steps), "--log", self.path("alone.jsonl"),
                  "--checkpoints", self.path("alone"))

    def train_options(self):
        return ["--data", self.path("data.bin"), "--dtype", "uint16", "--seed", "7"]

    def path(self, name):
        return os.path.join(self.folder, name)

    def call(self, *words):
        done = subprocess.run([self.penstock, *words], check=False, capture_output=True, text=True,
                              timeout=PATIENCE)
        if done.returncode != 0:
            raise AssertionError(f"{words}: exit code {done.returncode}: {done.stderr}")

    def start_manager(self):
        environment = dict(os.environ, PENSTOCK_CHAOS=self.folder)
        with open(self.path("manager.txt"), "ab") as output:
            self.manager = subprocess.Popen([self.penstock, "manage", self.path("job.json")],
                                            stdout=output, stderr=output, env=environment)
        self.manager_runs = True
        self.managers += 1

    # -- what is there --

    def generations(self):
        folder = os.path.join(self.run_folder, "generations")
        return sorted(int(name) for name in os.listdir(folder)) if os.path.isdir(folder) else []

    def log_of(self, generation):
        return os.path.join(self.run_folder, "generations", str(generation), "run.jsonl")

    def reached(self):
        """(newest generation that has a step, steps that are done)."""
        done = (0, 0)
        for generation in self.generations():
            steps = steps_in(self.log_of(generation))
            if steps:
                done = (generation, max(steps) + 1)
        return done

    def ranks(self):
        return [p for p in marked(self.folder) if p[1]]

    def launchers(self):
        return [p for p in marked(self.folder) if not p[1] and p[2]]

    def hit_without_notice(self, process, number, what):
        if hit(process[0], number):
            self.note_hit(process[3], what)
        self.say(f"{what}: process {process[0]} of generation {process[3]} on {process[2]}")

    def note_hit(self, generation, what):
        """What happened to it without notice; of one event once."""
        hits = self.unannounced.setdefault(generation, [])
        if (self.event, what) not in hits:
            hits.append((self.event, what))

    def list_machines(self):
        write(self.path("machines"),
              "".join(machine_line(host, self.options.types) for host in self.listed))

    def later(self, seconds, what):
        self.pending.append((time.monotonic() + seconds, what))

    def power_off(self, host):
        for process in marked(self.folder):
            if process[2] == host:
                hit(process[0], signal.SIGKILL)

    # -- events --

    def kill_rank(self):
        ranks = self.ranks()
        if ranks:
            self.hit_without_notice(self.rng.choice(ranks), signal.SIGKILL, "SIGKILL of a rank")
        return bool(ranks)

    def stop_rank(self):
        ranks = self.ranks()
        if ranks:
            self.hit_without_notice(self.rng.choice(ranks), signal.SIGSTOP, "SIGSTOP of a rank")
        return bool(ranks)

    def kill_launcher(self):
        launchers = self.launchers()
        if launchers:
            self.hit_without_notice(self.rng.choice(launchers), signal.SIGKILL,
                                    "SIGKILL of a launcher")
        return bool(launchers)

    def kill_manager(self):
        if not self.manager_runs:
            return False
        self.ports |= listening_ports([self.manager.pid])
        self.manager.kill()
        self.manager.wait()
        self.manager_runs = False
        pause = self.rng.choice([0.0, self.rng.uniform(0, 1.5)])
        self.later(pause, self.start_manager)
        self.say(f"SIGKILL of the manager, again in {pause:.1f} s")
        return True

    def going(self):
        """Machines that may still be taken, one must stay. Where only one is left, another joins."""
        staying = [host for host in self.listed if host not in self.cloud.events]
        if len(staying) > 1:
            return staying
        self.join()
        return []

    def power_off_some(self):
        hosts = self.going()
        if not hosts:
            return False
        host = self.rng.choice(hosts)
        for process in marked(self.folder):
            if process[2] == host:
                self.note_hit(process[3], "power off")
        self.power_off(host)
        self.listed.remove(host)
        self.list_machines()
        self.say(f"{host} is off")
        return True

    def notice(self):
        hosts = self.going()
        if not hosts:
            return False
        host = self.rng.choice(hosts)
        at = self.cloud.announce(host, self.rng.uniform(4, 8))
        self.say(f"{host} is announced to go in {at - time.time():.1f} s")

        def go():
            if any(process[2] == host for process in marked(self.folder)):
                for process in marked(self.folder):
                    if process[2] == host:
                        self.note_hit(process[3], "off while in use")
            self.power_off(host)
            self.say(f"{host} is off, as announced")
            self.listed.remove(host)
            self.list_machines()
            self.cloud.forget(host)

        self.later(at - time.time(), go)
        return True

    def leave(self):
        hosts = self.going()
        if not hosts:
            return False
        host = self.rng.choice(hosts)
        self.listed.remove(host)
        self.list_machines()
        self.say(f"{host} leaves the machine file")
        return True

    def join(self):
        away = [host for host in HOSTS if host not in self.listed]
        if not away:
            return False
        host = self.rng.choice(away)
        self.listed.append(host)
        self.list_machines()
        self.say(f"{host} joins")
        return True

    def full_disk(self):
        if not self.disk.mounted:
            self.say("no small disk could be mounted: the event is left out")
            return True
        self.disk.fill()
        self.disk_is_full = True
        self.say("the disk of the checkpoints is full")

        def free():
            self.mark_full_disk()
            self.disk_is_full = False
            self.disk.free()
            self.say("the disk has room again")

        self.later(self.rng.uniform(2, 5), free)
        return True

    def mark_full_disk(self):
        """What runs now cannot keep a step, also when it is told to stop."""
        for process in self.launchers():
            self.note_hit(process[3], "full disk")

    def corrupt(self):
        steps = complete_checkpoints(self.checkpoints)
        if len(steps) < 2:
            return False
        launchers = self.launchers()
        for process in launchers:
            hit(process[0], signal.SIGKILL)
            self.note_hit(process[3], "corrupt")
        steps = complete_checkpoints(self.checkpoints)
        try:
            name = damage(os.path.join(self.checkpoints, f"step-{steps[-1]}"), self.rng)
        except (OSError, IndexError):
            return False  # it was replaced meanwhile
        self.see_checkpoints()
        for step, complete in self.seen_checkpoints:
            if step == steps[-1] and self.seen_checkpoints[step, complete] is None:
                self.seen_checkpoints[step, complete] = time.time()
        self.say(f"{name} of the newest checkpoint, step {steps[-1]}, is damaged, and all "
                 f"launchers killed")
        return True

    def happen(self, event):
        self.event += 1
        done = {"power_off": self.power_off_some}.get(event.kind, getattr(self, event.kind))()
        if done:
            self.happened.append(time.time())
        if done and self.waiting_since is None:
            self.waiting_since = (time.monotonic(), self.reached()[0])
        return done

    def see_checkpoints(self):
        for step in complete_checkpoints(self.checkpoints):
            try:
                manifest = os.path.join(self.checkpoints, f"step-{step}", "manifest.json")
                self.seen_checkpoints.setdefault((step, os.path.getmtime(manifest)), None)
            except OSError:
                continue  # removed meanwhile

    # -- the run --

    def run(self):
        events = events_of(self.rng, self.options.events, self.options.steps, self.options.kinds)
        count = len(events)
        self.start_manager()
        last, moved = (0, 0), time.monotonic()
        while True:
            now = time.monotonic()
            for when, what in [each for each in self.pending if each[0] <= now]:
                self.pending.remove((when, what))
                what()
            if self.manager_runs and self.manager.poll() is not None:
                break
            reached = self.reached()
            if reached != last:
                if reached[0] != last[0]:
                    self.say(f"generation {reached[0]} has done step {reached[1] - 1}")
                    if self.waiting_since and reached[0] > self.waiting_since[1]:
                        self.answers.append(now - self.waiting_since[0])
                        self.waiting_since = None
                last, moved = reached, now
            if self.disk_is_full:
                self.mark_full_disk()
            self.see_checkpoints()
            if now - moved > PATIENCE:
                raise AssertionError(f"no new step within {PATIENCE} s")
            for event in events:
                if event.due is None and reached[1] >= event.step:
                    event.due = now + event.delay
            # One that finds nothing to hit waits until there is something.
            events = [event for event in events
                      if event.due is None or event.due > now or not self.happen(event)]
            self.ports |= listening_ports([p[0] for p in marked(self.folder)] if now % 1 < 0.05
                                          else [])
            time.sleep(0.03)
        self.disk.free()
        self.say(f"the manager has ended with exit code {self.manager.returncode}; "
                 f"{count - len(events)} of {count} events happened")
        assert self.manager.returncode == 0, "the manager failed"
        self.count_happened = count - len(events)
        # Those whose time came after the end do not count, nor those that need a machine that comes
        # or stays where there was none: some are about to go at the end of every other run.
        left = [str(event) for event in events if event.kind not in NEED_MACHINES
                and (event.due is None or event.due < time.monotonic())]
        assert not left, f"events that found nothing to hit: {left}"
        assert len(events) <= max(2, count // 10), f"{len(events)} of {count} did not happen"

    # -- afterwards --

    def check(self):
        self.check_losses()
        self.check_samples()
        self.check_lost_steps()
        self.check_decisions()
        self.check_nothing_is_left()

    def check_losses(self):
        whole = steps_in(self.path("alone.jsonl"))
        losses = {}
        for generation in self.generations():
            losses.update(steps_in(self.log_of(generation)))
        assert sorted(losses) == list(range(self.options.steps)), "steps are missing"
        self.worst = max(abs(losses[step] - whole[step]) / abs(whole[step]) for step in whole)
        assert self.worst <= TOLERANCE, f"losses differ by {self.worst}"
        # Steps that were done again gave the same.
        for generation in self.generations():
            for step, loss in steps_in(self.log_of(generation)).items():
                assert abs(loss - whole[step]) <= TOLERANCE * abs(whole[step]), \
                    f"step {step} of generation {generation}"

    def check_samples(self):
        """Which samples a step takes shows in its loss; how many, in the last checkpoint."""
        read = [json.load(open(os.path.join(folder, f"step-{self.options.steps}", "manifest.json"),
                               encoding="utf-8"))
                for folder in (self.checkpoints, self.path("alone"))]
        for key in ("samples", "data"):
            assert read[0][key] == read[1][key], f"{key}: {read[0][key]}, not {read[1][key]}"
        assert read[0]["samples"] == self.options.steps * BATCH, read[0]["samples"]

    def check_lost_steps(self):
        """Between each generation with steps and the next; and none begins before the newest
        checkpoint that was there, and whole, when it was started."""
        self.lost = self.lost_with_notice = self.lost_with_copies = 0
        steps = {g: steps_in(self.log_of(g)) for g in self.generations()}
        starts = [line for line in self.decisions() if line["decision"] == "start"]
        started = {line["generation"]: seconds_of(line["at"]) for line in starts}
        machines = {line["generation"]:
                    re.search(r" on (\S+(?:, \S+)*), from", line["reason"])[1].split(", ")
                    for line in starts}
        # A line of a step that the generation before could not log is none of its own.
        ran = [g for g in steps if any(step >= begin_of(self.log_of(g)) for step in steps[g])]
        begins = {}
        for g in ran:
            whole = [step for (step, complete), damaged in self.seen_checkpoints.items()
                     if complete < started[g] and (damaged is None or damaged > started[g])]
            begins[g] = begin_of(self.log_of(g))
            assert begins[g] >= max(whole, default=0), \
                f"generation {g} begins at {begins[g]} and not at {max(whole)}"
        for before, after in zip(ran, ran[1:]):
            ahead = begins[after] - 1 - max(steps[before])
            # One step may be ahead of a log that a lost rank could not write any more: `after` has
            # its line. That no step is missing in all logs together was looked at before.
            assert ahead <= (1 if begins[after] - 1 in steps[after] else 0), \
                f"generation {after} leaves out steps"
            lost = max(0, -ahead)
            hits = [hit for g in range(before, after) for hit in self.unannounced.get(g, [])]
            self.lost += lost
            if not hits:
                self.lost_with_notice += lost
                assert lost == 0, f"{lost} steps lost behind generation {before}, of which every " \
                                  f"change was announced"
            # One machine is one rank here, and another has a copy of what it held.
            one = len(hits) == 1 and hits[0][1] in ONE_RANK and len(machines[before]) > 1
            if self.options.mirror and one:
                self.lost_with_copies += lost
                assert lost == 0, f"{lost} steps lost behind generation {before}, which lost one " \
                                  f"rank that another kept a copy of: {hits[0][1]}"

    def decisions(self):
        with open(os.path.join(self.run_folder, "decisions.jsonl"), encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def check_decisions(self):
        lines = self.decisions()
        for line in lines:
            assert line["decision"] and len(line["reason"]) > 10 and line["event"], line
        started = {line["generation"] for line in lines if line["decision"] == "start"}
        assert started == set(self.generations()), "a generation without a decision to start it"
        self.decided = len(lines)
        # As the manager saw and foresaw it: from the end of a generation to the next first step.
        self.foreseen, self.foreseen_alone = [], []
        for line in lines:
            if line["decision"] == "measure":
                reason = line["reason"]
                took = re.match(r"The first step was done ([\d.]+) (\w+) after", reason)
                expected = re.search(r"; ([\d.]+) (\w+) were expected", reason)
                pair = tuple(float(found[1]) * UNITS[found[2]] for found in (took, expected))
                self.foreseen.append(pair)
                self.foreseen_alone.append(self.was_alone(seconds_of(line["at"]), pair[0]))

    def was_alone(self, end, took):
        """Whether no event came while the change was under way, but the one that it began with: a
        rank that is stopped is noticed up to ten seconds later."""
        return not any(end - took < when < end for when in self.happened)

    def check_nothing_is_left(self):
        deadline = time.monotonic() + 10
        while marked(self.folder) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not marked(self.folder), f"processes are left: {marked(self.folder)}"
        left = [port for port in self.ports if is_listened_on(port)]
        assert not left, f"ports are left: {left}"

    def clear(self):
        if self.manager and self.manager.poll() is None:
            self.manager.kill()
            self.manager.wait()
        for process in marked(self.folder):
            hit(process[0], signal.SIGKILL)
        self.cloud.server.shutdown()
        self.disk.unmount()

    def foresight(self):
        """Of the changes that the manager foresaw, without those before it had seen three."""
        pairs = self.foreseen[3:]
        if not pairs:
            return "none foreseen"
        off = sorted(abs(took - expected) / took for took, expected in pairs)
        near = sum(1 for one in off if one <= 0.2)
        took, expected = (sum(times) for times in zip(*pairs))
        alone = [abs(took - expected) <= 0.2 * took
                 for (took, expected), is_alone in zip(pairs, self.foreseen_alone[3:]) if is_alone]
        return (f"foreseen {expected / len(pairs):.2f} s in the mean, measured "
                f"{took / len(pairs):.2f} s, median error {100 * off[len(off) // 2]:.0f} %, "
                f"{near} of {len(pairs)} within 20 %, {sum(alone)} of {len(alone)} during which "
                f"nothing else happened")

    def summary(self):
        answers = sorted(self.answers)
        middle = answers[len(answers) // 2] if answers else 0.0
        return (f"seed {self.options.seed}: {self.count_happened} events, "
                f"{len(self.generations())} generations, {self.managers} managers, "
                f"{self.lost} steps done again ({self.lost_with_notice} after notices), losses "
                f"within {self.worst:.0e}, {self.decided} decisions, median {middle:.1f} s from "
                f"an event to the first new step; {self.foresight()}; {time.monotonic() - self.began:.0f} s in all")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("penstock")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--events", type=int, default=60)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--mirror", action="store_true", help="ranks keep copies of each other")
    parser.add_argument("--types", action="store_true", help="machines of two device types")
    parser.add_argument("--only", help="kinds of events, with commas")
    parser.add_argument("--keep", help="a new folder in which everything stays")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    options.kinds = options.only.split(",") if options.only else list(KINDS)
    options.penstock = os.path.abspath(options.penstock)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or temporary
        os.makedirs(folder, exist_ok=True)
        chaos = Chaos(options.penstock, os.path.abspath(folder), options)
        try:
            chaos.prepare()
            chaos.run()
            chaos.check()
            print(chaos.summary())
        except Exception:
            print("\n".join(chaos.history), file=sys.stderr)
            for name in ("manager.txt", "run/decisions.jsonl"):
                if os.path.exists(chaos.path(name)):
                    with open(chaos.path(name), encoding="utf-8", errors="replace") as file:
                        print(f"--- {name}\n" + file.read()[-6000:], file=sys.stderr)
            raise
        finally:
            chaos.clear()
    return 0


if __name__ == "__main__":
    sys.exit(main())
