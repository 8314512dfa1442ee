"""Compiled kernels are built when first used, found again, and done without where they cannot be had."""

import multiprocessing
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.zoo.forms import in_pytorch, needs_compiler
from zoo import native
from zoo.stack_nondeterministic import nondeterministic_stack
from zoo.stack_superposition import superposition_stack
from zoo.stack_superposition_compiled import SOURCE

NUMBERS = torch.zeros(1)


def forget() -> None:
    """What a new process knows."""
    native._load.cache_clear()
    native._version.cache_clear()
    native._warned = False


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache, and a process that has built nothing yet."""
    monkeypatch.setenv("SYNTAX_ZOO_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CC", raising=False)
    forget()
    yield tmp_path / "cache" / "native"
    forget()


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Makes `CC` a script; returns the file to which it adds a line for each build."""

    def make(build: str) -> Path:
        log, script = tmp_path / "log", tmp_path / "compiler"
        log.touch()
        script.write_text(f'#!/bin/sh\ncase $1 in --version) echo 1.0; exit;; esac\necho build >> "{log}"\n{build}\n')
        script.chmod(0o755)
        monkeypatch.setenv("CC", str(script))
        return log

    return make


def both_stacks() -> list[Tensor]:
    """Readings of both stacks and the gradients of their actions, in float32."""
    generator = torch.Generator().manual_seed(0)
    logits, vectors = torch.randn(2, 6, 4, 10, generator=generator), torch.rand(2, 6, 3, generator=generator)
    actions = logits[:, :, 0, :3].softmax(-1).requires_grad_()
    logits.requires_grad_()
    found = []
    for inputs, readings in (
        (logits, nondeterministic_stack(logits, vectors, vectors[0, 0])),
        (actions, superposition_stack(actions, vectors)),
    ):
        found += [readings.detach(), *torch.autograd.grad(readings.square().sum(), inputs)]
    return found


def check_fallback(message: str) -> None:
    """One warning with this message, and the numbers of the PyTorch form."""
    with pytest.warns(UserWarning, match=message) as warned:
        found = both_stacks() + both_stacks()
    assert len(warned) == 1
    wanted = in_pytorch(both_stacks)()
    for one, other in zip(found, wanted * 2, strict=True):
        assert torch.equal(one, other)


@needs_compiler
def test_kernels_are_built_once_for_each_set_of_constants(folder: Path, compiler) -> None:
    log = compiler('exec cc "$@"')
    for _ in range(2):
        for numbers in (NUMBERS, NUMBERS.double()):
            for size in (1, 2):
                assert native.load(SOURCE, numbers, SIZE=size) is not None
        forget()
    assert len(log.read_text().split()) == 4
    assert len(list(folder.iterdir())) == 4, "four kernels and no leftovers"


@needs_compiler
def test_another_compiler_or_version_builds_anew(folder: Path, compiler) -> None:
    for number in (1, 2):
        log = compiler(f'exec cc "$@"  # {number}')
        script = log.with_name("compiler")
        script.write_text(script.read_text().replace("1.0", f"{number}.0"))
        forget()
        assert native.load(SOURCE, NUMBERS) is not None
    assert len(list(folder.iterdir())) == 2


def build_at_once(barrier: Barrier) -> None:
    barrier.wait()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        library = native.load(SOURCE, NUMBERS)
    sys.exit(library is None or library.stack_rows(2) != 2 + 3 * 3)


@needs_compiler
def test_two_processes_may_build_at_once(folder: Path, compiler) -> None:
    log = compiler('sleep 1; exec cc "$@"')
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(2)
    processes = [context.Process(target=build_at_once, args=(barrier,)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    assert len(log.read_text().split()) == 2, "each began before the other was done"
    assert len(list(folder.iterdir())) == 1


def test_without_a_compiler_one_warning_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "/nonexistent")
    check_fallback(r"no C compiler: /nonexistent is not installed\); stacks and recurrent cells run in PyTorch")


@pytest.mark.parametrize(
    ("build", "message"),
    [
        ("echo internal error: no luck >&2; exit 1", "internal error: no luck"),
        ("exit 1", "returned non-zero exit status 1"),
        ('while [ "$1" != -o ]; do shift; done; echo nonsense > "$2"', "cannot be used"),
    ],
)
def test_a_build_that_fails_gives_one_warning(compiler, build: str, message: str) -> None:
    compiler(build)
    check_fallback(message)


def test_a_compiler_that_cannot_say_its_version_gives_one_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "false")
    check_fallback("'--version'.* returned non-zero exit status 1")


def test_a_cache_folder_that_cannot_be_made_gives_one_warning(folder: Path, compiler) -> None:
    folder.parent.touch()
    log = compiler("exit 1")
    check_fallback("Not a directory")
    assert not log.read_text(), "nothing is built that could not be kept"


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_cache_folder_that_cannot_be_written_gives_one_warning(folder: Path, compiler) -> None:
    folder.mkdir(parents=True)
    folder.chmod(0o500)
    log = compiler("exit 1")
    check_fallback("Permission denied")
    assert not log.read_text(), "nothing is built that could not be kept"


def test_switched_off_is_silent(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setenv("SYNTAX_ZOO_NATIVE", "0")
    monkeypatch.setenv("CC", "/nonexistent")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        both_stacks()
    assert not folder.exists()
