"""Compiled kernels: the C files beside this one, built when first used.

A kernel is built by the C compiler (`CC`, else cc) with its sizes as constants and kept in a cache folder, under a name
made of the source, the constants, the compiler and the processor; a second process finds it there. Without a compiler,
or where a build fails, one warning is given and the PyTorch form of the operation runs; so it does with
SYNTAX_ZOO_NATIVE=0, and in a checkpoint that is used without this package, since C files do not travel.
"""

import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
import warnings
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

FLAGS = (
    *("-O3", "-march=native", "-mtune=generic", "-ffp-contract=fast", "-fno-math-errno"),
    *("-fopenmp", "-shared", "-fPIC", "-std=gnu11"),
)
LANES = {torch.float32: 8, torch.float64: 4}  # 256 bits
CHECKED_SECONDS = 120
_warned = False


def wanted() -> bool:
    """Whether compiled kernels may be used."""
    return os.environ.get("SYNTAX_ZOO_NATIVE", "1") != "0"


def load(source: str, like: Tensor, **sizes: int) -> ctypes.CDLL | None:
    """The kernels of a C file for numbers like these and these sizes, or None where they cannot be had or used."""
    if like.device.type != "cpu" or like.dtype not in LANES or not like.numel() or not wanted():
        return None
    return _load(source, like.dtype, tuple(sorted(sizes.items())))


def pointer(tensor: Tensor) -> ctypes.c_void_p:
    """Address of a contiguous CPU tensor's numbers."""
    return ctypes.c_void_p(tensor.data_ptr())


@cache
def _load(source: str, dtype: torch.dtype, sizes: tuple[tuple[str, int], ...]) -> ctypes.CDLL | None:
    constants = [f"-D{name}={value}" for name, value in sizes]
    constants += [
        f"-DLANES={LANES[dtype]}",
        *(["-DREAL=double", "-DDOUBLE"] if dtype == torch.float64 else ["-DREAL=float"]),
    ]
    path = Path(__file__).with_name(source)
    try:
        return ctypes.CDLL(str(_build(path, constants)))
    except (OSError, subprocess.SubprocessError) as error:
        _warn(error)
        return None


def _warn(error: Exception) -> None:
    """Say why, once in a process: what stands in the way of one kernel does so for all."""
    global _warned
    if _warned:
        return
    _warned = True
    lines = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
    reason = lines[-1] if lines else type(error).__name__
    warnings.warn(
        f"compiled kernels cannot be used ({reason}); stacks and recurrent cells run in PyTorch, which is slower. "
        "SYNTAX_ZOO_NATIVE=0 hides this.",
        stacklevel=2,
    )


def _build(path: Path, constants: list[str]) -> Path:
    compiler = shlex.split(os.environ.get("CC") or "cc")
    if shutil.which(compiler[0]) is None:
        raise FileNotFoundError(f"no C compiler: {compiler[0]} is not installed")
    source = path.read_text(encoding="utf-8")
    key = "\n".join([source, *constants, *FLAGS, *compiler, _version(tuple(compiler)), _processor()])
    folder = cache_folder()
    target = folder / f"{path.stem}-{hashlib.sha256(key.encode()).hexdigest()[:24]}.so"
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as temporary:  # on the same disk, so that renaming is one step
            built = Path(temporary, target.name)
            command = [*compiler, *FLAGS, *constants, str(path), "-o", str(built), "-lm"]
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=CHECKED_SECONDS)
            os.replace(built, target)
    return target


def cache_folder() -> Path:
    """Where built kernels are kept: SYNTAX_ZOO_CACHE, else the user's cache folder."""
    own = os.environ.get("SYNTAX_ZOO_CACHE")
    base = Path(own) if own else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "syntax-zoo"
    return base / "native"


@cache
def _version(compiler: tuple[str, ...]) -> str:
    return subprocess.run(
        [*compiler, "--version"], check=True, capture_output=True, text=True, timeout=CHECKED_SECONDS
    ).stdout


@cache
def _processor() -> str:
    """What -march=native depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return "\n".join(
        sorted({line for line in lines if line.startswith(("model name", "flags", "Features", "CPU part"))})
    )
