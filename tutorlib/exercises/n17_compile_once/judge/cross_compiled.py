"""Trials of an answer that saves a kernel for GPUs which this machine need not have: the files' bytes are read."""

import struct
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tutorlib.checking.compile_calls import counted_compilations, options_kept
from tutorlib.checking.served import Served
from tutorlib.exercises.n17_compile_once.judge.trials import raised
from tutorlib.failure import FailureKind, Flaw
from tutorlib.problems.wrong import count

ELF = b"\x7fELF"
MACHINE, CUDA = slice(18, 20), (190).to_bytes(2, "little")  # e_machine of a cubin
LARGEST = 2**24  # bytes of an object file
OPTIMIZED = 640  # bytes of instructions: ptxas makes at most 512 of `double`, and 768 to 1,024 without optimizing
EXECUTABLE = 4  # a flag of a section


class TargetFlaw(FailureKind):
    """What is wrong with a kernel's files."""

    NO_FILE = "no such file"
    NO_KERNEL = "no kernel in it"
    TARGET = "another target"
    NO_FUNCTION = "no function of this name"
    MORE_FILES = "more files"
    COMPILED = "compiled several times"
    SLOW = "not optimized"


# In the answer's process ----------------------------------------------------------------------------------------------


def told_of_files(answer: Served, targets: list[str], name: str) -> dict[str, Any]:
    """The files that it writes for `double`: their names and bytes; and how many compilations that takes."""
    from cutlass.cute.runtime import make_fake_stream

    from tutorlib.compiling.spec import TensorSpec
    from tutorlib.kernels.doubling import double

    vector = TensorSpec((1024,), dynamic=True).fake
    with tempfile.TemporaryDirectory() as around, options_kept(), counted_compilations() as counts:
        folder = Path(around)
        try:
            answer(targets, folder, name, double, vector(), vector(), make_fake_stream())
        except Exception as error:
            return {"said": raised("it", error), "files": {}, "compiled": 0}
        there = [path for path in folder.rglob("*") if path.is_file() and path.stat().st_size < LARGEST]
        files = {str(path.relative_to(folder)): path.read_bytes() for path in there}
        return {"said": "", "files": files, "compiled": counts["compile"]}


# In the judge's process -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ForTargets:
    """A trial: one kernel under a name, for these targets."""

    targets: tuple[str, ...]
    name: str

    def __call__(self, served: Served) -> str:
        match served.ask(told_of_files, [*self.targets], self.name):
            case {"said": str(said)} if said:
                return said
            case {"files": dict(files), "compiled": int(compiled)}:
                return self.wrong_files(files) or self.too_often(compiled)
        return "it should write files."

    def too_often(self, compiled: int) -> str:
        if compiled <= len(self.targets):
            return ""
        what = f"{count(compiled, 'compilation')} for {count(len(self.targets), 'target')}; one for each is enough."
        return Flaw(what, TargetFlaw.COMPILED)

    def wrong_files(self, files: dict[str, Any]) -> str:
        there = ", ".join(sorted(files)) or "nothing"
        for target in self.targets:
            file = f"{self.name}.{target}.o"
            if not isinstance(raw := files.get(file), bytes):
                return Flaw(f"there is no {file} in the folder, but {there}.", TargetFlaw.NO_FILE)
            if not (cubin := cubin_in(raw)):
                return Flaw(f"{file} holds no kernel for a GPU.", TargetFlaw.NO_KERNEL)
            if not is_for(cubin, target):
                what = f"the kernel in {file} is not compiled for {target}, but for {number_of(cubin)}."
                return Flaw(what, TargetFlaw.TARGET)
            if (size := code_size(cubin)) > OPTIMIZED:
                what = (
                    f"the kernel in {file} has {size:,} bytes of instructions; optimized, it has at most {OPTIMIZED}."
                )
                return Flaw(what, TargetFlaw.SLOW)
            if f"__tvm_ffi_{self.name}\0".encode() not in raw:
                what = f"load_module({file!r}, enable_tvm_ffi=True) finds no function {self.name} in it."
                return Flaw(what, TargetFlaw.NO_FUNCTION)
        if len(files) > len(self.targets):
            what = f"there are {count(len(files), 'file')} for {count(len(self.targets), 'target')}: {there}."
            return Flaw(what, TargetFlaw.MORE_FILES)
        return ""


def cubin_in(raw: bytes) -> bytes:
    """What an object file holds for the GPU, or b""."""
    at = raw.find(ELF, 1)
    while at >= 0:
        if raw[at:][MACHINE] == CUDA:
            return raw[at:]
        at = raw.find(ELF, at + 1)
    return b""


def code_size(cubin: bytes) -> int:
    """Bytes of the sections that hold instructions. Raises struct.error."""
    (table,), (entry, number) = struct.unpack_from("<Q", cubin, 40), struct.unpack_from("<HH", cubin, 58)
    sections = (struct.unpack_from("<8xQ16xQ", cubin, table + n * entry) for n in range(number))
    return sum(size for flags, size in sections if flags & EXECUTABLE)


def is_for(cubin: bytes, target: str) -> bool:
    """By the number in its head and, as this has no room for the letter, by the name that ptxas leaves in it."""
    return number_of(cubin) == target.rstrip("af") and target.encode() + b"\0" in cubin.replace(b" ", b"\0")


def number_of(cubin: bytes) -> str:
    """e_flags: bits 8 to 15 are the architecture."""
    return f"sm_{cubin[49]}"


TARGETS: tuple[tuple[str, Callable[[Served], str]], ...] = (
    ("three targets", ForTargets(("sm_80", "sm_90a", "sm_100a"), "double")),
    ("another name", ForTargets(("sm_120a",), "twice")),
)
