"""Unusual right answers to notebook 17: graphs, a bound, and other targets."""

import os
from collections import OrderedDict, defaultdict
from concurrent.futures import Future
from contextlib import suppress
from itertools import count
from threading import Condition, Lock

import torch
from cuda.bindings.driver import CUstream
from cutlass import cute

# 17.11 ----------------------------------------------------------------------------------------------------------


def warmed_up_aside(launches, x, y):
    """The first launches on another stream, as torch's documentation has it."""
    static_x, static_y = torch.clone(x), torch.zeros_like(y)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            launches(static_x, static_y, CUstream(side.cuda_stream))
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side):
        launches(static_x, static_y, CUstream(torch.cuda.current_stream().cuda_stream))

    def replay(new):
        static_x[:] = new
        graph.replay()
        return static_y.clone()

    return replay


def begins_and_ends(launches, x, y):
    """A capture without the block."""
    x, y, side, graph = x.clone(), y.clone(), torch.cuda.Stream(), torch.cuda.CUDAGraph()
    launches(x, y, CUstream(0))
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        graph.capture_begin()
        launches(x, y, CUstream(side.cuda_stream))
        graph.capture_end()

    def replay(new):
        assert new.shape == x.shape
        x.copy_(new.detach().contiguous().view_as(x), non_blocking=True)
        graph.replay()
        return y

    return replay


def output_in_the_graph(launches, x, y):
    """The graph's pool has the output, and the input's copy is made of another buffer in the graph."""
    outside, y = x.clone(), y.clone()
    launches(outside, y, CUstream(torch.cuda.current_stream().cuda_stream))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x = outside.clone()
        y = torch.empty_like(x)
        launches(x, y, CUstream(torch.cuda.current_stream().cuda_stream))

    def replay(new):
        outside.copy_(new)
        graph.replay()
        return y

    return replay


class Replay:
    """An object that is called; it replays on a stream of its own, and torch's waits for that."""

    def __init__(self, launches, x, y):
        self.x, self.y, self.side = x.detach().clone(), torch.empty_like(y), torch.cuda.Stream()
        launches(self.x, self.y, CUstream(torch.cuda.current_stream().cuda_stream))
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            launches(self.x, self.y, CUstream(torch.cuda.current_stream().cuda_stream))

    def __call__(self, x):
        self.x.copy_(x)
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            self.graph.replay()
        torch.cuda.current_stream().wait_stream(self.side)
        return self.y


# 17.12 ----------------------------------------------------------------------------------------------------------


class WithFutures:
    """Threads of one key share a future; compilations of other keys go on at the same time."""

    def __init__(self, compile, key, most):
        self.compile, self.key, self.most = compile, key, most
        self.kept, self.coming, self.lock = {}, {}, Lock()

    def __call__(self, *tensors):
        key = self.key(*tensors)
        with self.lock:
            compiled = self.kept.pop(key, None)
            if compiled is not None:
                self.kept[key] = compiled  # a dictionary has its newest key at its end
            future = self.coming.get(key)
            mine = compiled is None and future is None
            if mine:
                future = self.coming[key] = Future()
        if mine:
            try:
                made = self.compile(*tensors)
            except BaseException as error:
                with self.lock:
                    del self.coming[key]
                future.set_exception(error)
                raise
            with self.lock:
                del self.coming[key]
                self.kept[key] = made
                while len(self.kept) > self.most:
                    del self.kept[next(iter(self.kept))]
            future.set_result(made)
        if compiled is None:
            compiled = future.result()
        return compiled(*tensors)


class InOneLine:
    """No lock around lookups: each is one step of a dictionary, and a key that is gone by then is no error."""

    def __init__(self, compile, key, most):
        self.compile, self.key, self.most = compile, key, most
        self.kept, self.compiling = OrderedDict(), Lock()

    def look(self, key):
        with suppress(KeyError):
            self.kept.move_to_end(key)
        return self.kept.get(key)

    def __call__(self, *tensors):
        key = self.key(*tensors)
        if not (compiled := self.look(key)):
            with self.compiling:
                if not (compiled := self.look(key)):
                    compiled = self.kept[key] = self.compile(*tensors)
                    if len(self.kept) > self.most:
                        self.kept.popitem(last=False)
        return compiled(*tensors)


class ByNumber:
    """Remembers when each key was used, and has a lock for each key."""

    def __init__(self, compile, key, most):
        self.compile, self.key, self.most, self.now = compile, key, most, count()
        self.kept, self.used, self.lock, self.locks = {}, {}, Lock(), defaultdict(Lock)

    def found(self, key):
        with self.lock:
            if key in self.kept:
                self.used[key] = next(self.now)
            return self.kept.get(key), self.locks[key]

    def __call__(self, *tensors):
        key = self.key(*tensors)
        compiled, lock = self.found(key)
        if not compiled:
            with lock:
                compiled, _ = self.found(key)
                if not compiled:
                    compiled = self.compile(*tensors)
                    with self.lock:
                        if len(self.kept) == self.most:
                            del self.kept[min(self.kept, key=self.used.__getitem__)]
                        self.kept[key], self.used[key] = compiled, next(self.now)
        return compiled(*tensors)


def as_a_closure(compile, key, most):
    """A function, a list of pairs, and a condition for the keys that are being compiled."""
    kept, busy, changed = [], set(), Condition()

    def call(*tensors):
        name = key(*tensors)
        with changed:
            changed.wait_for(lambda: name not in busy)
            found = [pair for pair in kept if pair[0] == name]
            if found:
                kept.remove(found[0])
                kept.append(found[0])
            else:
                busy.add(name)
        if not found:
            try:
                found = [(name, compile(*tensors))]
                with changed:
                    kept.append(found[0])
                    del kept[:-most]
            finally:
                with changed:
                    busy.discard(name)
                    changed.notify_all()
        return found[0][1](*tensors)

    return call


# 17.13 ----------------------------------------------------------------------------------------------------------


def as_objects(targets, folder, name, host, *arguments):
    """The options as objects."""
    for target in targets:
        compiled = cute.compile[cute.EnableTVMFFI, cute.GPUArch(target)](host, *arguments)
        compiled.export_to_c(f"{folder}/{name}.{target}.o", name)


def written_aside(targets, folder, name, host, *arguments):
    """All are compiled first; each file gets its name when it is whole."""
    built = {one: cute.compile(host, *arguments, options=f"--gpu-arch={one} --enable-tvm-ffi") for one in targets}
    for target, compiled in built.items():
        half = folder / f"{name}.{os.getpid()}"
        compiled.export_to_c(str(half), name)
        half.rename(folder / f"{name}.{target}.o")


def optimized(targets, folder, name, host, *arguments):
    """With one more option, in a comprehension."""
    options = "--enable-tvm-ffi --opt-level 3 --gpu-arch "
    return [
        cute.compile(host, *arguments, options=options + target).export_to_c(
            object_file_path=str(folder.joinpath(f"{name}.{target}.o")), function_name=name
        )
        for target in targets
    ]


RIGHT = {
    "17.11": [warmed_up_aside, begins_and_ends, output_in_the_graph, Replay],
    "17.12": [WithFutures, InOneLine, ByNumber, as_a_closure],
    "17.13": [as_objects, written_aside, optimized],
}
