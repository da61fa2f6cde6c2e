"""The points that every listed answer has on a machine without a GPU. oracle.tsv keeps them, an answer a line.

`python -m tests.pages.oracle` computes them anew, names each answer whose status or points differ, and fails if one
does; --write writes them instead. An answer is graded in full, in a fork of the process that has loaded all of them.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stdout, suppress
from io import StringIO
from multiprocessing import connection, get_context
from pathlib import Path
from typing import Any

from tests.sample import computed

ORACLE = Path(__file__).with_suffix(".tsv")
SEED = 20

Key = tuple[str, ...]  # exercise, list, answer
Row = tuple[str, ...]  # status, points, most points, kinds of failure


def listed() -> dict[Key, Callable[[], Any]]:
    """Every answer, as a function that makes it; of several of one name, all but the first are numbered."""
    with redirect_stdout(StringIO()):  # some cells print
        from tests.pages.answers import RIGHT, WRONG
        from tutorlib.course.answers import load_answers
        from tutorlib.paths import notebook_names

        solutions = {exercise: one for name in notebook_names() for exercise, one in load_answers(name).items()}
    found: dict[Key, Callable[[], Any]] = {
        (exercise, "solution", getattr(one, "__name__", type(one).__name__)): lambda one=one: one
        for exercise, one in solutions.items()
    }
    names = Counter[Key]()
    for kind, table in (("right", RIGHT), ("wrong", WRONG)):
        for exercise, answers in table.items():
            for answer in answers:
                key = (exercise, kind, answer.name)
                names[key] += 1
                found[(*key[:2], f"{key[2]} {names[key]}") if names[key] > 1 else key] = answer.build
    return found


def grade(exercise: str, make: Callable[[], Any], sender: connection.Connection) -> None:
    """In a process of its own, which leads a group, for those that the answer starts."""
    from tests.pages.answers import found
    from tutorlib.exercises import find

    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    outcome = find(exercise).grade(make())
    sender.send((outcome.status, f"{outcome.points:g}", str(outcome.max_points), "; ".join(sorted(found(outcome)))))


def graded(answers: Iterable[tuple[Key, Callable[[], Any]]], jobs: int, limit: float) -> Iterator[tuple[Key, Row]]:
    """The rows, as they come; a status may be "crash" or "timeout", too."""
    context = get_context("fork")
    waiting, running = iter(answers), dict[connection.Connection, tuple[Key, Any, float]]()
    try:
        while True:
            while len(running) < jobs and (following := next(waiting, None)):
                key, answer = following
                receiver, sender = context.Pipe(duplex=False)
                process = context.Process(target=grade, args=(key[0], answer, sender))
                process.start()
                sender.close()
                running[receiver] = (key, process, time.monotonic() + limit)
            if not running:
                return
            ready = connection.wait(list(running), timeout=1)
            for receiver, (key, _, until) in list(running.items()):
                if receiver in ready or time.monotonic() > until:
                    row: Row = ("crash" if receiver in ready else "timeout", "-", "-", "")
                    with suppress(EOFError):
                        row = receiver.recv() if receiver in ready else row
                    end(running.pop(receiver)[1])
                    yield key, row
    finally:
        for _, process, _ in running.values():
            end(process)


def end(process: Any) -> None:
    """With all that it started."""
    process.kill()
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.join()


def read(file: Path) -> dict[Key, Row]:
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    rows = (tuple(line.split("\t")) for line in lines)
    return {row[:3]: row[3:] for row in rows if len(row) == 7}


def line(key: Key, row: Row) -> str:
    return "\t".join((*key, *row)) + "\n"


def in_order(key: Key) -> tuple:
    return (*map(int, key[0].split(".")), *key[1:])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.pages.oracle", description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write {ORACLE.name} instead of comparing with it")
    parser.add_argument("--show", action="store_true", help="print messages and remedies instead")
    parser.add_argument("--pages", nargs="+", default=[""], help='"05", or "05.3" for an exercise; without it, all')
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--limit", type=float, default=180, help="seconds for an answer")
    parser.add_argument("--out", type=Path, default=Path(os.devnull), help="a file that gets each row as it comes")
    parser.add_argument("--resume", action="store_true", help="take what --out has, and go on")
    parser.add_argument("--compare", type=Path, default=ORACLE, help="a file to compare with, in place of it")
    options = parser.parse_args()
    started = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # and all that it started
    os.environ |= {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}  # torch and numpy are not loaded yet

    def wanted(key: Key) -> bool:
        return any(page in ("", key[0], key[0][:2]) for page in options.pages)

    with tempfile.TemporaryDirectory(prefix="tutor-oracle-") as tempfile.tempdir:
        answers = {key: answer for key, answer in listed().items() if wanted(key)}
        from tutorlib.checking.randomness import fix_seed
        from tutorlib.exercises import find

        fix_seed(SEED)
        if options.show:
            for key, make in answers.items():
                outcome = find(key[0]).grade(make())
                print(*key, f"{outcome.points:g} of {outcome.max_points}", outcome.message, outcome.remedy, sep="\n")
            return 0
        had = read(options.out) if options.resume else {}
        rows = {key: row for key, row in had.items() if key in answers}
        left = sorted(answers.keys() - rows.keys(), key=in_order)  # the last pages are no costly ones
        with options.out.open("w", encoding="utf-8", buffering=1) as out:  # a line may have been cut off
            out.writelines(line(*one) for one in had.items())
            for key, row in graded(((key, answers[key]) for key in left), options.jobs, options.limit):
                rows[key] = row
                out.write(line(key, row))
    if options.write:
        kept = {key: row for key, row in read(ORACLE).items() if not wanted(key)} | rows
        ORACLE.write_text("".join(line(key, kept[key]) for key in sorted(kept, key=in_order)), encoding="utf-8")
    before = {key: row for key, row in read(options.compare).items() if wanted(key)}
    differing = [key for key in before.keys() | rows.keys() if before.get(key, ())[:3] != rows.get(key, ())[:3]]
    for key in sorted(differing, key=in_order):
        was, now = (" ".join(some.get(key, ("not listed",))[:3]) for some in (before, rows))
        print(f"{' '.join(key)}: {was} → {now}")
    counts = ", ".join(f"{n} {status}" for status, n in Counter(row[0] for row in rows.values()).most_common())
    took = f"{time.monotonic() - started:.0f} s, {computed():.0f} s of processor time"
    print(f"{len(rows)} answers: {counts}; {len(differing)} differ; {took}")
    return bool(differing)


if __name__ == "__main__":
    sys.exit(main())
