import os
import signal
import sys
import threading
import time

import pytest

from tasks.training.seeds import (
    Worker,
    available_cores,
    existing_runs,
    parse_seeds,
    run_workers,
    seed_folder,
    share_cores,
)
from zoo.errors import UserError


def worker(seed, program, threads=1):
    return Worker(seed, [sys.executable, "-c", program], threads)


def test_seeds_are_whole_numbers_each_once():
    assert parse_seeds("3, 1,2") == [3, 1, 2]
    assert parse_seeds("4294967295") == [4294967295]


@pytest.mark.parametrize("text", ["", "x", "1,", "1,-2", "1.5", "1-3", "4294967296", "\u0661"])
def test_other_texts_are_no_seeds(text):
    with pytest.raises(UserError, match="allowed: whole numbers from 0 to 4294967295, such as 1,2,3"):
        parse_seeds(text)


@pytest.mark.parametrize("text", ["1,1", "1,2,01"])
def test_no_seed_twice(text):
    with pytest.raises(UserError, match="with 1 more than once"):
        parse_seeds(text)


@pytest.mark.parametrize(
    ("seeds", "jobs", "threads", "cores", "most", "expected"),
    [
        (3, None, None, 2, 2, (2, 1)),
        (3, None, None, 8, 8, (3, 2)),
        (3, None, None, 8, 1, (3, 1)),  # OMP_NUM_THREADS=1: a single run would have one thread
        (5, 2, None, 8, 8, (2, 4)),
        (5, None, 3, 8, 8, (2, 3)),
        (1, None, None, 8, 4, (1, 4)),
        (2, 8, 1, 8, 8, (2, 1)),
        (2, None, 8, 8, 1, (1, 8)),
    ],
)
def test_runs_share_the_cores_without_a_core_for_two(seeds, jobs, threads, cores, most, expected):
    result = share_cores(seeds, jobs, threads, cores=cores, most=most)
    assert result == expected
    assert result[0] * result[1] <= cores


def test_more_than_the_cores_is_an_error():
    with pytest.raises(UserError, match="--jobs is 3; allowed: 1 to 2"):
        share_cores(3, 3, None, cores=2, most=2)
    with pytest.raises(UserError, match="--threads 2 and --jobs 2 need 4 cores, more than the 2 here"):
        share_cores(3, 2, 2, cores=2, most=2)
    with pytest.raises(UserError, match="--threads 3 need 3 cores"):
        share_cores(3, None, 3, cores=2, most=2)


def test_a_failure_is_told_and_the_others_end(capsys):
    workers = [
        worker(1, "import sys; print('working', end='\\r', file=sys.stderr); print('done', file=sys.stderr)"),
        worker(2, "import sys; print('error: no luck', file=sys.stderr); sys.exit(1)"),
        worker(3, "import os; os.kill(os.getpid(), 9)"),
        worker(4, "import os; assert os.environ['OMP_NUM_THREADS'] == '7'", threads=7),
    ]
    assert run_workers(workers, 2) == 0
    assert [worker.status for worker in workers] == [0, 1, -9, 0]
    assert [worker.seed for worker in workers if worker.failed] == [2, 3]
    assert [worker.failure for worker in workers[1:3]] == ["no luck", "ended by signal 9"]
    printed = capsys.readouterr().err.splitlines()
    assert sorted(printed) == ["seed 1: done", "seed 1: working", "seed 2: error: no luck"]


def test_no_more_at_a_time_than_asked_for(tmp_path):
    program = "import os, time; open('{0}-begun', 'w'); time.sleep(0.2); print(time.time()); open('{0}-ended', 'w')"
    workers = [worker(seed, program.format(tmp_path / str(seed))) for seed in (1, 2, 3)]
    run_workers(workers, 1)
    begun = [(tmp_path / f"{seed}-begun").stat().st_mtime_ns for seed in (1, 2, 3)]
    ended = [(tmp_path / f"{seed}-ended").stat().st_mtime_ns for seed in (1, 2, 3)]
    assert begun[1] > ended[0]
    assert begun[2] > ended[1]


def test_a_signal_stops_all_and_those_that_wait_never_start(tmp_path):
    program = (
        "import pathlib, signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(143));"
        "pathlib.Path(r'{}').touch(); time.sleep(60)"
    )
    paths = [tmp_path / str(seed) for seed in (1, 2, 3)]
    workers = [worker(seed, program.format(path)) for seed, path in enumerate(paths, 1)]

    def interrupt():
        deadline = time.monotonic() + 30
        while not all(path.exists() for path in paths[:2]) and time.monotonic() < deadline:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    assert run_workers(workers, 2) == signal.SIGINT
    assert [worker.status for worker in workers] == [143, 143, None]
    assert not any(worker.failed for worker in workers)
    assert not paths[2].exists()


def test_only_runs_that_are_there_are_resumed(tmp_path):
    (seed_folder(tmp_path, 2)).mkdir()
    (seed_folder(tmp_path, 2) / "arguments.json").write_text("{}")
    assert existing_runs(tmp_path, [1, 2], resume=True) == {2}
    assert existing_runs(tmp_path, [1, 3], resume=False) == set()
    with pytest.raises(UserError, match="seed-2 already holds a run"):
        existing_runs(tmp_path, [1, 2], resume=False)
    with pytest.raises(UserError, match="holds none of these runs to resume"):
        existing_runs(tmp_path, [1, 3], resume=True)
    (tmp_path / "arguments.json").write_text("{}")
    with pytest.raises(UserError, match="holds a single run"):
        existing_runs(tmp_path, [1], resume=False)


def test_there_is_a_core():
    assert available_cores() >= 1
