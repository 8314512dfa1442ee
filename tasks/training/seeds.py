"""Runs that differ in nothing but the seed, as processes side by side that share the cores of the machine."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from signal import SIGTERM
from threading import Lock

from tasks.training.checkpoints import RunFolder
from tasks.training.signals import Signals
from zoo.errors import UserError

LARGEST = 2**32 - 1
PATIENCE = 0.2  # seconds until a signal is passed on


def parse_seeds(text: str) -> list[int]:
    """`1,2,3` as numbers. Raises UserError for anything else, and for a seed that is there twice."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdecimal() and int(part) <= LARGEST for part in parts):
        raise UserError(f"--seeds is {text!r}; allowed: whole numbers from 0 to {LARGEST}, such as 1,2,3.")
    seeds = [int(part) for part in parts]
    for seed in seeds:
        if seeds.count(seed) > 1:
            raise UserError(f"--seeds is {text!r}, with {seed} more than once; give each seed once, such as 1,2,3.")
    return seeds


def available_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def share_cores(seeds: int, jobs: int | None, threads: int | None, *, cores: int, most: int) -> tuple[int, int]:
    """(processes at a time, threads of each), for `seeds` runs on `cores`, so that no core has two threads.

    jobs, threads: as given, or None; most: the threads of a single run that is given none.
    Raises UserError if what is given does not fit the cores.
    """
    if jobs is not None and jobs > cores:
        raise UserError(f"--jobs is {jobs}; allowed: 1 to {cores}, the cores that can be used here.")
    if threads is not None and threads * (jobs or 1) > cores:
        given = f"--threads {threads}" + (f" and --jobs {jobs}" if jobs else "")
        raise UserError(f"{given} need {threads * (jobs or 1)} cores, more than the {cores} here; give smaller ones.")
    jobs = min(seeds, jobs or cores // (threads or 1))
    return jobs, threads or max(1, min(most, cores // jobs))


def seed_folder(output: Path, seed: int) -> Path:
    return output / f"seed-{seed}"


def existing_runs(output: Path, seeds: list[int], *, resume: bool) -> set[int]:
    """The seeds that have a run, which is to go on; the others begin.

    Raises UserError if runs would be overwritten, or if there is none to resume.
    """
    if (output / "arguments.json").exists():
        raise UserError(f"{output} holds a single run. Choose another --output for --seeds.")
    folders = {seed: seed_folder(output, seed) for seed in seeds}
    there = {seed for seed, folder in folders.items() if resume and (folder / "arguments.json").exists()}
    if resume and not there:
        raise UserError(f"{output} holds none of these runs to resume. Leave out --resume to start them there.")
    for seed, folder in folders.items():
        RunFolder(folder).check({}, resume=seed in there)
    return there


class Worker:
    """The process of one seed. What it writes to standard error is passed on line by line, under its name."""

    def __init__(self, seed: int, command: list[str], threads: int) -> None:
        self.seed = seed
        self.status: int | None = None  # None: not started, or not ended
        self.error = ""  # the last line of the kind `error: ...`
        self._command = command
        self._environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
        self._process: subprocess.Popen[str] | None = None
        self._lock = Lock()
        self._stopped = False

    def run(self) -> None:
        """Starts the process, unless `stop` was called before, and waits for its end."""
        with self._lock:
            if self._stopped:
                return
            # A session of its own: Ctrl-C reaches it only through `stop`, and so once.
            self._process = subprocess.Popen(
                self._command,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                env=self._environment,
                start_new_session=True,
            )
        assert self._process.stderr is not None
        for line in self._process.stderr:  # the parts of a progress bar, which end in \r, are lines here
            text = line.strip()
            if text:
                print(f"seed {self.seed}: {text}", file=sys.stderr, flush=True)
            if text.startswith("error: "):
                self.error = text.removeprefix("error: ")
        self.status = self._process.wait()

    def stop(self) -> None:
        """Has the process save its state and end; it never starts if it has not yet."""
        with self._lock:
            if not self._stopped and self._process is not None:
                self._process.terminate()  # training saves at it; before training it ends without a traceback
            self._stopped = True

    @property
    def failed(self) -> bool:
        """Whether the process ended by an error, not at its end or by `stop`."""
        stopped = (128 + SIGTERM, -SIGTERM) if self._stopped else ()
        return self.status not in (None, 0, *stopped)

    @property
    def failure(self) -> str:
        """The error of a process that failed, in words."""
        return self.error or (f"ended by signal {-self.status}" if self.status and self.status < 0 else "see above")


def run_workers(workers: list[Worker], jobs: int) -> int:
    """Runs all, `jobs` at a time, and returns the number of the signal that stopped them all, or 0.

    A process that fails leaves the others alone.
    """
    with Signals() as signals, ThreadPoolExecutor(jobs) as pool:
        pending = {pool.submit(worker.run) for worker in workers}
        while pending:
            done, pending = wait(pending, timeout=PATIENCE)
            for future in done:
                future.result()  # raises what kept a process from starting
            if signals.received:
                for worker in workers:
                    worker.stop()
        return signals.received
