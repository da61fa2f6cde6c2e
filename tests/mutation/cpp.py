"""Changes to the text of C++ kernels: masks dropped, barriers dropped, numbers and comparisons off by one."""

import re
from collections.abc import Iterator

from tests.mutation.mutant import Mutant

REPLACEMENTS = [  # pattern, what stands there instead, in words
    (r"\bload_masked\b", "load", "a load without its mask"),
    (r"\bstore_masked\b", "store", "a store without its mask"),
    (r"__syncthreads\(\);", ";", "without __syncthreads()"),
    (r"__syncwarp\([^)]*\);", ";", "without __syncwarp()"),
    (r"\batomicAdd\((&?[^,()]+(?:\([^)]*\))?), ", r"nonatomicAdd(\1, ", "not atomic"),
    (r"(?<![<\w=!])<(?![<=\w]*>)(?= )", "<=", "< → <="),
    (r"<=(?= )", "<", "<= → <"),
]
NUMBER = re.compile(r"(?<![\w.<])(\d+)(?![\w.])")


def mutants(source: str) -> Iterator[Mutant]:
    for pattern, new, what in REPLACEMENTS:
        for found in re.finditer(pattern, source):
            if in_template(source, found.start()):
                continue
            text = source[: found.start()] + found.expand(new) + source[found.end() :]
            yield Mutant(f"{what}: `{line_at(source, found.start())}`", line_number(source, found.start()), text)
    for found in NUMBER.finditer(source):
        if in_template(source, found.start()):
            continue
        for step in (1, -1):
            number = int(found[1]) + step
            if number >= 0:
                text = f"{source[: found.start()]}{number}{source[found.end() :]}"
                what = f"{found[1]} → {number} in `{line_at(source, found.start())}`"
                yield Mutant(what, line_number(source, found.start()), text)


def in_template(source: str, at: int) -> bool:
    """Whether a place lies between the brackets of a type: ct::shape<128, 128>."""
    line = source[source.rfind("\n", 0, at) + 1 : at]
    return bool(re.search(r"(shape|tile|extents|zeros|full|cast)<[^>;]*$", line))


def line_number(source: str, at: int) -> int:
    return source.count("\n", 0, at) + 1


def line_at(source: str, at: int) -> str:
    return source.split("\n")[line_number(source, at) - 1].strip()
