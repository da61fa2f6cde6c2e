"""Arguments named on the command line: tensors by shape and dtype, and numbers."""

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tutorlib.simulate.bad_input import BadInput
from tutorlib.simulate.poison import poison

if TYPE_CHECKING:
    from torch import Generator, Tensor, dtype

DTYPES = {
    "fp64": "float64",
    "fp32": "float32",
    "fp16": "float16",
    "bf16": "bfloat16",
    "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2",
    "int64": "int64",
    "int32": "int32",
    "int16": "int16",
    "int8": "int8",
    "uint8": "uint8",
    "bool": "bool",
}
FILLS = ("out", "zeros", "col")
TENSOR = re.compile(r"(?P<shape>\d+(?:x\d+)*):(?P<dtype>\w+)(?P<marks>(?::\w+)*)")
INTEGERS = 8  # random ones are 0 … 7
EXAMPLE = "--arg 128x64:bf16 is a random tensor, --arg 128x64:bf16:out one that the kernel writes, --arg 128 a number"


@dataclass(frozen=True)
class Given:
    """An argument.

    value: a tensor, or a number. is_output: whether the kernel is to write all of the tensor, which begins as poison.
    """

    value: Any
    is_output: bool = False


def parse_argument(text: str, generator: "Generator") -> Given:
    """ "128x64:bf16", a tensor of random numbers, with marks after it; or a Python literal such as 128, 0.5 or True.

    Marks: "out": what the kernel writes; "zeros"; "col": the first mode is contiguous instead of the last.
    Raises BadInput.
    """
    found = TENSOR.fullmatch(text)
    if not found:
        try:
            return Given(ast.literal_eval(text))
        except (ValueError, SyntaxError):
            raise BadInput(f"--arg {text}: {EXAMPLE}") from None
    marks = found["marks"].split(":")[1:]
    if found["dtype"] not in DTYPES:
        raise BadInput(f"--arg {text}: there is no dtype {found['dtype']}; there are {', '.join(DTYPES)}")
    if unknown := next((mark for mark in marks if mark not in FILLS), ""):
        raise BadInput(f"--arg {text}: there is no mark {unknown}; there are {', '.join(FILLS)}")
    import torch

    shape = tuple(map(int, found["shape"].split("x")))
    if "col" in marks:
        shape = shape[::-1]
    kind = getattr(torch, DTYPES[found["dtype"]])
    if "out" in marks:
        poison(tensor := torch.empty(shape, dtype=kind))
    elif "zeros" in marks:
        tensor = torch.zeros(shape, dtype=kind)
    else:
        tensor = random(shape, kind, generator)
    return Given(tensor.permute(*reversed(range(tensor.ndim))) if "col" in marks else tensor, "out" in marks)


def parse_sizes(option: str, text: str) -> tuple[int, ...]:
    """ "8x4" as (8, 4); "" as (). Raises BadInput."""
    if not re.fullmatch(r"(\d+(x\d+){0,2})?", text):
        raise BadInput(f"{option} {text}: one to three sizes, as {option} 8x4")
    return tuple(map(int, text.split("x"))) if text else ()


def random(shape: tuple[int, ...], kind: "dtype", generator: "Generator") -> "Tensor":
    """Normally distributed, or small integers."""
    import torch

    if kind.is_floating_point:
        return torch.randn(shape, generator=generator).to(kind)
    return torch.randint(0, 2 if kind is torch.bool else INTEGERS, shape, generator=generator).to(kind)
