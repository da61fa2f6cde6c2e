"""Wrong answers to notebook 17: graphs, a bound, and other targets."""

from collections import OrderedDict
from functools import lru_cache, partial
from threading import Lock, RLock

import torch
from cuda.bindings.driver import CUstream

from tests.pages.n17_compile_once.compiling_once import wrong
from tests.pages.table import says

graph_wrong, bound_wrong, target_wrong = (partial(wrong, id) for id in ("17.11", "17.12", "17.13"))

# 17.11 ----------------------------------------------------------------------------------------------------------

STREAM = "CUstream(torch.cuda.current_stream().cuda_stream)"
BUFFERS = "    x, y = x.clone(), torch.empty_like(y)\n"
REPLAY = "        x.copy_(new)\n        graph.replay()\n        return y"
LAUNCH = f"    def launch():\n        launches(x, y, {STREAM})\n"
CAPTURE = "    with torch.cuda.graph(graph):\n        launch()\n"


def now():
    return CUstream(torch.cuda.current_stream().cuda_stream)


@says("before it has captured a graph")
def without_a_graph(launches, x, y):
    """Launches for every input."""
    x, y = x.clone(), torch.empty_like(y)

    def replay(new):
        x.copy_(new)
        launches(x, y, now())
        return y

    return replay


POOL = {}


@says("each needs buffers of its own")
def buffers_for_all(launches, x, y):
    """One pair of buffers for all graphs of a size."""
    x, y = POOL.setdefault(x.shape, (x.clone(), torch.empty_like(y)))
    launches(x, y, now())
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launches(x, y, now())

    def replay(new):
        x.copy_(new)
        graph.replay()
        return y

    return replay


def copies_in_the_capture(launches, x, y):
    """The copy is in the graph, and copies the example."""
    static_x, y = x.clone(), torch.empty_like(y)
    launches(static_x, y, now())
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        static_x.copy_(x)
        launches(static_x, y, now())

    def replay(new):
        static_x.copy_(new)
        graph.replay()
        return y

    return replay


