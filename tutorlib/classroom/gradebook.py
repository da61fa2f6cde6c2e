"""The gradebook: one SQLite file, in which a submission is there as a whole or not at all."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_bytes
from typing import Any

from tutorlib.checking.exercise import Outcome
from tutorlib.classroom.task import Graded, Judged

# 1 had no times, 2 no answers, no grades and none of the instructor's files, 3 no remedies; a missing table is made
VERSION = 4
SCHEMA = """
create table if not exists submissions (
    student text primary key,
    content text not null,   -- a hash of the files, of the course and of what grades
    wanted text not null,    -- the notebooks that were asked for, as JSON; null: whatever is there
    seed text,               -- of the drawn inputs
    seconds real not null,
    failed text not null,    -- why the grader itself ended, or empty
    gpu text not null,       -- that timed the kernels, or empty
    utc text not null
);
create table if not exists notebooks (
    student text not null references submissions on delete cascade,
    name text not null,
    file text not null,
    primary key (student, name)
);
create table if not exists outcomes (
    student text not null references submissions on delete cascade,
    exercise text not null,
    title text not null,
    status text not null,
    points real not null,
    max_points integer not null,
    counts real not null,    -- how many points the exercise could give where it was graded
    message text not null,
    measurement text,        -- as JSON
    primary key (student, exercise)
);
create table if not exists remedies (
    student text not null references submissions on delete cascade,
    exercise text not null,
    text text not null,      -- a hint for what went wrong
    primary key (student, exercise)
);
create table if not exists times (  -- as the notebooks say
    student text not null references submissions on delete cascade,
    exercise text not null,
    seconds real not null,   -- to solve it
    primary key (student, exercise)
);
create table if not exists answers (
    student text not null references submissions on delete cascade,
    exercise text not null,
    text text not null,      -- of the answer, as it was handed in
    primary key (student, exercise)
);
create table if not exists secret (  -- that pseudonyms are made of
    bytes blob not null
);
create table if not exists notes (
    student text not null references submissions on delete cascade,
    line text not null
);
create table if not exists given (  -- the instructor's files, as they were last given
    kind text not null,      -- roster, rules, times, corrections
    text text not null,
    file text not null,
    utc text not null
);
-- The last run's result, of the whole class: what the tables above give with the instructor's files.
create table if not exists grades (
    student text primary key, -- as in submissions, where there is one
    name text not null,
    id text not null,        -- in Moodle or Canvas, or on the roster
    email text not null,
    raw_points real not null, -- the grader's
    points real not null,    -- with corrections, less penalties
    max_points real not null,
    reason text not null     -- why nothing was graded, or empty
);
create table if not exists late (
    student text not null,
    notebook text not null,
    days integer not null,   -- that have started since it was due
    free_days integer not null,
    penalty real not null,   -- points
    handed_in text not null,
    due text not null,
    source text not null,    -- what says when it was handed in
    primary key (student, notebook)
);
create table if not exists corrections (
    student text not null,
    exercise text not null,  -- empty: on the total
    points real,             -- null: a comment alone
    added integer not null,  -- whether the points are added to those that are there
    comment text not null,
    by text not null,
    place text not null      -- its file and line
);
"""
RESULTS = {"grades": 8, "late": 8, "corrections": 7}  # tables that every run writes anew, and their columns


class GradebookFailed(Exception):
    """The gradebook cannot be read or written. One line: the file, and why."""


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
    """An open gradebook. Every method raises GradebookFailed; the file is then as it was before."""

    def __init__(self, path: Path, db: sqlite3.Connection) -> None:
        self.path, self.db = path, db

    def put(self, submission: Submission) -> None:
        """A submission, in place of what the student had there: all of it or, should anything end it, nothing."""
        graded, student = submission.graded, submission.student
        outcomes = [
            (
                *(student, one.outcome.id, one.outcome.title, one.outcome.status, one.outcome.points),
                *(one.outcome.max_points, one.counts, one.outcome.message),
                None if one.outcome.measurement is None else json.dumps(one.outcome.measurement),
            )
            for one in graded.judged
        ]
        remedies = [(student, one.outcome.id, one.outcome.remedy) for one in graded.judged if one.outcome.remedy]
        seed = None if submission.seed is None else str(submission.seed)
        head = (
            student,
            submission.content,
            json.dumps(submission.wanted),
            seed,
            graded.seconds,
            graded.failed,
            graded.gpu,
            submission.utc,
        )
        with self.transaction() as db:
            db.execute("delete from submissions where student = ?", (student,))
            db.execute("insert into submissions values (?, ?, ?, ?, ?, ?, ?, ?)", head)
            db.executemany("insert into notebooks values (?, ?, ?)", [(student, *one) for one in graded.notebooks])
            db.executemany("insert into outcomes values (?, ?, ?, ?, ?, ?, ?, ?, ?)", outcomes)
            db.executemany("insert into remedies values (?, ?, ?)", remedies)
            db.executemany("insert into times values (?, ?, ?)", [(student, *one) for one in graded.times])
            db.executemany("insert into answers values (?, ?, ?)", [(student, *one) for one in graded.answers])
            db.executemany("insert into notes values (?, ?)", [(student, line) for line in graded.notes])

    def forget(self, students: Iterable[str]) -> None:
        """Drop the submissions of these students, so that they are graded anew."""
        with self.transaction() as db:
            db.executemany("delete from submissions where student = ?", [(one,) for one in students])

    def keep(self, kind: str, given: Iterable[tuple[str, str]]) -> None:
        """Keep text and name of the instructor's files of this kind, in place of those before."""
        utc = datetime.now(UTC).isoformat("T", "seconds")
        with self.transaction() as db:
            db.execute("delete from given where kind = ?", (kind,))
            db.executemany("insert into given values (?, ?, ?, ?)", [(kind, *one, utc) for one in given])

    def given(self, kind: str) -> list[tuple[str, str]]:
        """Text and name of the instructor's files of this kind, as they were last given."""
        with self.transaction() as db:
            found = db.execute("select text, file from given where kind = ? order by rowid", (kind,))
            return [(text, file) for text, file in found]

    def record(self, results: Mapping[str, Iterable[tuple[Any, ...]]]) -> None:
        """Write the last run's grades, table → rows, in place of those of the run before."""
        with self.transaction() as db:
            for table, columns in RESULTS.items():
                db.execute(f"delete from {table}")
                db.executemany(f"insert into {table} values ({', '.join('?' * columns)})", results[table])

    def submissions(self) -> dict[str, Submission]:
        """Student → submission, by name."""
        with self.transaction() as db:
            heads = db.execute("select student, content, wanted, seed, seconds, failed, gpu, utc from submissions")
            found = {}
            for student, content, wanted, seed, seconds, failed, gpu, utc in heads.fetchall():
                judged, notebooks, notes = self.judged(student), self.notebooks(student), self.notes(student)
                times, answers = self.times(student), self.answers(student)
                graded = Graded(judged, notebooks, notes, seconds, failed, gpu, times, answers)
                asked = json.loads(wanted)
                seed = seed and int(seed)
                found[student] = Submission(student, content, asked and tuple(asked), seed, utc, graded)
        return dict(sorted(found.items()))

    def secret(self) -> bytes:
        """Random bytes, the same ones whenever this gradebook is asked."""
        with self.transaction() as db:
            db.execute("insert into secret select ? where not exists (select * from secret)", (token_bytes(16),))
            return db.execute("select bytes from secret").fetchone()[0]

    def judged(self, student: str) -> tuple[Judged, ...]:
        columns = "exercise, title, status, points, max_points, message, measurement, counts"
        found = self.db.execute(f"select {columns} from outcomes where student = ? order by rowid", (student,))
        remedies = dict(self.db.execute("select exercise, text from remedies where student = ?", (student,)))
        return tuple(
            Judged(
                Outcome(
                    id, title, status, points, most, message, measured and json.loads(measured), remedies.get(id, "")
                ),
                counts,
            )
            for id, title, status, points, most, message, measured, counts in found
        )

    def notebooks(self, student: str) -> tuple[tuple[str, str], ...]:
        return tuple(self.db.execute("select name, file from notebooks where student = ? order by name", (student,)))

    def times(self, student: str) -> tuple[tuple[str, float], ...]:
        found = self.db.execute("select exercise, seconds from times where student = ? order by rowid", (student,))
        return tuple(found)

    def answers(self, student: str) -> tuple[tuple[str, str], ...]:
        found = self.db.execute("select exercise, text from answers where student = ? order by rowid", (student,))
        return tuple(found)

    def notes(self, student: str) -> tuple[str, ...]:
        return tuple(line for (line,) in self.db.execute("select line from notes where student = ?", (student,)))

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
            raise GradebookFailed(
                f"{self.path}: {error}. What it holds is whole; run the same command again."
            ) from None


@contextmanager
def open_gradebook(path: Path) -> Iterator[Gradebook]:
    """The gradebook in a file, made where there is none. Raises GradebookFailed."""
    try:
        db = sqlite3.connect(path, isolation_level=None)
    except sqlite3.Error as error:
        raise GradebookFailed(f"{path}: {error}.") from None
    with closing(db):
        try:
            (version,) = db.execute("pragma user_version").fetchone()
            if version > VERSION:
                raise GradebookFailed(f"{path}: written by a newer version of the course.")
            db.execute("pragma journal_mode = wal")
            db.execute("pragma foreign_keys = on")
            if version < VERSION:
                db.executescript(SCHEMA)
                db.execute(f"pragma user_version = {VERSION}")
        except sqlite3.Error as error:
            raise GradebookFailed(f"{path}: {error}.") from None
        yield Gradebook(path, db)
