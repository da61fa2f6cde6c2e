"""A launch that was simulated, with its memory before and after, so that a GPU can repeat it without its source.

python -m tests.outside.packed FILE CUBIN [FILE CUBIN …]    launches each of them, and prints what came of it as JSON

It is imported under compute-sanitizer hundreds of times, so it does without torch.
"""

import base64
import hashlib
import json
import lzma
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tutorlib.compiling.driver import LaunchConfig, done, prepare

POINTER_BYTES = 8


@dataclass(frozen=True)
class Memory:
    """One tensor's memory. start: its address where the launch was simulated. element: bytes.

    floats: whether its elements are floating-point. pointers: whether addresses of tensors may stand in it.
    """

    start: int
    element: int
    floats: bool
    pointers: bool
    before: bytes
    after: bytes


@dataclass(frozen=True)
class Packed:
    """A launch of the kernel in a PTX text. parameters: as they lie in the parameter space; offsets: where each begins.

    counts: the simulator's, by what it counts.
    """

    case: str
    kernel: str
    ptx: str
    config: LaunchConfig
    parameters: bytes
    offsets: tuple[int, ...]
    memory: tuple[Memory, ...]
    counts: dict[str, int]

    def write(self, file: Path) -> None:
        file.write_bytes(lzma.compress(json.dumps(asdict(self), default=in_base64).encode()))

    @classmethod
    def read(cls, file: Path) -> "Packed":
        data = json.loads(lzma.decompress(file.read_bytes()))
        memory = tuple(
            Memory(**one | {name: base64.b64decode(one[name]) for name in ("before", "after")})
            for one in data["memory"]
        )
        config = {name: tuple(value) if isinstance(value, list) else value for name, value in data["config"].items()}
        return cls(
            **data
            | {
                "config": LaunchConfig(**config),
                "parameters": base64.b64decode(data["parameters"]),
                "offsets": tuple(data["offsets"]),
                "memory": memory,
            }
        )


def in_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def words_of(data: np.ndarray) -> np.ndarray:
    return data[: len(data) // POINTER_BYTES * POINTER_BYTES].view(np.uint64)


def relocate(data: np.ndarray, moves: list[tuple[int, int, int]]) -> None:
    """Move pointers in place. moves: start, size and new start of each piece of memory."""
    words = words_of(data)
    before = words.copy()
    for start, size, new in moves:
        hit = (before >= start) & (before < start + size)
        words[hit] = before[hit] - np.uint64(start) + np.uint64(new)


def launch(packed: Packed, cubin: bytes) -> list[bytes]:
    """On the GPU of the current context: the memory afterwards. Raises RuntimeError on an error of the driver."""
    from cuda.bindings import driver

    function = done(driver.cuModuleGetFunction(done(driver.cuModuleLoadData(cubin)), packed.kernel.encode()))
    there = [int(done(driver.cuMemAlloc(len(one.before)))) for one in packed.memory]
    moves = [(one.start, len(one.before), address) for one, address in zip(packed.memory, there, strict=True)]
    parameters = np.frombuffer(bytearray(packed.parameters), np.uint8)
    relocate(parameters, moves)
    for one, address in zip(packed.memory, there, strict=True):
        contents = np.frombuffer(bytearray(one.before), np.uint8)
        if one.pointers:
            relocate(contents, moves)
        done(driver.cuMemcpyHtoD(address, contents.ctypes.data, len(contents)))
    prepare(function, packed.config, parameters.tobytes(), packed.offsets, stream=lambda: 0)()
    done(driver.cuCtxSynchronize())
    back = [(address, size, start) for start, size, address in moves]
    contents = []
    for one, address in zip(packed.memory, there, strict=True):
        after = np.empty(len(one.before), np.uint8)
        done(driver.cuMemcpyDtoH(after.ctypes.data, address, len(after)))
        if one.pointers:
            relocate(after, back)
        contents.append(after.tobytes())
        done(driver.cuMemFree(address))
    return contents


def distance(packed: Packed, found: list[bytes]) -> dict[str, Any]:
    """How far memory is from what the simulator left there, over the tensors that it changed.

    elements: of these tensors. differ: how many differ in a bit, but for the sign of zero. steps: the most by which
    one does, in steps of its type. digest: of all memory.
    """
    elements = differ = steps = 0
    for one, contents in zip(packed.memory, found, strict=True):
        apart = np.abs(ordinals(one, contents) - ordinals(one, one.after))
        elements += len(apart) if one.after != one.before else 0
        differ += int((apart > 0).sum())
        steps = max(steps, int(apart.max(initial=0)))
    digest = hashlib.sha256(b"".join(found)).hexdigest()[:16]
    return {"elements": elements, "differ": differ, "steps": steps, "digest": digest}


def ordinals(one: Memory, contents: bytes) -> np.ndarray:
    """Integers that follow one another as the type's numbers do."""
    numbers = np.frombuffer(contents, f"i{one.element}").astype(np.int64)
    return np.where(numbers < 0, -(1 << 8 * one.element - 1) - numbers, numbers) if one.floats else numbers


def main(*files: str) -> None:
    from cuda.bindings import driver

    done(driver.cuInit(0))
    done(driver.cuCtxSetCurrent(done(driver.cuDevicePrimaryCtxRetain(done(driver.cuDeviceGet(0))))))
    for file, cubin in zip(files[::2], files[1::2], strict=True):
        packed = Packed.read(Path(file))
        try:
            result = distance(packed, launch(packed, Path(cubin).read_bytes()))
        except RuntimeError as error:
            result = {"error": str(error)}
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
