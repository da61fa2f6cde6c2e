"""A launch in a file, with the memory that it reaches before and after: it is repeated without its script.

`tutor simulate --keep FOLDER` writes them, and `tutor simulate FILE.launch` simulates one again.
"""

import base64
import json
import lzma
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tutorlib.compiling.compiled import LaunchConfig
from tutorlib.simulate.ptx.findings import NamedMemory, SourceLine
from tutorlib.simulate.ptx.ir import Instruction
from tutorlib.simulate.ptx.launch import Piece, simulate_pieces, three
from tutorlib.simulate.ptx.parse import parse_ptx
from tutorlib.simulate.ptx.report import Report
from tutorlib.simulate.ptx.simulation import Launch

ENDING = ".launch"


@dataclass(frozen=True)
class Memory:
    """A `Piece`, its contents before and after in base64."""

    name: str
    start: int
    shape: Sequence[int]
    strides: Sequence[int]
    width: int
    floats: bool
    before: str
    after: str

    @property
    def piece(self) -> Piece:
        contents = np.frombuffer(bytearray(base64.b64decode(self.before)), np.uint8)
        return Piece(self.name, self.start, tuple(self.shape), tuple(self.strides), self.width, self.floats, contents)


@dataclass(frozen=True)
class KeptLaunch:
    """The launch of a kernel in a PTX text. parameters: as they lie in the parameter space; offsets: where each begins.

    places: of the PTX's lines with a source line, by number: file, line, text and callers. arch: of the GPU. names: of
        shared memory; name: of the kernel in the source. label, counts: added by a program that goes on with the file.
    """

    kernel: str
    ptx: str
    config: LaunchConfig
    parameters: str
    offsets: Sequence[int]
    memory: Sequence[Memory]
    places: dict[str, Sequence[Any]]
    arch: str
    names: Sequence[NamedMemory] = ()
    name: str = ""
    label: str = ""
    counts: dict[str, int] = field(default_factory=dict)

    def write(self, file: Path) -> None:
        file.write_bytes(lzma.compress(json.dumps(asdict(self)).encode()))

    @classmethod
    def read(cls, file: Path) -> "KeptLaunch":
        """Raises OSError, and ValueError where it is none."""
        try:
            data = json.loads(lzma.decompress(file.read_bytes()))
            config, memory = LaunchConfig(**data.pop("config")), [Memory(**one) for one in data.pop("memory")]
            return cls(config=config, memory=memory, names=[NamedMemory(**one) for one in data.pop("names")], **data)
        except (lzma.LZMAError, KeyError, TypeError) as error:
            raise ValueError(f"{file} has no launch that --keep wrote") from error


def kept_launch(launch: Launch, pieces: Sequence[Piece], before: Sequence[bytes], arch: str) -> KeptLaunch:
    """A launch that was simulated on these pieces. before: what was in them."""
    found = {str(instruction.line): launch.find(instruction) for instruction in launch.kernel.instructions}
    return KeptLaunch(
        *(launch.kernel.name, launch.module.text, launch.config, in_base64(launch.parameters)),
        offsets=[one.offset for one in launch.kernel.parameters],
        memory=[
            Memory(one.name, one.start, one.shape, one.strides, one.width, one.floats, *map(in_base64, contents))
            for one, *contents in zip(pieces, before, (piece.bytes.tobytes() for piece in pieces), strict=True)
        ],
        places={line: (at.file, at.line, at.text, at.called_from) for line, at in found.items() if at},
        arch=arch,
        names=launch.names,
        name=launch.name,
    )


def replay(kept: KeptLaunch, ptx: str = "") -> tuple[Report, list[Piece]]:
    """Simulate it again, or with another PTX: the report, and the memory afterwards. Raises as `simulate`."""
    module = parse_ptx(ptx or kept.ptx)

    def find(instruction: Instruction) -> SourceLine | None:
        file, line, text, callers = kept.places.get(str(instruction.line), ("", 0, "", ()))
        return SourceLine(file, line, text, tuple((name, number) for name, number in callers)) if file else None

    config, pieces = kept.config, [one.piece for one in kept.memory]
    sizes = three(config.grid), three(config.block), config.dynamic_smem, base64.b64decode(kept.parameters)
    flags = config.cooperative, config.overlapping, kept.names, kept.name
    launch = Launch(module, module.kernels[kept.kernel], *sizes, find, three(config.cluster), *flags)
    return simulate_pieces(launch, pieces), pieces


def in_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
