"""A kept launch on a GPU.

python -m tests.outside.packed TIMES FILE CUBIN [FILE CUBIN …]    launches each, so many times, and prints what came of
it as JSON: a race shows in one order of threads and hides in another
"""

import base64
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tutorlib.measuring.driver import done, prepare
from tutorlib.simulate.kept import KeptLaunch, Memory
from tutorlib.simulate.ptx.launch import relocate


def launch(packed: KeptLaunch, cubin: bytes) -> list[bytes]:
    """On the GPU of the current context: the memory afterwards. Raises RuntimeError on an error of the driver."""
    from cuda.bindings import driver

    function = done(driver.cuModuleGetFunction(done(driver.cuModuleLoadData(cubin)), packed.kernel.encode()))
    pieces = [one.piece for one in packed.memory]
    there = [int(done(driver.cuMemAlloc(len(one.bytes)))) for one in pieces]
    moves = [(one.start, len(one.bytes), address) for one, address in zip(pieces, there, strict=True)]
    parameters = np.frombuffer(bytearray(base64.b64decode(packed.parameters)), np.uint8)
    relocate(parameters, moves)
    for one, address in zip(pieces, there, strict=True):
        if one.pointers:
            relocate(one.bytes, moves)
        done(driver.cuMemcpyHtoD(address, one.bytes.ctypes.data, len(one.bytes)))
    prepare(function, packed.config, parameters.tobytes(), tuple(packed.offsets), stream=lambda: 0)()
    done(driver.cuCtxSynchronize())
    back = [(address, size, start) for start, size, address in moves]
    contents = []
    for one, address in zip(pieces, there, strict=True):
        after = np.empty(len(one.bytes), np.uint8)
        done(driver.cuMemcpyDtoH(after.ctypes.data, address, len(after)))
        if one.pointers:
            relocate(after, back)
        contents.append(after.tobytes())
        done(driver.cuMemFree(address))
    return contents


def distance(packed: KeptLaunch, found: list[bytes]) -> dict[str, Any]:
    """How far memory is from what the simulator left there, over the tensors that it changed.

    elements: of these tensors. differ: how many differ in a bit, but for the sign of zero. steps: the most by which
    one does, in steps of its type.
    """
    elements = differ = steps = 0
    for one, contents in zip(packed.memory, found, strict=True):
        apart = np.abs(ordinals(one, contents) - ordinals(one, base64.b64decode(one.after)))
        elements += len(apart) if one.after != one.before else 0
        differ += int((apart > 0).sum())
        steps = max(steps, int(apart.max(initial=0)))
    return {"elements": elements, "differ": differ, "steps": steps}


def digest(found: list[bytes]) -> str:
    """Of all memory."""
    return hashlib.sha256(b"".join(found)).hexdigest()[:16]


def ordinals(one: Memory, contents: bytes) -> np.ndarray:
    """Integers that follow one another as the type's numbers do."""
    numbers = np.frombuffer(contents, f"i{one.width}").astype(np.int64)
    return np.where(numbers < 0, -(1 << 8 * one.width - 1) - numbers, numbers) if one.floats else numbers


def main(times: str, *files: str) -> None:
    from cuda.bindings import driver

    done(driver.cuInit(0))
    done(driver.cuCtxSetCurrent(done(driver.cuDevicePrimaryCtxRetain(done(driver.cuDeviceGet(0))))))
    for file, cubin in zip(files[::2], files[1::2], strict=True):
        packed = KeptLaunch.read(Path(file))
        try:
            found = [launch(packed, Path(cubin).read_bytes()) for _ in range(int(times))]
            result = distance(packed, found[0]) | {"digests": sorted(set(map(digest, found)))}
        except RuntimeError as error:
            result = {"error": str(error)}
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
