"""The course's terms, each defined once: what the glossary shows and what pages link to."""

from typing import NamedTuple


class Term(NamedTuple):
    """name: as the field writes it; capitals are matched where it has them.

    page: number of the page that teaches it. also: other forms that a page links; a plural is one without being named.
    ptx, dsl: its names there, in Markdown. `ct` is cuTile, what has no prefix of its own is CuTe's.
    """

    name: str
    page: str
    says: str
    ptx: str = ""
    dsl: str = ""
    also: tuple[str, ...] = ()


TERMS = (
    Term("layout", "01", "A function from coordinates to offsets, written shape:stride.", "", "`cute.Layout`"),
    Term("shape", "01", "How many elements each mode has; nested like the modes.", "", "`layout.shape`"),
    Term("stride", "01", "How far the offset moves when a mode's coordinate grows by one.", "", "`layout.stride`"),
    Term("mode", "01", "One dimension of a layout, which may itself consist of modes.", "", "`cute.get(layout, [i])`"),
    Term("coordinate", "01", "The index of an element, a number or a tuple for each mode.", "", "`cute.crd2idx`"),
    Term("cosize", "01", "The largest offset of a layout, plus one: the memory it needs.", "", "`cute.cosize`"),
    Term("row-major", "01", "Stored row by row: the last mode has stride 1. CuTe counts columns first."),
    Term("coalesce", "02", "To write a layout with as few modes as describe the same function.", "", "`cute.coalesce`"),
    Term("composition", "02", "A∘B, the layout that applies B and then A.", "", "`cute.composition`"),
    Term("complement", "02", "A layout of the offsets that another one leaves out.", "", "`cute.complement`"),
    Term(
        "logical divide",
        "02",
        "⊘, a layout cut into tiles: one mode inside the tile, one that counts tiles.",
        "",
        "`cute.logical_divide`, `cute.zipped_divide`, `cute.local_tile`",
    ),
    Term("logical product", "02", "A block repeated at the places of another layout.", "", "`cute.logical_product`"),
    Term("tile", "02", "A block of a matrix that is copied or multiplied as one.", "", "`cute.local_tile`, `ct.load`"),
    Term(
        "thread-value layout",
        "02",
        "A layout from (thread, its n-th value) to the element of the tile that it holds.",
        "",
        "`cute.make_layout_tv`",
        ("TV layout",),
    ),
    Term("bank", "03", "One of 32 four-byte columns of shared memory, each of which serves one word at a time."),
    Term(
        "bank conflict", "03", "Lanes of a warp need different words of one bank; the access takes several wavefronts."
    ),
    Term("wavefront", "03", "One pass of shared memory: at most one word from each bank."),
    Term("padding", "03", "Unused elements at the end of each row, so that columns spread over the banks."),
    Term(
        "swizzle",
        "03",
        "An exclusive or of some offset bits with others, so that columns spread over the banks without padding.",
        "`.swizzle` of a tensor map",
        "`cute.make_swizzle`, `cute.make_composed_layout`",
    ),
    Term(
        "ldmatrix",
        "03",
        "One instruction that loads 8×8 matrices from shared memory into a warp's MMA fragments.",
        "`ldmatrix.sync.aligned.m8n8.x4`",
        "`cute.nvgpu.warp.LdMatrix8x8x16bOp`",
    ),
    Term("host", "04", "The CPU and its memory, which launch kernels and wait for them.", "", "`@cute.jit`"),
    Term(
        "kernel", "04", "A function that every thread of a grid executes.", "`.entry`", "`@cute.kernel`, `@ct.kernel`"
    ),
    Term("launch", "04", "The host's request to execute a kernel on a grid.", "", "`.launch(grid=…)`, `ct.launch`"),
    Term("grid", "04", "All thread blocks of one launch.", "`%nctaid`", "`cute.arch.grid_dim`, `ct.num_blocks`"),
    Term(
        "thread block",
        "04",
        "Threads that share an SM's shared memory and barriers; CTA in PTX.",
        "CTA; `%ctaid`",
        "`cute.arch.block_idx`, `ct.bid`",
        ("CTA", "block"),
    ),
    Term("warp", "04", "32 threads that issue their instructions together.", "`%warpid`", "`cute.arch.warp_idx`"),
    Term("lane", "03", "A thread's number inside its warp, 0 to 31.", "`%laneid`", "`cute.arch.lane_idx`"),
    Term("DLPack", "17", "The protocol by which libraries share a tensor without a copy.", "", "`from_dlpack`"),
    Term(
        "predicate",
        "04",
        "A condition that switches an access off for elements past the edge.",
        "`@p ld.global`",
        "`pred=` of `cute.copy`, `ct.load(padding_mode=…)`",
    ),
    Term("unroll", "05", "To repeat a loop's body in the code, with its index known.", "", "`cutlass.range_constexpr`"),
    Term("race", "18", "Two threads access one location without an order between them, and one of them writes."),
    Term("simulator", "04", "Executes compiled PTX on the CPU, counts accesses and finds races.", also=("simulated",)),
    Term(
        "residue",
        "02",
        "What is left where a size does not divide: the elements of the edge tile.",
        also=("remainder", "edge tile"),
    ),
    Term("issue", "05", "To start an instruction, without waiting for its result.", also=("issued", "issuing")),
    Term("spread", "07", "How far repeated measurements lie apart; a smaller difference is noise."),
    Term(
        "rehearsal", "09", "A main loop executed step by step on a model of its stages.", also=("rehearse", "rehearsed")
    ),
    Term("deadlock", "13", "Every thread waits, and none can arrive.", also=("hang",)),
    Term("SM", "05", "Streaming multiprocessor: the unit that executes thread blocks.", "`%smid`"),
    Term("bandwidth", "05", "Bytes per second that a memory can deliver."),
    Term("latency", "05", "Time from issuing an instruction to its result."),
    Term(
        "coalesced", "05", "A warp's accesses fall into as few sectors as their bytes can fill.", also=("uncoalesced",)
    ),
    Term("sector", "05", "32 aligned bytes: the unit in which global memory is read and written."),
    Term(
        "TiledCopy", "05", "A copy atom with the layout of threads and values that repeat it.", "", "`cute.TiledCopy`"
    ),
    Term(
        "cp.async",
        "05",
        "A copy from global to shared memory that passes through no register.",
        "`cp.async.cg.shared.global`",
        "`cute.nvgpu.cpasync.CopyG2SOp`",
    ),
    Term(
        "TMA",
        "05",
        "The tensor memory accelerator: copies a box of a tensor between global and shared memory.",
        "`cp.async.bulk.tensor`",
        "`cpasync.CopyBulkTensorTileG2SOp`",
    ),
    Term(
        "mbarrier",
        "05",
        "A barrier in shared memory that counts arrivals and bytes, phase by phase.",
        "`mbarrier`",
        "`cute.arch.mbarrier_init`",
    ),
    Term("cuTile", "06", "NVIDIA's Python DSL whose values are tiles; the compiler maps them to threads.", "", "`ct`"),
    Term("GEMM", "07", "General matrix multiplication, C = A·B.", "", "`ct.mma`, `cute.gemm`"),
    Term("L2", "07", "The cache that all SMs share."),
    Term("raster order", "11", "The order in which tiles of C are assigned: along rows, columns or groups."),
    Term("wave", "07", "The blocks that run at the same time, as many as the SMs hold."),
    Term("persistent", "07", "A kernel whose blocks stay on their SM and loop over tiles."),
    Term(
        "autotuning",
        "07",
        "Timing candidates and keeping the fastest.",
        "",
        "`cuda.tile.tune.exhaustive_search`",
        ("autotuned", "autotune"),
    ),
    Term("split-K", "07", "K cut into S slices that different blocks multiply; their partial results are added."),
    Term("accumulator", "07", "The registers, or tensor memory, that hold a tile of C while K is summed up."),
    Term("spill", "07", "To keep in local memory what does not fit into registers.", "`st.local`", also=("spilled",)),
    Term("PTX", "04", "NVIDIA's assembly language for a virtual GPU; `ptxas` compiles it for a real one."),
    Term("SASS", "12", "The instructions that a GPU really executes."),
    Term("cubin", "12", "Machine code of a kernel for one generation of GPUs."),
    Term(
        "MMA atom",
        "09",
        "One tensor-core instruction with the layouts of its operands over threads and values.",
        "`mma.sync.aligned.m16n8k16`",
        "`cute.nvgpu.warp.MmaF16BF16Op`",
        ("atom",),
    ),
    Term(
        "tiled MMA",
        "09",
        "An MMA atom repeated over warps and over the tile.",
        "",
        "`cute.make_tiled_mma`",
        ("tiled_mma",),
    ),
    Term("fragment", "03", "The part of a tile that one thread holds in registers.", "", "`tiled_mma.make_fragment_A`"),
    Term("K block", "09", "The step along K of one MMA inside the tile, 16 for bf16.", "", "`k_block`"),
    Term("k_tile", "09", "The number of a tile along K: the main loop's counter.", "", "`k_tile`"),
    Term("epilogue", "09", "What follows the main loop: convert the accumulators and store C.", "", "`epilogue_op`"),
    Term("roofline", "12", "The most that bandwidth and arithmetic allow, against arithmetic intensity."),
    Term("stage", "10", "One of several buffers that a pipeline fills and empties in turn.", "", "the last mode of sA"),
    Term("pipeline", "10", "Loads of later tiles overlap the arithmetic of the current one.", "", "`cutlass.pipeline`"),
    Term("prologue", "10", "The loads that are issued before the main loop begins."),
    Term(
        "commit group",
        "12",
        "Copies that are waited for together.",
        "`cp.async.commit_group`",
        "`cp_async_commit_group`",
        ("cp_async_commit_group",),
    ),
    Term("in flight", "05", "Issued and not yet complete."),
    Term("occupancy", "07", "The number of blocks, or warps, that an SM holds at once."),
    Term(
        "warpgroup",
        "13",
        "Four consecutive warps, which issue WGMMA together.",
        "`wgmma…sync.aligned`",
        "`cute.nvgpu.warpgroup`",
    ),
    Term(
        "WGMMA",
        "13",
        "Hopper's asynchronous MMA, with operands in shared memory.",
        "`wgmma.mma_async`",
        "`warpgroup.MmaF16BF16Op`",
    ),
    Term(
        "phase",
        "13",
        "One round of an mbarrier, from one completion to the next.",
        "`phaseParity`",
        "`PipelineState.phase`",
    ),
    Term("parity", "13", "A phase's number modulo 2, which is all that a wait names.", "`mbarrier.try_wait.parity`"),
    Term(
        "arrival",
        "13",
        "A report to an mbarrier; a phase ends when all that it counts have come.",
        "`mbarrier.arrive`",
        "`cute.arch.mbarrier_arrive`",
    ),
    Term(
        "expect-tx",
        "13",
        "To add bytes to those that a phase waits for.",
        "`mbarrier.arrive.expect_tx`",
        "`mbarrier_arrive_and_expect_tx`",
        ("expect_tx",),
    ),
    Term(
        "descriptor",
        "13",
        "The words that tell TMA or WGMMA where a tensor lies and how.",
        "`.tensormap`",
        "`make_tiled_tma_atom`",
    ),
    Term(
        "proxy",
        "13",
        "The path by which memory is accessed, generic or async; a fence orders the two.",
        "`fence.proxy.async`",
    ),
    Term("stmatrix", "13", "ldmatrix in the other direction.", "`stmatrix.sync.aligned`", "`warp.StMatrix8x8x16bOp`"),
    Term("producer", "14", "The warp that fills stages.", "", "`producer_acquire`, `producer_commit`"),
    Term("consumer", "14", "The warps that empty stages.", "", "`consumer_wait`, `consumer_release`"),
    Term(
        "setmaxnreg", "14", "Moves registers between warpgroups.", "`setmaxnreg.inc`", "`cute.arch.warpgroup_reg_alloc`"
    ),
    Term(
        "cluster",
        "14",
        "Blocks that run together and reach each other's shared memory.",
        "`%cluster_ctaid`",
        "`cluster=` of a launch",
    ),
    Term(
        "multicast",
        "14",
        "One load that writes to several blocks of a cluster.",
        "`.multicast::cluster`",
        "`CopyBulkTensorTileG2SMulticastOp`",
    ),
    Term("stream-K", "14", "Blocks take equal shares of all K steps, wherever tiles begin and end."),
    Term(
        "tcgen05",
        "15",
        "Blackwell's tensor-core instructions, issued by one thread.",
        "`tcgen05.mma`",
        "`cute.nvgpu.tcgen05`",
    ),
    Term(
        "tensor memory",
        "15",
        "128 lanes by 512 columns per SM that hold Blackwell's accumulators.",
        "`tcgen05.alloc`",
        "`cute.arch.alloc_tmem`",
    ),
    Term("fake tensor", "16", "A tensor with shape and dtype and without data.", "", "`FakeTensorMode`", ("fake",)),
    Term("CUDA graph", "17", "Recorded launches that are replayed as one.", "", "`torch.cuda.graph`"),
)
