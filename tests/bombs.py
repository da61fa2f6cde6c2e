"""Small texts and files that make their reader compute or allocate without end. All of them are deterministic."""

import io
import zipfile


def compiled_twice_each(depth: int = 40) -> str:
    """Nested `finally` blocks: Python's compiler writes each of them twice, so 40 levels are 2**40 copies."""
    lines = [line for n in range(depth) for line in (f"{' ' * n}try:", f"{' ' * n} pass", f"{' ' * n}finally:")]
    return "\n".join([*lines, f"{' ' * depth}pass"])


def in_a_function(bomb: str) -> str:
    indented = "\n".join(f"    {line}" for line in bomb.split("\n"))
    return f"def answer(n):\n{indented}\n    return n"


def lists_in_lists(size: int = 2**24) -> bytes:
    """JSON whose every two bytes are a list of 56."""
    return b'{"cells": [' + b"[]," * (size // 3) + b"[]]}"


def swelling(packing: int, size: int = 2**28) -> bytes:
    """A zip with one member that is `size` bytes of nothing."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", packing) as archive:
        archive.writestr("00_start.ipynb", bytes(size))
    return file.getvalue()
