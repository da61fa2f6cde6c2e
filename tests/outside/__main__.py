"""`python -m tests.outside [PATTERN]`: run the cases whose names match."""

import json
import re
import sys
from pathlib import Path

import torch

from tests.outside.runs import run_apart
from tests.outside.table import all_cases

torch.set_num_threads(1)
import cutlass
import cutlass.cute  # noqa: F401

pattern = sys.argv[1] if len(sys.argv) > 1 else ""
out = Path(sys.argv[2]) if len(sys.argv) > 2 else None
results = []
for case in all_cases():
    if re.search(pattern, str(case)):
        o = run_apart(case)
        unknown = sorted({k for t in o.opcodes.values() for k, v in t.items() if not v})
        print(
            f"{o.outcome:6} {o.seconds:6.1f}s {o.launches:3} {o.instructions:9,} {case} | {o.why} | findings {len(o.findings)} {o.findings[:2]} | unknown {unknown}",
            flush=True,
        )
        results.append(o)
        if out:
            from dataclasses import asdict

            out.write_text(json.dumps([asdict(r) for r in results]))
