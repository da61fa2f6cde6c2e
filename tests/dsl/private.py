"""PRIVATE: what the files of test_door take of the DSLs besides what they document. By module; what is made is below.

MADE: the same for attributes of what the DSLs make, which has to be made first (test_private_names).
"""

PRIVATE = {
    "cutlass._mlir.dialects.nvvm": (
        "tcgen05_fence",
        "Tcgen05FenceKind.AFTER_THREAD_SYNC",
        "Tcgen05FenceKind.BEFORE_THREAD_SYNC",
    ),
    "cutlass._mlir.execution_engine": (
        "ExecutionEngine.__init__",
        "ExecutionEngine.raw_lookup",
        "ExecutionEngine.raw_register_runtime",
    ),
    "cutlass._mlir.ir": (
        "InsertionPoint",
        "Location.file",
        "Module.parse",
        "SymbolTable",
        "WalkResult.ADVANCE",
        "WalkResult.INTERRUPT",
    ),
    "cutlass._mlir_helpers.op": ("_get_caller_frame_info", "loc_transform"),
    "cutlass.base_dsl.common": ("DSLBaseError",),
    "cutlass.base_dsl.compiler": ("CompileCallable._compile",),
    "cutlass.base_dsl.dsl": ("BaseDSL._func", "BaseDSL.mangle_name", "DSLSingletonMeta._instances"),
    "cutlass.base_dsl.jit_executor": ("JitCompiledFunction.run_compiled_program",),
    "cutlass.cute": ("struct._AlignMeta", "struct._MemRangeMeta"),
    "cutlass.cute.atom": ("ThrCopy.partition_D", "ThrCopy.partition_S", "ThrCopy.retile", "_make_tiled_copy"),
    "cutlass.cute.runtime": ("_FakeStream", "_FakeTensor", "_Tensor.__init__"),
    "cutlass.cute.tensor": ("TensorSSA", "_Tensor"),
    "cutlass.cutlass_dsl": ("CuTeDSL._get_dsl", "CuTeDSL._lookup_jit_entry"),
    "cutlass.cutlass_dsl.cuda_jit_executor": ("CudaDialectJitCompiledFunction.__call__",),
    "cutlass.cutlass_dsl.tvm_ffi_provider": (
        "TVMFFIJitCompiledFunction.__call__",
        "TVMFFIJitCompiledFunctionBase._create_tvm_ffi_function",
        "TVMFFIJitCompiledFunctionWithKwargs.__call__",
    ),
    "cutlass.memory": ("SmemAllocator._smem_alloca",),
    "cutlass.testing": ("_benchmark_for_autotune", "benchmark"),
}

MADE = {
    "a jitted function": ("__wrapped__", "_decorator_kind"),
    "a jitted function, compiled": ("__wrapped__._original_code",),
    "a compiled function": ("__cubin__", "__ptx__", "function_name", "generate_execution_args", "ir_module"),
    "the DSL": (
        "_lookup_jit_entry",
        "compiler_provider.compile",
        "compiler_provider.jit",
        "compiler_provider.passmanager.PassManager.parse",
        "jit_cache",
    ),
    "a pipeline's state": ("_count", "_index", "_phase", "_stages"),
    "a tensor without data": ("_assumed_align", "element_type", "memspace", "shape", "stride"),
    "a tensor": ("__cache_key__", "_assumed_align", "_c_pointers_cache", "_memref_desc", "element_type", "memspace"),
    "a stream": ("use_tvm_ffi_env_stream",),
    "a struct": ("__alignof__", "__sizeof__", "_annotations", "_offsets"),
    "a struct's member": ("_dtype", "size", "size_in_bytes"),
    "the place where a trace is": (
        "block.owner.operation.attributes",
        "block.owner.operation.name",
        "block.owner.operation.parent",
    ),
    "a kernel of cuTile": ("_compiler_options.opt_level_for_target", "_pyfunc.__code__"),
}
