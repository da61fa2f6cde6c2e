"""TMA's boxes: descriptors as CuTe makes them, swizzles as CuTe's layouts have them, and edges of the tensor."""

import cutlass
import numpy as np
import pytest
import torch
from cutlass import Int64, cute
from cutlass.cute.nvgpu import cpasync, warpgroup
from cutlass.cute.nvgpu.warpgroup import SmemLayoutAtomKind
from cutlass.cute.runtime import from_dlpack, make_fake_compact_tensor
from cutlass.memory import SmemAllocator

from tests.simulate.ptx.snippets import kernel, launch
from tutorlib.simulate.ptx.descriptors import BYTES, read_tensor_map, write_tensor_map
from tutorlib.simulate.ptx.findings import NotSimulated
from tutorlib.simulate.ptx.languages.cute import compile_with_lines, record_launches, simulate_host
from tutorlib.simulate.ptx.parse import parse_ptx

THREADS = 64
TYPES = {
    torch.uint8: cutlass.Uint8,
    torch.int32: cutlass.Int32,
    torch.float16: cutlass.Float16,
    torch.bfloat16: cutlass.BFloat16,
    torch.float32: cutlass.Float32,
    torch.float64: cutlass.Float64,
}
SWIZZLES = {32: 1, 64: 2, 128: 3}


def row_major(shape):
    strides = [1]
    for size in shape[:0:-1]:
        strides.insert(0, strides[0] * size)
    return cute.make_layout(shape, stride=tuple(strides))


def in_smem(box, dtype, width):
    """Of a box: row-major, or swizzled over rows of so many bytes."""
    if not width:
        return cute.make_composed_layout(cute.make_swizzle(0, 4, 3), 0, row_major(box))
    atom = warpgroup.make_smem_layout_atom(SmemLayoutAtomKind[f"K_SW{width}"], dtype)
    return cute.tile_to_shape(atom, box, (0, 1))


def fake(tensor):
    order = sorted(range(tensor.ndim), key=lambda mode: tensor.stride()[mode])
    ranks = tuple(order.index(mode) for mode in range(tensor.ndim))
    gmem = cute.AddressSpace.gmem
    return make_fake_compact_tensor(
        TYPES[tensor.dtype], tuple(tensor.shape), stride_order=ranks, memspace=gmem, assumed_align=16
    )


# Descriptors ------------------------------------------------------------------------------------------------------


@cute.kernel
def fetch_kernel(tma: cute.CopyAtom, coordinates: cute.Tensor):
    cpasync.prefetch_descriptor(tma)


def describe(tensor, box, width=0):
    """A tensor's descriptor as CuTe's host code makes it."""

    @cute.jit
    def host(a: cute.Tensor):
        layout = in_smem(box, a.element_type, width)
        tma, coordinates = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), a, layout, box)
        fetch_kernel(tma, coordinates).launch(grid=(1, 1, 1), block=(32, 1, 1))

    traced = compile_with_lines(host, [fake(tensor)], "sm_90a")
    argument = from_dlpack(tensor, assumed_align=16)
    (launch,) = record_launches(traced.function, parse_ptx(traced.ptx), [argument])
    return read_tensor_map(launch.parameters[:BYTES])


@pytest.mark.parametrize("dtype", TYPES)
def test_a_descriptor_has_the_type(dtype):
    tensor = torch.zeros(300, 272, dtype=dtype)
    described = describe(tensor, (64, 32))
    assert (described.address, described.element) == (tensor.data_ptr(), dtype.itemsize)
    assert described.shape == (272, 300)
    assert described.strides == (dtype.itemsize, 272 * dtype.itemsize)
    assert (described.box, described.swizzle) == ((32, 64), 0)


