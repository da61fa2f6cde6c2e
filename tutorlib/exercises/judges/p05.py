"""What the process of an answer needs of page 05's exercises."""

from dataclasses import dataclass

from tutorlib.checking.exercise import Answer, Verdict
from tutorlib.checking.part import Part, require_jit
from tutorlib.compiling.dsls import compile_cute
from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.spec import TensorSpec
from tutorlib.failure import Fail, Flaw

# Copies of elements of any size.


FP32 = TensorSpec((128, 128), "fp32")


@dataclass(frozen=True, kw_only=True)
class AnyElement(Part):
    """A host function that has to compile for fp32 as well."""

    def look(self, answer: Answer, points: float) -> Verdict | None:
        require_jit(answer)
        try:
            compile_cute(answer, [FP32] * 2)
        except CompileFailed:
            what = "right for bf16; for fp32 it does not compile: is bf16's 8, or the type itself, written out?"
            mends = "128 bits are 8 elements of bf16, and 4 of fp32: write both layouts with `vector`."
            return Verdict(points / 2, (Flaw(what, Fail.DOES_NOT_COMPILE), mends), "partial", explained=True)
        return None
