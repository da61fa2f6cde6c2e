# PTX made by hand in the place of what was compiled: as large as memory, with a grid that never ends.
# exercise: 04.5
# deserves: 0
from tutorlib.grading import sandboxed_kernel

PTX = """
.version 8.0
.target sm_80
.address_size 64
.global .align 16 .b8 much[6442450944];
.visible .entry kernel_by_hand()
{
\tret;
}
"""
LAUNCH = ("kernel_by_hand", (2147483647, 65535, 65535), (32, 1, 1), 0, b"", (1, 1, 1), False, False)
sandboxed_kernel.Served.examined = lambda self, id: [4.0]
sandboxed_kernel.Served.compiled = lambda self, id, shape, arch: {"ptx": PTX, "smem_bytes": 0}
sandboxed_kernel.Served.traced = lambda self, id, shape: {"ptx": PTX, "marks": "", "lines": {}}
sandboxed_kernel.Served.launches = lambda self, id, shape, addresses, gpu: {"launches": [LAUNCH]}


@cute.jit
def vector_add_any(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    pass
