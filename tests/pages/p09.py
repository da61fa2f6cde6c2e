"""Page 09: answers that are whole functions, and what rows of p09.txt are made of."""

from collections.abc import Callable, Sequence

from tests.pages.change import Change
from tests.pages.table import Base
from tutorlib.course.answers import load_answers
from tutorlib.kernels.cpp import PROMISES, Variant

ADD = """
__tile_global__ void vector_add(const float* a, const float* b, float* c, int n) {
    auto A = ct::partition_view{ct::tensor_span{a, ct::extents{n}}, ct::shape{1024_ic}};
    auto B = ct::partition_view{ct::tensor_span{b, ct::extents{n}}, ct::shape{1024_ic}};
    auto C = ct::partition_view{ct::tensor_span{c, ct::extents{n}}, ct::shape{1024_ic}};
    int i = ct::bid().x;
    C.store_masked(A.load_masked(i) + B.load_masked(i), i);
}
"""
FIRST = PROMISES["nothing"].source
PROMISING = Variant().source
GRADIENT = str(load_answers("09_tile_cpp")["09.3"]())


def in_quarters(source: str) -> str:
    """A block's tile in four quarters of 64×64, one after the other."""
    quarters = source.replace("128_ic", "64_ic").replace("ct::shape<128, 128>", "ct::shape<64, 64>")
    loop = "for (int part : ct::irange(0, 4)) {\nint i = 2 * int(ct::bid().x) + part / 2;\n"
    loop += "int j = 2 * int(ct::bid().y) + part % 2;\nif (64 * i >= m || 64 * j >= n) continue;"
    return quarters.replace("int i = ct::bid().x, j = ct::bid().y;", loop).rstrip() + "\n}"


def program(source: object) -> Callable[[], object]:
    return lambda: source


def text(source: str) -> Base:
    """The base of rows that change this program."""

    def patched(changes: Sequence[Change], name: str) -> Callable[[], object]:
        changed = source
        for change in changes:
            changed = "\n".join(change(changed.split("\n")))
        return lambda: changed

    return patched


BASES = {"09.1": text(FIRST), "09.2": text(PROMISING), "09.3": text(GRADIENT)}
