"""The opcodes of a module, and which of them the simulator knows."""

from typing import Any
from unittest import mock

from tutorlib.simulate.ptx import schedule
from tutorlib.simulate.ptx.arena import Arena
from tutorlib.simulate.ptx.findings import NotSimulated
from tutorlib.simulate.ptx.ir import Instruction, Kernel, Module
from tutorlib.simulate.ptx.simulation import Launch, module_sizes, simulate
from tutorlib.simulate.ptx.state import State

BLOCK = (128, 1, 1)  # threads, where a kernel does not say


class Decoded(Exception):
    """All of a kernel's instructions were looked at."""


def opcodes_of(module: Module) -> dict[str, bool]:
    """Each opcode with all its suffixes: whether the simulator decodes it wherever it stands."""
    known = {i.opcode: True for kernel in module.kernels.values() for i in kernel.instructions}
    for kernel in module.kernels.values():
        known |= dict.fromkeys(unknown_of(module, kernel), False)
    return known


def unknown_of(module: Module, kernel: Kernel) -> set[str]:
    unknown: set[str] = set()
    decode = schedule.decode

    def noting(instruction: Instruction, site: int, state: State) -> Any:
        try:
            return decode(instruction, site, state)
        except NotSimulated:
            unknown.add(instruction.opcode)
            return lambda where: None

    def decoded(*args: Any) -> None:
        raise Decoded

    launch = Launch(
        module, kernel, (1, 1, 1), kernel.threads or BLOCK, 0, bytes(kernel.parameter_bytes), lambda i: None
    )
    with mock.patch.object(schedule, "decode", noting), mock.patch.object(schedule.Scheduler, "run", decoded):
        try:
            simulate(launch, Arena(module_sizes(module)))
        except Decoded:
            pass
        except NotSimulated as error:  # what is looked at before an instruction is decoded
            unknown.add(str(error).split(" is not simulated")[0])
    return unknown
