"""The gradebook: one SQLite file, which holds a submission completely or not at all."""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tutorlib.checking.exercise import Outcome
from tutorlib.classroom import CannotGrade

VERSION = 6
SCHEMA = """
create table submissions (
    student text primary key,
    content text not null,   -- a hash of the files, of the course and of what grades
    wanted text not null,    -- the notebooks that were asked for, as JSON; null: all that were handed in
    seed text,               -- of the random inputs
    utc text not null,
    graded text not null     -- `Graded`, as JSON
);
-- What a reader of the file looks for in the JSON.
create view outcomes as
select student, json_extract(value, '$.id') as exercise, json_extract(value, '$.title') as title,
    json_extract(value, '$.status') as status, json_extract(value, '$.points') as points,
    json_extract(value, '$.counts') as counts, json_extract(value, '$.message') as message,
    json_extract(value, '$.measurement') as measurement
from submissions, json_each(graded, '$.judged');
create view answers as
select student, json_extract(value, '$[0]') as exercise, json_extract(value, '$[1]') as text
from submissions, json_each(graded, '$.answers');
create view notes as select student, value as line from submissions, json_each(graded, '$.notes');
"""


@dataclass(frozen=True)
class Judged:
    """One exercise's outcome. counts: how many points it could give on the machine that graded it."""

    outcome: Outcome
    counts: float


@dataclass(frozen=True)
class Graded:
    """A student's graded hand-in, as plain data.

    notebooks: (name, file) of each graded notebook. notes: lines about other files. failed: why the grader itself
    ended, or "". seconds: the time that it took. answers: (exercise, text of its answer as it was handed in).
    """

    judged: tuple[Judged, ...] = ()
    notebooks: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    failed: str = ""
    answers: tuple[tuple[str, str], ...] = ()

    def dumps(self) -> bytes:
        judged = [{**asdict(verdict.outcome), "counts": verdict.counts} for verdict in self.judged]
        return json.dumps({**asdict(self), "judged": judged}).encode()

    @classmethod
    def loads(cls, text: bytes) -> "Graded":
        data: dict[str, Any] = json.loads(text)
        judged = tuple(
            Judged(Outcome(**verdict), counts) for verdict in data["judged"] for counts in [verdict.pop("counts")]
        )
        pairs = {name: tuple((key, value) for key, value in data[name]) for name in ("notebooks", "answers")}
        return cls(**data | pairs | {"judged": judged, "notes": tuple(data["notes"])})


@dataclass(frozen=True)
class Submission:
    """One student's submission, as the gradebook has it. utc: when it was graded."""

    student: str
    content: str
    wanted: tuple[str, ...] | None
    seed: int | None
    utc: str
    graded: Graded

    def answers(self, content: str, wanted: tuple[str, ...] | None, seed: int | None) -> bool:
        """Whether it need not be graded again: the same content, no more notebooks wanted, the seed that is set."""
        enough = self.wanted is None or (wanted is not None and set(wanted) <= set(self.wanted))
        return self.content == content and enough and not self.graded.failed and seed in (None, self.seed)


class Gradebook:
    """An open gradebook. Every method raises CannotGrade; the file is then as it was before."""

    def __init__(self, path: Path, db: sqlite3.Connection) -> None:
        self.path, self.db = path, db

    def put(self, submission: Submission) -> None:
        """Store a submission in place of the student's earlier one: completely or, if interrupted, not at all."""
        seed = None if submission.seed is None else str(submission.seed)  # it may exceed SQLite's integers
        row = submission.student, submission.content, json.dumps(submission.wanted), seed, submission.utc
        with self.transaction() as db:
            db.execute("replace into submissions values (?, ?, ?, ?, ?, ?)", (*row, submission.graded.dumps().decode()))

    def forget(self, students: Iterable[str]) -> None:
        """Drop the submissions of these students, so that they are graded anew."""
        with self.transaction() as db:
            db.executemany("delete from submissions where student = ?", [(student,) for student in students])

    def submissions(self) -> dict[str, Submission]:
        """Student → submission, by name."""
        with self.transaction() as db:
            rows = db.execute("select * from submissions order by student").fetchall()
        found = {}
        for student, content, wanted, seed, utc, graded in rows:
            asked = json.loads(wanted)
            seen = asked and tuple(asked), seed and int(seed), utc, Graded.loads(graded)
            found[student] = Submission(student, content, *seen)
        return found

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        try:
            self.db.execute("begin immediate")
            try:
                yield self.db
            except BaseException:
                if self.db.in_transaction:  # a full disk has rolled it back already
                    self.db.execute("rollback")
                raise
            self.db.execute("commit")
        except sqlite3.Error as error:
            raise CannotGrade(f"{self.path}: {error}. What it holds is whole; run the same command again.") from None


@contextmanager
def open_gradebook(path: Path) -> Iterator[Gradebook]:
    """The gradebook in a file, made where there is none. Raises CannotGrade, also for another version's."""
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            (version,) = db.execute("pragma user_version").fetchone()
            if version not in (0, VERSION):
                raise CannotGrade(f"{path}: of another version of the course; move it away, or use another --out.")
            db.execute("pragma journal_mode = wal")
            if not version:
                db.executescript(f"begin; {SCHEMA} pragma user_version = {VERSION}; commit;")
            yield Gradebook(path, db)
    except sqlite3.Error as error:
        raise CannotGrade(f"{path}: {error}.") from None
