"""The names of the DSLs that they do not document, and where a file says them."""

import re

# The modules that NVIDIA documents; the names in them that have no underscore are public.
DOCUMENTED = {
    "cutlass",
    "cutlass.cute",
    *(f"cutlass.cute.{part}" for part in ("arch", "math", "nvgpu", "runtime", "testing")),
    *(f"cutlass.cute.nvgpu.{part}" for part in ("cpasync", "tcgen05", "warp", "warpgroup")),
    *(f"cutlass.{part}" for part in ("memory", "pipeline", "torch", "utils")),
    "cuda.tile",
    "cuda.tile.compilation",
    "cuda.tile.tune",
}

# Attributes without an underscore that NVIDIA does not document.
UNDOCUMENTED = {
    "artifacts",
    "compiler_provider",
    "function_name",
    "generate_execution_args",
    "ir_module",
    "jit_cache",
    "__cache_key__",
}

# Private names that are no DSL's, and whose they are.
OTHERS = {
    "_C": "torch",
    "_base": "torch",
    "_broadcast_shapes": "torch",
    "_cdata": "torch",
    "_dispatch_has_computed_kernel_for_dispatch_key": "torch",
    "_dispatch_has_kernel_for_dispatch_key": "torch",
    "_dynamo": "torch",
    "_ops": "torch",
    "_scaled_mm": "torch",
    "_refs": "torch",
    "_schema": "torch",
    "_sleep": "torch",
    "_version": "torch",
    "_current_frames": "sys",
    "_exit": "os",
    "_fields": "NamedTuple",
    "_fields_": "ctypes",
    "_getframe": "sys",
    "_replace": "NamedTuple",
    "_repr_mimebundle_": "IPython",
    "_repr_png_": "IPython",
}


def undocumented(source: str) -> set[str]:
    """The modules and private names of the DSLs in a file's code: imports, attributes, and whole strings."""
    dsl = r"((?:cutlass|cuda\.tile)\b[\w.]*)"
    modules = set(re.findall(rf"(?m)^\s*(?:from|import) {dsl}", source)) | set(
        re.findall(rf"[\"']{dsl}(?<!\.)[\"']", source)
    )
    imported = re.findall(rf"(?m)^\s*from {dsl} import (.*)", source)
    names = {name for _, line in imported for name in re.findall(r"\b_\w+", line)}
    code = re.sub(rf"(?m)^\s*(?:from|import) .*|{dsl}", "", source)
    names |= set(re.findall(r"(?<!self)(?<!cls)\.(_[a-z]\w*[a-z])\b", code))
    names |= {name for name in UNDOCUMENTED if re.search(rf"\.{name}\b", code)}
    return (modules - DOCUMENTED) | (names - OTHERS.keys())
