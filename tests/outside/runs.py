"""Running cases, each in a process of its own that gets a limited time."""

import json
import multiprocessing
import os
import re
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.outside.cute import cute_on
from tests.outside.opcodes import opcodes_of
from tests.outside.pretended_gpu import PretendedGPU, pretended
from tests.outside.table import CAPABILITY, Case
from tests.outside.triton_driver import triton_on
from tutorlib.simulate.cutile import NotSimulated as NotInterpreted
from tutorlib.simulate.ptx.errors import CannotLaunch, NotSimulated

SECONDS = 240  # of one case


@dataclass
class Outcome:
    """What came of a case.

    outcome: "right", "wrong" (not torch's result) or "stops". why: of the last two. findings: sentences, each with its
    line. opcodes: whether the simulator knows them, by target.
    """

    source: str
    kernel: str
    target: str
    outcome: str
    why: str = ""
    launches: int = 0
    instructions: int = 0
    findings: list[str] = field(default_factory=list)
    seconds: float = 0.0
    opcodes: dict[str, dict[str, bool]] = field(default_factory=dict)


def apart(task: Callable[[], Any], seconds: float = SECONDS) -> Any:
    """What a task returns, as JSON has it, from a process that is forked: what this one has imported it has, too.

    Raises TimeoutError, and ChildProcessError where the process dies.
    """
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        process = multiprocessing.get_context("fork").Process(target=write_down, args=(task, result))
        process.start()
        process.join(seconds)
        if process.is_alive():
            process.kill()
            process.join()
            raise TimeoutError(f"not done in {seconds:.0f} s")
        if not result.exists():
            raise ChildProcessError("the process dies")
        return json.loads(result.read_text(encoding="utf-8"))


def write_down(task: Callable[[], Any], result: Path) -> None:
    os.chdir(result.parent)
    with (result.parent / "output").open("w") as output:
        for stream in (1, 2):
            os.dup2(output.fileno(), stream)
        returned = json.dumps(task())
    result.write_text(returned, encoding="utf-8")
    os._exit(0)  # without what compiled modules would do at the end


def run_apart(case: Case) -> Outcome:
    try:
        return Outcome(**apart(lambda: asdict(run_for_all(case))))
    except (TimeoutError, ChildProcessError) as error:
        return Outcome(case.source.name, case.name, case.target, "stops", str(error), seconds=SECONDS)


def run_for_all(case: Case) -> Outcome:
    outcome = run(case)
    for target in case.also:
        outcome.opcodes |= run(case, target).opcodes
    return outcome


def run(case: Case, only_compiled_for: str = "") -> Outcome:
    """In this process. only_compiled_for: a target for which launches are passed over."""
    target = only_compiled_for or case.target
    gpu = PretendedGPU(CAPABILITY[target], simulates=not only_compiled_for)
    outcome = Outcome(case.source.name, case.name, target, "right")
    started = time.monotonic()
    try:
        run_on(gpu, case, target)
        if not (gpu.modules or gpu.launches):
            outcome.outcome, outcome.why = "stops", "nothing is launched"
    except SystemExit as ended:
        if ended.code:
            outcome.outcome, outcome.why = "stops", f"exit status {ended.code}"
    except BaseException as error:
        traceback.print_exc()
        outcome.outcome, outcome.why = judged(error, bool(gpu.launches))
    outcome.seconds = round(time.monotonic() - started, 1)
    outcome.launches, outcome.instructions = gpu.launches, gpu.instructions
    outcome.findings = list(dict.fromkeys(gpu.findings))
    opcodes: dict[str, bool] = {}
    for module in gpu.modules.values():
        for opcode, known in opcodes_of(module).items():
            opcodes[opcode] = opcodes.get(opcode, True) and known
    outcome.opcodes = {target: opcodes} if opcodes else {}
    return outcome


def run_on(gpu: PretendedGPU, case: Case, target: str) -> None:
    with pretended(gpu), cute_on(gpu, target), triton_on(gpu) if find_spec("triton") else nullcontext():
        case.run(gpu)


def judged(error: BaseException, ran: bool) -> tuple[str, str]:
    chain: list[BaseException] = []
    while error is not None and error not in chain:
        chain.append(error)
        error = error.__cause__ or error.__context__  # type: ignore[assignment]
    for one in chain:
        if isinstance(one, NotSimulated | NotInterpreted | CannotLaunch):
            return "stops", str(one).replace(": this kernel needs a GPU", "")
    first = chain[0]
    lines = [line for line in re.sub(r"\x1b\[\d+m", "", str(first)).splitlines() if line.strip()]
    if isinstance(first, AssertionError) and ran:
        return "wrong", " ".join(lines[:3])
    return "stops", f"{type(first).__name__}: {' '.join(lines[:2])}"[:300]
