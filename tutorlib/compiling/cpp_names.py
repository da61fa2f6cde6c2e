"""C++ names of functions in machine code and PTX."""

import ctypes
import re
from functools import cache


def cpp_name(mangled: str) -> str:
    """ "scale<float, 3>" of "_Z5scaleIfLi3EEvPKT_PS0_": without result and parameters. Other names stay as they are."""
    return re.sub(r"\((?!anonymous).*$", "", demangled(mangled).removeprefix("void ")) or mangled


def variable_name(mangled: str) -> str:
    """ "tile" of "_ZZ6kernelPfE4tile", a variable of a function. "" for a name that C++ has not mangled."""
    return demangled(mangled).rpartition("::")[2]


@cache
def demangled(mangled: str) -> str:
    """The whole declaration; "" where the name is not mangled."""
    demangle = ctypes.CDLL("libstdc++.so.6").__cxa_demangle
    demangle.restype, demangle.argtypes = ctypes.c_void_p, [ctypes.c_char_p, *[ctypes.c_void_p] * 3]
    found = demangle(mangled.encode(), None, None, None)
    return ctypes.string_at(found).decode() if found else ""
