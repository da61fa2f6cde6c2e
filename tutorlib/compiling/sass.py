"""Machine code as the GPU runs it, SASS, read from a cubin with nvdisasm."""

import re
import subprocess
import tempfile

from tutorlib.compiling.outside import packaged_program

NAMES = {  # instructions of a kernel with cp.async, ldmatrix and mma.sync: PTX → nvdisasm's name
    "cp.async": "LDGSTS",
    "commit_group": "LDGDEPBAR",
    "wait_group": "DEPBAR",
    "bar.sync": "BAR.SYNC",
    "ldmatrix": "LDSM",
    "mma.sync": "HMMA",
    "bra": "BRA",
}
SASS_OPCODES = {name: rf"(?:@!?U?P\d+ )?{re.escape(name)}\b" for name in NAMES.values()}  # with its predicate


def disassemble(cubin: bytes) -> str:
    """The instructions of a cubin, a line each: predicate, opcode, operands; labels in lines of their own.

    Raises ToolMissing.
    """
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        nvdisasm = str(packaged_program("nvidia-cuda-nvdisasm", "nvdisasm"))
        listing = subprocess.run([nvdisasm, "-c", file.name], capture_output=True, text=True, check=True).stdout
    return read_listing(listing)


def read_listing(listing: str) -> str:
    """nvdisasm's listing without addresses, directives and comments."""
    found = re.findall(r"(?m)^(\.L_\w+:)|^\s+/\*[0-9a-f]+\*/\s+(.*?)\s*;", listing)
    return "\n".join(label or " ".join(text.split()) for label, text in found)


def main_loop_of(sass: str) -> str:
    """The lines of the loop that multiplies: from a label to the branch back to it, with the most HMMA; "" for none."""
    lines = sass.splitlines()
    labels = {line.rstrip(":"): n for n, line in enumerate(lines) if line.endswith(":")}
    loops = [
        "\n".join(lines[labels[target[1]] + 1 : n + 1])
        for n, line in enumerate(lines)
        if (target := re.search(r"\bBRA\b.*?`\((\.L_\w+)\)", line)) and labels.get(target[1], n) < n
    ]
    return max(loops, key=lambda loop: loop.count("HMMA"), default="")