GRAPHS = [
    copies_in_the_capture,
    without_a_graph,
    graph_wrong(
        "stream_of_before",
        "Asks for the stream once, before the capture.",
        LAUNCH,
        f"    stream = {STREAM}\n\n    def launch():\n        launches(x, y, stream)\n",
        "default stream",
    ),
    graph_wrong(
        "on_its_own_stream",
        "Launches on a stream of its own, which is not the one that is captured.",
        LAUNCH,
        "    side = torch.cuda.Stream()\n\n    def launch():\n        launches(x, y, CUstream(side.cuda_stream))\n",
        "holds no launch",
    ),
    buffers_for_all,
    graph_wrong(
        "elsewhere",
        "Replays on another stream, and nothing waits for it.",
        f"    def replay(new):\n{REPLAY}",
        "    side = torch.cuda.Stream()\n\n    def replay(new):\n        x.copy_(new)\n"
        "        with torch.cuda.stream(side):\n            graph.replay()\n        return y",
        "nothing waits",
    ),
    graph_wrong("no_first_launch", "Loads in the capture.", "    launch()\n    graph =", "    graph =", "first launch"),
    graph_wrong("never_copies", "Replays on the old input.", "        x.copy_(new)\n", "", "earlier x"),
    graph_wrong(
        "rebinds", "Gives the name another tensor.", "        x.copy_(new)\n", "        x = new\n", "earlier x"
    ),
    graph_wrong("on_the_examples", "Takes the caller's tensors for buffers.", BUFFERS, "", "belongs to the caller"),
    graph_wrong(
        "their_x", "Takes the caller's x for its buffer.", "x, y = x.clone(), torch", "y = torch", "the example x"
    ),
    graph_wrong(
        "captures_each_time",
        "Captures in every call.",
        "        x.copy_(new)\n",
        "        x.copy_(new)\n        graph = torch.cuda.CUDAGraph()\n        with torch.cuda.graph(graph):\n            launch()\n",
        "captures a graph again",
    ),
    graph_wrong(
        "launches_too",
        "Launches after the replay.",
        "        graph.replay()\n",
        "        graph.replay()\n        launch()\n",
        "launches the kernels again",
    ),
    graph_wrong(
        "waits",
        "Waits for the GPU.",
        "        graph.replay()\n",
        "        graph.replay()\n        torch.cuda.synchronize()\n",
        "waits for the GPU",
    ),
    graph_wrong(
        "waits_in_the_capture",
        "Waits in the capture.",
        CAPTURE,
        CAPTURE + "        torch.cuda.synchronize()\n",
        "during a capture",
    ),
    graph_wrong(
        "looks_in_the_capture",
        "Looks at the result in the capture.",
        CAPTURE,
        CAPTURE + "        assert y[0] == y[0].item()\n",
        "during a capture",
    ),
    graph_wrong(
        "captures_twice", "Holds the launches twice.", CAPTURE, CAPTURE + "        launch()\n", "the graph holds 6"
    ),
    graph_wrong("returns_the_graph", "Gives the graph's own method.", "    return replay", "    return graph.replay"),
    graph_wrong("gives_nothing", "Forgets y.", "        return y\n", "        pass\n", "should return y"),
    graph_wrong("never_replays", "Only copies.", "        graph.replay()\n", "", "replays the graph 0"),
    graph_wrong(
        "copies_twice",
        "Copies x to a tensor of its own first.",
        "x.copy_(new)",
        "x.copy_(new.clone())",
        "2 operations of torch's before",
    ),
    graph_wrong(
        "empties_y", "The kernels overwrite it.", "x.copy_(new)", "x.copy_(new)\n        y.zero_()", "one copy"
    ),
    graph_wrong(
        "copies_y_twice", "Two copies of y.", "        return y\n", "        return y.clone().clone()\n", "after"
    ),
    graph_wrong("no_handle", "Passes no stream.", STREAM, "None", "no stream"),
    graph_wrong(
        "stale_graph",
        "Replays what was never captured.",
        "        graph.replay()\n",
        "        torch.cuda.CUDAGraph().replay()\n",
        "captured nothing",
    ),
]

# 17.12 ----------------------------------------------------------------------------------------------------------


class OneLock:
    """One lock around all of a call."""

    def __init__(self, compile, key, most):
        self.compile, self.key, self.most = compile, key, most
        self.kept, self.lock = OrderedDict(), Lock()

    def __call__(self, *tensors):
        key = self.key(*tensors)
        with self.lock:
            if key not in self.kept:
                self.kept[key] = self.compile(*tensors)
                if len(self.kept) > self.most:
                    self.kept.popitem(last=False)
            self.kept.move_to_end(key)
            return self.kept[key](*tensors)


class OneLockToCompile(OneLock):
    """One lock; the call is outside of it, the compilation is not."""

    def __call__(self, *tensors):
        key = self.key(*tensors)
        with self.lock:
            if key not in self.kept:
                self.kept[key] = self.compile(*tensors)
                if len(self.kept) > self.most:
                    self.kept.popitem(last=False)
            self.kept.move_to_end(key)
            compiled = self.kept[key]
        return compiled(*tensors)


class NoLock(OneLock):
    """No lock at all."""

    def __call__(self, *tensors):
        key = self.key(*tensors)
        if key not in self.kept:
            compiled = self.compile(*tensors)
            self.kept[key] = compiled
            if len(self.kept) > self.most:
                self.kept.popitem(last=False)
        self.kept.move_to_end(key)
        return self.kept[key](*tensors)


class LooksOnce(OneLock):
    """Does not look again when it has the lock."""

    def __init__(self, compile, key, most):
        super().__init__(compile, key, most)
        self.looking = Lock()

    def __call__(self, *tensors):
        key = self.key(*tensors)
        with self.looking:
            compiled = self.kept.get(key)
            if compiled is not None:
                self.kept.move_to_end(key)
        if compiled is None:
            with self.lock:
                compiled = self.compile(*tensors)
                with self.looking:
                    self.kept[key] = compiled
                    if len(self.kept) > self.most:
                        self.kept.popitem(last=False)
        return compiled(*tensors)


