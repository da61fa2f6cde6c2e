"""Reading a cubin: its sections, and the resources that a kernel asks for."""

import struct
from collections.abc import Iterator

EIATTR_FRAME_SIZE, EIATTR_REGCOUNT = 0x11, 0x2F


def resources(cubin: bytes) -> tuple[int, int, int]:
    """Registers and stack bytes of each thread, static shared bytes of each block: what `cuobjdump -res-usage` shows.

    The section .nv.info is a list of attributes: a format byte, an attribute byte and a 16-bit value; format 4 says
    that the value counts the bytes that follow, here a symbol and a number (names as `cuobjdump -elf` prints them).
    """
    registers = stack = smem = 0
    for name, kind, size, data in sections(cubin):
        if name.startswith(".nv.shared.") and kind == SHT_NOBITS:
            smem = max(smem, size)
        if name != ".nv.info":
            continue
        at = 0
        while at < len(data):
            form, attribute, length = struct.unpack_from("<BBH", data, at)
            at += 4
            if form != 4:
                continue
            if attribute == EIATTR_REGCOUNT:
                registers = max(registers, struct.unpack_from("<II", data, at)[1])
            if attribute == EIATTR_FRAME_SIZE:
                stack = max(stack, struct.unpack_from("<II", data, at)[1])
            at += length
    return registers, stack, smem


SHT_NOBITS = 8  # a section that takes memory and no bytes of the file


def sections(elf: bytes) -> Iterator[tuple[str, int, int, bytes]]:
    """Name, type, size and bytes of each section of a little-endian ELF64 file."""
    (table,) = struct.unpack_from("<Q", elf, 40)
    count, names = struct.unpack_from("<HH", elf, 60)
    headers = [struct.unpack_from("<IIQQQQIIQQ", elf, table + 64 * n) for n in range(count)]
    for name, kind, _, _, offset, size, *_ in headers:
        start = headers[names][4] + name
        data = b"" if kind == SHT_NOBITS else elf[offset : offset + size]
        yield elf[start : elf.index(b"\0", start)].decode(), kind, size, data
