"""CUDA host code where there is no GPU: a runtime library that keeps the GPU's memory apart, and a GPU that adds.

A program that is linked with `runtime.cpp` in the place of libcudart runs as with a GPU of one kernel: every launch
of a kernel (const float*, const float*, float*, int) adds vectors in tiles of 1,024 elements. Another process carries
it out, at the other end of the program's stdin: see `gpu`. The library prints to stderr what is wrong with how it is
called, a line each, after NOTICED.
"""

from pathlib import Path

RUNTIME = Path(__file__).with_name("runtime.cpp")
NOTICED = "noticed: "
