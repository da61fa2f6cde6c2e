"""C++ names of functions in machine code and PTX."""

import ctypes
import re
from functools import cache


@cache
def cpp_name(mangled: str) -> str:
    """ "scale<float, 3>" of "_Z5scaleIfLi3EEvPKT_PS0_": without result and parameters. Other names stay as they are."""
    demangle = ctypes.CDLL("libstdc++.so.6").__cxa_demangle
    demangle.restype, demangle.argtypes = ctypes.c_void_p, [ctypes.c_char_p, *[ctypes.c_void_p] * 3]
    if not (found := demangle(mangled.encode(), None, None, None)):
        return mangled
    name = ctypes.string_at(found).decode().removeprefix("void ")
    return re.sub(r"\((?!anonymous).*$", "", name)