class ByLruCache:
    """functools.lru_cache, which has a bound and a lock, but lets two threads compile."""

    def __init__(self, compile, key, most):
        self.key, self.now = key, {}
        self.kept = lru_cache(most)(lambda name: compile(*self.now[name]))

    def __call__(self, *tensors):
        key = self.key(*tensors)
        self.now[key] = tensors
        return self.kept(key)(*tensors)


class Reentrant(OneLock):
    """A lock that a thread can take twice: other threads wait all the same."""

    def __init__(self, compile, key, most):
        super().__init__(compile, key, most)
        self.lock = RLock()


INSERT = "                        self.kept[key] = compiled\n"
EVICT = "                        if len(self.kept) > self.most:\n                            self.kept.popitem(last=False)\n"
COMPILE = "                    compiled = self.compile(*tensors)\n"

BOUNDED = [
    OneLock,
    OneLockToCompile,
    NoLock,
    LooksOnce,
    ByLruCache,
    Reentrant,
    bound_wrong(
        "CallsAtOnce",
        "Calls a new function before it releases the lock for compiling.",
        EVICT,
        EVICT + "                return compiled(*tensors)\n",
        "another thread's compilation waits",
    ),
    bound_wrong(
        "LooksUnlocked",
        "Looks up without the lock.",
        "            with self.looking:\n                if key",
        "            if self.looking:\n                if key",
        "while one thread looks up",
    ),
    bound_wrong(
        "InsertsUnlocked",
        "Inserts and evicts without the lock.",
        "                    with self.looking:\n",
        "                    if self.looking:\n",
        "while one thread looks up",
    ),
    bound_wrong("Unbounded", "Evicts nothing.", EVICT, "", "should have been evicted"),
    bound_wrong(
        "FirstIn",
        "Evicts the oldest, used or not.",
        "                    self.kept.move_to_end(key)\n",
        "                    pass\n",
    ),
    bound_wrong("LastIn", "Evicts the newest.", "popitem(last=False)", "popitem()"),
    bound_wrong("OneTooFew", "Keeps one less.", "> self.most", ">= self.most"),
    bound_wrong("OneTooMany", "Keeps one more.", "> self.most", "> self.most + 1"),
    bound_wrong("ClearsAll", "Starts afresh when it is full.", "self.kept.popitem(last=False)", "self.kept.clear()"),
    bound_wrong(
        "EvictsFirst",
        "Makes room before it knows that there is something to keep.",
        COMPILE,
        "                    if len(self.kept) == self.most:\n                        self.kept.popitem(last=False)\n"
        + COMPILE,
    ),
    bound_wrong(
        "Swallows",
        "A compilation that fails gives None.",
        COMPILE,
        "                    try:\n                        compiled = self.compile(*tensors)\n                    except RuntimeError:\n                        return None\n",
        "raise, too",
    ),
    bound_wrong(
        "KeepsFailures",
        "A compilation that fails is kept.",
        COMPILE,
        "                    try:\n                        compiled = self.compile(*tensors)\n                    except RuntimeError as error:\n                        self.kept[key] = error\n                        raise\n",
    ),
    bound_wrong(
        "KeepsAList",
        "Evicted functions are in a list besides.",
        INSERT,
        INSERT + "                        self.made = [*getattr(self, 'made', []), compiled]\n",
        "still referred to",
    ),
    bound_wrong(
        "TakesItTwice",
        "Looks while it holds the lock for looking.",
        "                    with self.looking:\n",
        "                    with self.looking:\n                        look()\n",
        "does not return",
    ),
    bound_wrong(
        "CallsUnderTheLock",
        "Holds the lock for looking while the function runs.",
        "        return compiled(*tensors)",
        "        with self.looking:\n            return compiled(*tensors)",
        "a lock is held during the call",
    ),
    bound_wrong(
        "KeepsResults",
        "Keeps what the function returned, not the function.",
        "compiled = self.compile(*tensors)",
        "compiled = (lambda got: lambda *tensors: got)(self.compile(*tensors)(*tensors))",
        "what its own function returns",
    ),
    bound_wrong(
        "RunsToWarmUp",
        "Runs a new function once more.",
        "compiled = self.compile(*tensors)",
        "compiled = self.compile(*tensors)\n                    compiled(*tensors)",
        "more than once",
    ),
    bound_wrong(
        "KeepsTensors",
        "Keeps what each function was called with first.",
        INSERT,
        INSERT + "                        self.first = {**getattr(self, 'first', {}), key: tensors}\n",
        "still refers to",
    ),
    bound_wrong("ByTheFirst", "Compiles for no tensors.", "self.compile(*tensors)", "self.compile()"),
    bound_wrong("CallsNothing", "Returns the function.", "return compiled(*tensors)", "return compiled"),
]

