"""Wrong answers to notebook 17: what is kept, in memory, for torch and on disk."""

from functools import partial

import torch
from cutlass import cute
from cutlass.cute.runtime import from_dlpack

from tests.pages.n17_compile_once.compiling_once import wrong
from tests.pages.table import says

kept, for_torch, from_disk = (partial(wrong, id) for id in ("17.4", "17.5", "17.6"))

# 17.4 -----------------------------------------------------------------------------------------------------------


class KeptByAll:
    """One dictionary in the class, for all of them."""

    kept = {}  # noqa: RUF012

    def __init__(self, compile, key):
        self.compile, self.key = compile, key

    def __call__(self, *tensors):
        key = self.key(*tensors)
        if key not in self.kept:
            self.kept[key] = self.compile(*tensors)
        return self.kept[key](*tensors)


class KeepsTheLast:
    """Keeps one function alone."""

    def __init__(self, compile, key):
        self.compile, self.key, self.last = compile, key, ()

    def __call__(self, *tensors):
        key = self.key(*tensors)
        if self.last[:1] != (key,):
            self.last = key, self.compile(*tensors)
        return self.last[1](*tensors)


class SetsDefault:
    """Compiles for every call: the arguments of setdefault come first."""

    def __init__(self, compile, key):
        self.compile, self.key, self.kept = compile, key, {}

    def __call__(self, *tensors):
        return self.kept.setdefault(self.key(*tensors), self.compile(*tensors))(*tensors)


class ThirtyTwo:
    """Forgets the oldest beyond 32."""

    def __init__(self, compile, key):
        self.compile, self.key, self.kept = compile, key, {}

    def __call__(self, *tensors):
        key = self.key(*tensors)
        if key not in self.kept:
            if len(self.kept) == 32:
                del self.kept[next(iter(self.kept))]
            self.kept[key] = self.compile(*tensors)
        return self.kept[key](*tensors)


class SwallowsErrors:
    """A compilation that fails is passed over in silence."""

    def __init__(self, compile, key):
        self.compile, self.key, self.kept = compile, key, {}

    def __call__(self, *tensors):
        key = self.key(*tensors)
        try:
            if key not in self.kept:
                self.kept[key] = self.compile(*tensors)
            return self.kept[key](*tensors)
        except RuntimeError:
            return None


# 17.5 -----------------------------------------------------------------------------------------------------------


def wraps_each_call(host, *arguments):
    """Compiled without TVM-FFI, so each call wraps its tensors."""

    def views(given):
        return [from_dlpack(a).mark_layout_dynamic() if isinstance(a, torch.Tensor) else a for a in given]

    compiled = cute.compile(host, *views(arguments))
    return lambda *given: compiled(*views(given))


def compiles_each_call(host, *arguments):
    """Compiles whenever it is called."""

    def compiled(given):
        views = [from_dlpack(a, enable_tvm_ffi=True).mark_layout_dynamic() if torch.is_tensor(a) else a for a in given]
        return cute.compile(host, *views, options="--enable-tvm-ffi")

    return lambda *given: compiled(given)(*given)


@says("in the first call")
def compiles_when_called(host, *arguments):
    """Puts the compilation off to the first call."""
    made = []

    def call(*given):
        if not made:
            views = [
                from_dlpack(a, enable_tvm_ffi=True).mark_layout_dynamic() if torch.is_tensor(a) else a
                for a in arguments
            ]
            made.append(cute.compile(host, *views, options="--enable-tvm-ffi"))
        return made[0](*given)

    return call


def returns_nothing(host, *arguments):
    """Forgets to return what it compiled."""
    views = [from_dlpack(a, enable_tvm_ffi=True).mark_layout_dynamic() if torch.is_tensor(a) else a for a in arguments]
    cute.compile(host, *views, options="--enable-tvm-ffi")


