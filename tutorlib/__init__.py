"""tutorlib: the helper package of the course.

A page imports what several pages use from here, and the names of its own kernel from one module, such as
`tutorlib.kernels.ampere`. A name is loaded when it is first used, since the command line needs none.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from tutorlib import half_precision

NAMES = {  # module → its functions, classes, constants and submodules that pages import
    "compiling.compiled": "counts opcodes story",
    "compiling.cpp": "compile_cpp",
    "compiling.dsls": "compile_cute compile_cutile",
    "compiling.errors": "CompileFailed ToolMissing",
    "compiling.programs": "disassemble serialized",
    "compiling.spec": "TensorSpec",
    "dsl.functions": "compilations",
    "draw.banks": "show_banks show_swizzle",
    "draw.layouts": (
        "show_complement show_divide show_layout show_layouts show_memory show_path show_picked show_pictures "
        "show_tv show_tvs"
    ),
    "draw.machines": "show_blackwell show_handover show_machine show_mbarrier show_pair show_sm show_wgmma",
    "draw.tiles": (
        "show_block_order show_columns show_gate show_gate_registers show_k_loop show_multicast "
        "show_reduction show_rescaling show_shards show_warps"
    ),
    "draw.timelines": (
        "show_attention show_attention_loop show_fetches show_key_tiles show_launches show_roles show_tiles "
        "show_timeline show_work"
    ),
    "explorers.explorers": (
        "explore_compose explore_divide explore_layout explore_mbarriers explore_swizzle explore_tile_space explore_tv"
    ),
    "layouts.notation": "layout text",
    "layouts.oracle": "ask",
    "layouts.views": "tiled_copy_view",
    "machine": "device",
    "machine.features": "TCGEN05 TMA WGMMA hardware_of",
    "measuring": "counters",
    "measuring.counters": "BLOCK_SIZE MEMORY_READ SM_CLOCK STALLED TENSOR_BUSY TO_SMS",
    "measuring.results": "all_sweep_results",
    "models": "hopper_gemm l2 memory",
    "models.hopper_gemm": "Sm",
    "models.l2": "grouped raster",
    "models.memory": "A100 BY_ARCH H100 blocks_per_sm ring_stages wavefronts",
    "models.timelines": "Timeline",
    "notebook.check": "CheckFailed check hint",
    "notebook.explain": "explain show_source",
    "notebook.launches": "show_later_calls show_pairs",
    "notebook.measured": "show_costs show_figure show_ladder show_levers show_speeds show_sweep",
    "notebook.trials": (
        "compare_attention fetching run_cpp run_host run_on_gpu show_findings show_limits show_model show_periods"
        " show_ranking show_steps"
    ),
    "problems.differences": "by",
    "simulate.cutile": "run",
    "simulate.ptx.languages.cuda": "compile_cuda simulate_cuda",
}

half_precision.install()


def lazy(package: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's `__getattr__` for names of its modules, which it imports when a name is first used.

    names: module, in the package or by its full name → names, separated by spaces.
    """
    places = {name: module for module, listed in names.items() for name in listed.split()}

    def load(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = places[name]
        found = import_module(module if module.startswith("tutorlib.") else f"{package}.{module}")
        return getattr(found, name) if hasattr(found, name) else import_module(f"{found.__name__}.{name}")

    return load


__getattr__ = lazy(__name__, NAMES)
