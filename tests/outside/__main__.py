"""Runs others' kernels and writes down what came of it.

python -m tests.outside run RESULTS [PATTERN]   the cases whose names match; each adds a line to the file RESULTS
python -m tests.outside write RESULTS           figures/data/simulator/coverage.json and docs/coverage.md, of RESULTS
python -m tests.outside page                    docs/coverage.md again, of the JSON
python -m tests.outside pack FOLDER [PATTERN]   their launches that a Hopper GPU can repeat, for tests.outside.gpu_runs
"""

import json
import re
import sys
from dataclasses import asdict
from pathlib import Path

from tests.outside.coverage import DATA, FAULTS_DATA, PAGE, coverage_of, page
from tests.outside.faults import planted_in
from tests.outside.packing import TARGETS, pack
from tests.outside.runs import Outcome, run
from tests.outside.table import all_cases


def main(command: str, *args: str) -> None:
    if command == "run":
        results, pattern = Path(args[0]), args[1] if len(args) > 1 else ""
        for case in all_cases():
            if re.search(pattern, str(case)):
                outcome = run(case)
                with results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(outcome)) + "\n")
                print(
                    f"{outcome.outcome:6} {outcome.seconds:6.1f} s  {case} {outcome.why} {outcome.findings}", flush=True
                )
    if command == "write":
        lines = Path(args[0]).read_text(encoding="utf-8").splitlines()
        outcomes = {(one["source"], one["kernel"]): Outcome(**one) for one in map(json.loads, lines)}
        DATA.write_text(json.dumps(coverage_of(outcomes), indent=1) + "\n", encoding="utf-8")
    if command == "faults":
        found = {str(case): planted_in(case) for case in all_cases() if re.search(args[0], str(case))}
        FAULTS_DATA.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if command == "pack":
        folder, pattern = Path(args[0]).resolve(), args[1] if len(args) > 1 else ""
        folder.mkdir(parents=True, exist_ok=True)
        for case in all_cases():
            if case.target in TARGETS and re.search(pattern, str(case)):
                print(case, *pack(case, folder), flush=True)
    if command in ("write", "page"):
        data, faults = (json.loads(file.read_text(encoding="utf-8")) for file in (DATA, FAULTS_DATA))
        PAGE.write_text(page(data, faults), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