def leads_with_the_last(host, *arguments):
    """Takes every tensor for row-major."""
    views = [
        from_dlpack(a, enable_tvm_ffi=True).mark_layout_dynamic(leading_dim=a.ndim - 1)
        if isinstance(a, torch.Tensor)
        else a
        for a in arguments
    ]
    return cute.compile(host, *views, options="--enable-tvm-ffi")


def first_alone(host, *arguments):
    """The first tensor's sizes are dynamic, the others' are those of the first call."""
    views = [from_dlpack(a, enable_tvm_ffi=True) if torch.is_tensor(a) else a for a in arguments]
    at = next(n for n, a in enumerate(arguments) if torch.is_tensor(a))
    views[at] = views[at].mark_layout_dynamic(leading_dim=arguments[at].stride().index(1))
    return cute.compile(host, *views, options="--enable-tvm-ffi")


def made_contiguous(host, *arguments):
    """Compiled for rows, whatever the tensors are."""
    views = [
        from_dlpack(a.contiguous(), enable_tvm_ffi=True).mark_layout_dynamic(leading_dim=a.ndim - 1)
        if torch.is_tensor(a)
        else a
        for a in arguments
    ]
    return cute.compile(host, *views, options="--enable-tvm-ffi")


@says("(8,):(1,)")
def takes_16_bytes_for_granted(host, *arguments):
    """Claims an alignment that was not promised."""
    views = [
        from_dlpack(a, assumed_align=16, enable_tvm_ffi=True).mark_layout_dynamic(leading_dim=a.stride().index(1))
        if torch.is_tensor(a)
        else a
        for a in arguments
    ]
    return cute.compile(host, *views, options="--enable-tvm-ffi")


def by_columns_or_rows(a):
    if not torch.is_tensor(a):
        return a
    return from_dlpack(a, enable_tvm_ffi=True).mark_layout_dynamic(leading_dim=a.stride().index(1))


@says("runs the function on the example tensors")
def runs_on_the_examples(host, *arguments):
    """Tries it on the caller's tensors, and returns it."""
    compiled = cute.compile(host, *map(by_columns_or_rows, arguments), options="--enable-tvm-ffi")
    compiled(*arguments)
    return compiled


@says("runs the function more than once")
def runs_twice(host, *arguments):
    """A call to warm up, then the call."""
    compiled = cute.compile(host, *map(by_columns_or_rows, arguments), options="--enable-tvm-ffi")

    def call(*given):
        compiled(*given)
        return compiled(*given)

    return call


@says("runs the function on a copy of x")
def clones_x(host, *arguments):
    """A copy of what is only read, in each call."""
    compiled = cute.compile(host, *map(by_columns_or_rows, arguments), options="--enable-tvm-ffi")

    def call(*given):
        *before, x, y = given
        return compiled(*before, x.clone(), y)

    return call


def calls_it_at_once(host, *arguments):
    """Runs it while it is made, and gives what that returned."""
    views = [from_dlpack(a, enable_tvm_ffi=True).mark_layout_dynamic() if torch.is_tensor(a) else a for a in arguments]
    return cute.compile(host, *views, options="--enable-tvm-ffi")(*arguments)


# 17.6 -----------------------------------------------------------------------------------------------------------

SAVE = "        compile().export_to_c(str(half), name)\n        os.replace(half, file)"


def keeps_in_memory(folder, name, compile, kept={}):  # noqa: B006
    """A dictionary of this process; what another one saved is not seen."""
    if (folder, name) not in kept:
        folder.mkdir(parents=True, exist_ok=True)
        kept[folder, name] = compile()
        kept[folder, name].export_to_c(str(folder / f"{name}.o"), name)
    return kept[folder, name]