# 17.13 ----------------------------------------------------------------------------------------------------------

OPTIONS = 'f"--enable-tvm-ffi --gpu-arch {target}"'
FILE = 'f"{name}.{target}.o"'
SAVE = "compiled.export_to_c(str(folder / " + FILE + "), name)"

TARGETS = [
    target_wrong(
        "first_for_all", "Compiles for the first target alone.", '{target}")', '{targets[0]}")', "not compiled for"
    ),
    target_wrong(
        "always_hopper",
        "One target, whatever is asked.",
        "--gpu-arch {target}",
        "--gpu-arch sm_90a",
        "not compiled for",
    ),
    target_wrong(
        "without_the_letter",
        "Leaves the letter off.",
        OPTIONS,
        'f"--enable-tvm-ffi --gpu-arch {target.rstrip(chr(97))}"',
        "not compiled for",
    ),
    target_wrong("no_target", "Leaves the target to the DSL, which finds no GPU.", " --gpu-arch {target}", ""),
    target_wrong("without_ffi", "Another calling convention.", "--enable-tvm-ffi ", "", "DSLRuntimeError"),
    target_wrong(
        "compiled_twice",
        "Compiles to see whether it compiles.",
        "        compiled =",
        f"        cute.compile(host, *arguments, options={OPTIONS})\n        compiled =",
        "one for each is enough",
    ),
    target_wrong(
        "not_optimized", "For debugging.", "--enable-tvm-ffi ", "--enable-tvm-ffi --opt-level 0 ", "optimized"
    ),
    target_wrong(
        "ptxas_does_not_optimize",
        "LLVM optimizes, the assembler does not.",
        "--enable-tvm-ffi ",
        "--enable-tvm-ffi --ptxas-options -O0 ",
        "optimized",
    ),
    target_wrong("one_file", "Each file over the one before.", FILE, 'f"{name}.o"', "there is no"),
    target_wrong("never_saves", "Compiles, and saves nothing.", SAVE, "pass", "but nothing"),
    target_wrong(
        "named_by_target",
        "The function's name has the target.",
        '.o"), name)',
        '.o"), f"{name}_{target}")',
        "finds no function",
    ),
    target_wrong(
        "ptx_alone",
        "Writes the text of the kernel.",
        SAVE,
        '(folder / f"{name}.{target}.o").write_text(str(host))',
        "no kernel",
    ),
    target_wrong("ends_early", "Returns in the loop.", SAVE, SAVE + "\n        return"),
    target_wrong("by_number", "Names the files by number.", FILE, 'f"{name}.{targets.index(target)}.o"', "there is no"),
    target_wrong(
        "keeps_more",
        "Leaves other files there, too.",
        SAVE,
        SAVE + '\n        (folder / f"{name}.{target}.txt").touch()',
        "for 3 targets",
    ),
]

WRONG = {"17.11": GRAPHS, "17.12": BOUNDED, "17.13": TARGETS}
