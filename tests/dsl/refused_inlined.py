"""CuTe functions whose own PTX is refused, by LLVM or by ptxas. They join `refused_cute.REFUSED`."""

from cutlass import Int32, cute
from cutlass._mlir.dialects import llvm
from cutlass.cutlass_dsl import T, dsl_user_op

from tests.dsl.refused_cute import refused


@dsl_user_op
def lane(ptx, constraints, *, loc=None, ip=None):
    made = llvm.inline_asm(T.i32(), [], ptx, constraints, has_side_effects=False, loc=loc, ip=ip)
    return Int32(made, loc=loc, ip=ip)


@refused("ptxas refuses the PTX: ")
@cute.jit
def reads_no_register(x, y):
    y[0] = lane("mov.u32 $0, %laneidx;", "=r").to(y.element_type)


@refused("names an operand too many")
@cute.jit
def has_one_operand(x, y):
    y[0] = lane("mov.u32 $0, $1;", "=r").to(y.element_type)


@refused("end with a semicolon")
@cute.jit
def has_no_semicolon(x, y):
    y[0] = lane("mov.u32 $0, %laneid", "=r").to(y.element_type)