WRONG = {
    "17.4": [
        KeptByAll,
        KeepsTheLast,
        SetsDefault,
        kept(
            "ByTruth",
            "Takes None for nothing: a key that is false is never kept.",
            "if key not in self.kept:",
            "if not key or key not in self.kept:",
        ),
        kept(
            "KeepsFailures",
            "Marks a key as compiled before it is.",
            "            self.kept[key] = ",
            "            self.kept[key] = None\n            self.kept[key] = ",
        ),
        kept(
            "KeepsResults",
            "Keeps what the function returned, not the function.",
            "self.compile(*tensors)\n        return self.kept[key](*tensors)",
            "self.compile(*tensors)(*tensors)\n        return self.kept[key]",
        ),
        ThirtyTwo,
        SwallowsErrors,
        kept(
            "RunsToWarmUp",
            "Runs a new function once more, on the caller's tensors.",
            "self.kept[key] = self.compile(*tensors)",
            "self.kept[key] = self.compile(*tensors)\n            self.kept[key](*tensors)",
            "runs the compiled function 2 times",
        ),
        kept(
            "ByHash",
            "Keeps by the key's hash, which other keys may have.",
            "self.key(*tensors)",
            "hash(self.key(*tensors))",
            "these are four keys",
        ),
        kept(
            "GivesTheFunction",
            "Returns the compiled function and does not call it.",
            "return self.kept[key](*tensors)",
            "return self.kept[key]",
        ),
        kept(
            "BuildsKeysTwice",
            "Building a key takes as long as a launch.",
            "return self.kept[key]",
            "return self.kept[self.key(*tensors)]",
            "one serves all of a call",
        ),
        kept(
            "KeepsTensors",
            "Keeps what each function was called with first.",
            "self.kept[key] = self.compile(*tensors)",
            "self.kept[key] = self.compile(*tensors)\n            self.kept[key].__dict__['example'] = tensors",
            "it still refers to 4 of these",
        ),
        kept(
            "KeepsAClosure",
            "Keeps a function that holds the first call's tensors.",
            "self.kept[key] = self.compile(*tensors)",
            "self.kept[key] = lambda *given, example=tensors, made=self.compile(*tensors): made(*given)",
            "still refers to",
        ),
        kept(
            "LogsItsCalls",
            "Remembers every call.",
            "        key = self.key(*tensors)",
            "        self.calls = [*getattr(self, 'calls', []), tensors]\n        key = self.key(*tensors)",
            "still refers to 8",
        ),
        kept("KeyOfTheFirst", "Asks for the key of the first alone.", "self.key(*tensors)", "self.key(tensors[0])"),
        kept("CompilesForNothing", "Compiles without the tensors.", "self.compile(*tensors)", "self.compile()"),
    ],
    "17.5": [
        wraps_each_call,
        compiles_each_call,
        compiles_when_called,
        returns_nothing,
        leads_with_the_last,
        for_torch("static", "Compiles for one size.", ".mark_layout_dynamic(leading_dim=a.stride().index(1))", ""),
        for_torch("without_the_option", "Leaves the option out.", ', options="--enable-tvm-ffi"', ""),
        for_torch(
            "tensors_only",
            "Leaves out what is no tensor.",
            "        else a\n        for a in arguments\n",
            "        else None\n        for a in arguments\n        if isinstance(a, torch.Tensor)\n",
        ),
        for_torch(
            "one_mode_only",
            "Frees the contiguous mode alone.",
            ".mark_layout_dynamic(leading_dim=a.stride().index(1))",
            ".mark_compact_shape_dynamic(mode=a.stride().index(1), stride_order=a.dim_order())",
        ),
        first_alone,
        made_contiguous,
        takes_16_bytes_for_granted,
        calls_it_at_once,
        runs_on_the_examples,
        runs_twice,
        clones_x,
    ],
    "17.6": [
        keeps_in_memory,
        from_disk("always_compiles", "Never looks.", "if not file.exists():", "if True:", "compiled again"),
        from_disk(
            "straight_to_the_name",
            "Half a file stays.",
            "str(half), name)\n        os.replace(half, file)",
            "str(file), name)",
            "before all of it is written",
        ),
        from_disk(
            "cleans_up",
            "Writes under the final name and removes the file after an error; a process that dies removes nothing.",
            "        compile().export_to_c(str(half), name)\n        os.replace(half, file)",
            "        try:\n            compile().export_to_c(str(file), name)\n        except BaseException:\n"
            "            file.unlink(missing_ok=True)\n            raise",
            "before all of it is written",
        ),
        from_disk("never_saves", "Saves nothing.", SAVE, "        return compile()", "no double.o"),
        from_disk("no_folder", "The folder must be there.", "        folder.mkdir(parents=True, exist_ok=True)\n", ""),
        from_disk("one_file", "One file for all names.", 'file = folder / f"{name}.o"', 'file = folder / "kernel.o"'),
        from_disk(
            "returns_the_module",
            "Gives the module.",
            "enable_tvm_ffi=True)[name]",
            "enable_tvm_ffi=True)",
            "should return the function",
        ),
        from_disk("without_ffi", "Loads it as a function of another kind.", ", enable_tvm_ffi=True)", ")"),
        from_disk(
            "compiles_twice",
            "Compiles, saves, and compiles again.",
            "        os.replace(half, file)",
            "        os.replace(half, file)\n        return compile()",
        ),
        from_disk(
            "each_call_twice",
            "Runs it once to warm up, each time.",
            "    return cute.runtime.load_module(str(file), enable_tvm_ffi=True)[name]",
            "    run = cute.runtime.load_module(str(file), enable_tvm_ffi=True)[name]\n"
            "    return lambda *given: (run(*given), run(*given))[1]",
        ),
        from_disk(
            "loads_in_each_call",
            "Loading takes longer than the launch.",
            "    return cute.runtime.load_module(str(file), enable_tvm_ffi=True)[name]",
            "    return lambda *given: cute.runtime.load_module(str(file), enable_tvm_ffi=True)[name](*given)",
            "loads the file again",
        ),
        from_disk("folder_for_file", "Looks for the folder.", "if not file.exists():", "if not folder.exists():"),
        from_disk(
            "name_of_its_own",
            "Every function is called kernel in its file.",
            "str(half), name)",
            'str(half), "kernel")',
        ),
        from_disk(
            "copies",
            "Copies a whole file to the final name.",
            "os.replace(half, file)",
            "file.write_bytes(half.read_bytes())\n        half.unlink()",
            "a copy of the file",
        ),
        from_disk(
            "one_temporary_name",
            "Two processes that compile the same function write to one file.",
            "{name}.{os.getpid()}.o",
            "{name}.new",
            "two processes",
        ),
        from_disk(
            "in_another_folder",
            "Renames a file from the system's folder for temporary files.",
            "half = folder /",
            "half = Path(tempfile.mkdtemp()) /",
            "another file system",
        ),
        from_disk(
            "exports_twice",
            "To see whether it works; each export compiles the host code.",
            "        compile().export_to_c(str(half), name)\n",
            "        compiled = compile()\n        compiled.export_to_c(str(half), name)\n"
            "        compiled.export_to_c(str(half), name)\n",
            "export_to_c was called 2 times",
        ),
        from_disk(
            "leaves_mkstemps_file",
            "Adds a suffix to the name of a file that mkstemp has made.",
            'half = folder / f"{name}.{os.getpid()}.o"',
            'half = Path(tempfile.mkstemp(dir=folder)[1] + ".o")',
            "saving double twice leaves",
        ),
        from_disk(
            "links",
            "A second name for the file, which keeps its first one.",
            "os.replace(half, file)",
            "os.link(half, file)",
            "saving double twice leaves",
        ),
        from_disk(
            "moved_first",
            "Gives the file its name while it is still being written.",
            "        compile().export_to_c(str(half), name)\n        os.replace(half, file)",
            "        half.touch()\n        os.replace(half, file)\n        compile().export_to_c(str(file), name)",
        ),
    ],
}