@pytest.mark.parametrize("width", SWIZZLES)
def test_a_descriptor_has_the_swizzle(width):
    described = describe(torch.zeros(300, 264, dtype=torch.bfloat16), (128, width // 2), width)
    assert (described.box, described.swizzle) == ((width // 2, 128), SWIZZLES[width])


def test_a_descriptor_has_three_dimensions():
    described = describe(torch.zeros(5, 300, 264, dtype=torch.bfloat16), (2, 64, 32))
    assert described.shape == (264, 300, 5)
    assert described.strides == (2, 528, 158_400)
    assert described.box == (32, 64, 2)


def test_a_descriptor_that_the_driver_would_make():
    """Of five modes, in bf16, which the driver numbers otherwise than the hardware."""
    strides = (4096, 2**20, 2**37, 2**38)
    made = write_tensor_map(2**40, 9, (64, 300, 5, 7, 3), strides, (32, 128, 2, 1, 1), 3)
    described = read_tensor_map(made)
    assert (described.address, described.element, described.swizzle) == (2**40, 2, 3)
    assert (described.shape, described.box) == ((64, 300, 5, 7, 3), (32, 128, 2, 1, 1))
    assert described.strides == (2, *strides)


def test_sixteen_numbers_of_4_bits_are_an_element():
    @cute.jit
    def host(a: cute.Tensor):
        numbers = cute.make_tensor(cute.recast_ptr(a.iterator, dtype=cutlass.Float4E2M1FN), row_major((64, 256)))
        copy = cpasync.CopyBulkTensorTileG2SOp()
        tma, coordinates = cpasync.make_tiled_tma_atom(copy, numbers, row_major((64, 128)), (64, 128))
        fetch_kernel(tma, coordinates).launch(grid=(1, 1, 1), block=(32, 1, 1))

    tensor = torch.zeros(64, 256, dtype=torch.uint8)
    traced = compile_with_lines(host, [fake(tensor)], "sm_100a")
    arguments = [from_dlpack(tensor, assumed_align=16)]
    (launch,) = record_launches(traced.function, parse_ptx(traced.ptx), arguments)
    described = read_tensor_map(launch.parameters[:BYTES])
    assert (described.element, described.shape, described.box, described.bytes) == (8, (16, 64), (8, 64), 8 * 64 * 8)
    assert described.numbers == 16
    made = write_tensor_map(tensor.data_ptr(), 13, (256, 64), [16 * 8], (128, 64), 0)
    assert read_tensor_map(made) == described
    for kind in (14, 15):  # CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B, …_16U6_ALIGN16B
        with pytest.raises(NotSimulated, match="that fill bytes in shared memory"):
            read_tensor_map(write_tensor_map(tensor.data_ptr(), kind, (256, 64), [16 * 8], (128, 64), 0))


# Boxes ------------------------------------------------------------------------------------------------------------


@cute.kernel
def through_kernel(
    load: cute.CopyAtom,
    src: cute.Tensor,
    store: cute.CopyAtom,
    dst: cute.Tensor,
    layout_in: cute.ComposedLayout,
    layout_out: cute.ComposedLayout,
    box: cutlass.Constexpr,
    dtype: cutlass.Constexpr,
):
    """TMA brings a box, threads move it element by element to another layout, and TMA takes it away."""
    thread, _, _ = cute.arch.thread_idx()
    memory = SmemAllocator()
    there = memory.allocate_tensor(dtype, layout_in.outer, 1024, layout_in.inner)
    back = memory.allocate_tensor(dtype, layout_out.outer, 1024, layout_out.inner)
    barrier = memory.allocate_array(Int64, 1)
    modes = cutlass.const_expr(len(box))
    place = cute.arch.block_idx()[:modes]
    alone = cute.make_layout(1)
    tAsA, tAgA = cpasync.tma_partition(
        load, 0, alone, cute.group_modes(there, 0, modes), cute.group_modes(cute.local_tile(src, box, place), 0, modes)
    )
    tBsB, tBgB = cpasync.tma_partition(
        store, 0, alone, cute.group_modes(back, 0, modes), cute.group_modes(cute.local_tile(dst, box, place), 0, modes)
    )
    if thread == 0:
        cute.arch.mbarrier_init(barrier, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    if thread < 32:
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(barrier, cute.size(box) * dtype.width // 8)
        cute.copy(load, tAgA, tAsA, tma_bar_ptr=barrier)
    cute.arch.mbarrier_wait(barrier, 0)
    for at in cutlass.range(thread, cute.size(box), THREADS, unroll=1):
        index = cute.idx2crd(at, box)
        back[index] = there[index]
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    if thread < 32:
        cute.copy(store, tBsB, tBgB)
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0, read=True)


def copy_through(tensor, box, widths=(0, 0), beyond=0, adds=False):
    """beyond: so many boxes more than the first mode has. adds: to ones."""

    @cute.jit
    def host(a: cute.Tensor, b: cute.Tensor):
        dtype = a.element_type
        layout_in, layout_out = in_smem(box, dtype, widths[0]), in_smem(box, dtype, widths[1])
        load, src = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), a, layout_in, box)
        save = cpasync.CopyReduceBulkTensorTileS2GOp() if adds else cpasync.CopyBulkTensorTileS2GOp()
        store, dst = cpasync.make_tiled_tma_atom(save, b, layout_out, box)
        grid = [cute.ceil_div(a.shape[mode], box[mode]) for mode in range(len(box))] + [1] * (3 - len(box))
        grid[0] += beyond
        through_kernel(load, src, store, dst, layout_in, layout_out, box, dtype).launch(
            grid=grid, block=(THREADS, 1, 1)
        )

    out = torch.full_like(tensor, 1 if adds else torch.nan)
    traced = compile_with_lines(host, [fake(tensor), fake(out)], "sm_90a")
    arguments = [from_dlpack(one, assumed_align=16) for one in (tensor, out)]
    (report,) = simulate_host(traced, {"a": tensor, "b": out}, arguments)
    return out, report


@pytest.mark.parametrize(
    ("shape", "box", "width"),
    [((70, 40), (32, 16), 0), ((70, 40), (32, 16), 32), ((40, 72), (16, 32), 64), ((40, 72), (16, 64), 128),
     ((3, 10, 24), (2, 4, 16), 0)],
)  # fmt: skip
def test_boxes_over_the_edges_and_threads_see_them_as_cute_does(shape, box, width):
    x = torch.randn(shape).to(torch.bfloat16)
    out, report = copy_through(x, box, (width, width))
    assert out.equal(x)
    assert not report.findings


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.int32])
def test_boxes_are_added(dtype):
    x = (10 * torch.randn(70, 40)).to(dtype)
    out, report = copy_through(x, (32, 16), adds=True)
    assert out.equal(x + 1)
    assert not report.findings


def test_a_box_of_nothing_but_zeros_is_no_fault_and_is_told():
    x = torch.randn(40, 16).to(torch.bfloat16)
    out, report = copy_through(x, (32, 16), beyond=1)
    assert out.equal(x)
    assert not report.findings
    (zeros,) = report.zeros
    assert "loads a box at (64, 0) of a tensor of (40, 16): nothing but zeros" in str(zeros)
    assert not copy_through(x, (32, 16))[1].zeros


# descriptors made on the device ---------------------------------------------------------------------------------------

CHANGES = """
tensormap.replace.tile.global_address.shared::cta.b1024.b64 [smem], %rd_there;
tensormap.replace.tile.rank.shared::cta.b1024.b32 [smem], 1;
tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [smem], 6;
tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [smem], 3;
tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [smem], 0, 264;
tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [smem], 1, 300;
tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [smem], 0, 528;
tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [smem], 0, 64;
tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [smem], 1, 128;
tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [smem], 0, 1;
tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [smem], 0;
"""
CLEARED = """
shl.b32 %r_0, %tid_x, 2;
mov.u32 %r_1, smem;
add.u32 %r_0, %r_0, %r_1;
mov.u32 %r_2, 0;
st.shared.b32 [%r_0], %r_2;
bar.warp.sync 0xFFFFFFFF;
setp.ne.u32 %p0, %tid_x, 0;
@%p0 bra DONE;
"""
COPIED = """
DONE:
bar.warp.sync 0xFFFFFFFF;
tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd_out], [smem], 128;
"""


def test_a_descriptor_made_on_the_device():
    there, out = torch.zeros(300, 264).half(), torch.zeros(BYTES, dtype=torch.uint8)
    text = kernel(CLEARED + CHANGES + COPIED, ["there", "out"], shared=BYTES).replace("%r_", "%r")
    report = launch(text, {"there": there, "out": out})
    described = read_tensor_map(out.numpy().tobytes())
    assert (described.element, described.shape, described.strides) == (2, (264, 300), (2, 528))
    assert (described.box, described.swizzle) == ((64, 128), 3)
    assert described.address == np.frombuffer(out.numpy().tobytes(), np.uint64)[0] != 0
    assert not report.findings
