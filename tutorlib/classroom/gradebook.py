"""The gradebook: one SQLite file, which holds a submission completely or not at all."""

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
    wanted text not null,    -- the notebooks that were asked for, as JSON; null: all that were handed in
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
PAIRS = ("notebooks", "times", "answers")  # tables of a name and a value, which `Graded` has as pairs
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
        """Store a submission in place of the student's earlier one: completely or, if interrupted, not at all."""
        graded, seed = submission.graded, None if submission.seed is None else str(submission.seed)
        head = submission.content, json.dumps(submission.wanted), seed
        outcomes = [
            (
                *(one.outcome.id, one.outcome.title, one.outcome.status, one.outcome.points, one.outcome.max_points),
                *(one.counts, one.outcome.message, one.outcome.measurement and json.dumps(one.outcome.measurement)),
            )
            for one in graded.judged
        ]
        rows: dict[str, Iterable[tuple[Any, ...]]] = {
            "submissions": [(*head, graded.seconds, graded.failed, graded.gpu, submission.utc)],
            "outcomes": outcomes,
            "remedies": [(one.outcome.id, one.outcome.remedy) for one in graded.judged if one.outcome.remedy],
            "notes": [(line,) for line in graded.notes],
            **{table: getattr(graded, table) for table in PAIRS},
        }
        with self.transaction() as db:
            db.execute("delete from submissions where student = ?", (submission.student,))
            for table, of_student in rows.items():
                for row in of_student:
                    db.execute(f"insert into {table} values (?{', ?' * len(row)})", (submission.student, *row))

    def forget(self, students: Iterable[str]) -> None:
        """Drop the submissions of these students, so that they are graded anew."""
        with self.transaction() as db:
            db.executemany("delete from submissions where student = ?", [(one,) for one in students])

    def keep_files(self, kind: str, given: Iterable[tuple[str, str]]) -> None:
        """Keep text and name of the instructor's files of this kind, in place of those before."""
        utc = datetime.now(UTC).isoformat("T", "seconds")
        with self.transaction() as db:
            db.execute("delete from given where kind = ?", (kind,))
            db.executemany("insert into given values (?, ?, ?, ?)", [(kind, *one, utc) for one in given])

    def files(self, kind: str) -> list[tuple[str, str]]:
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
            heads = db.execute(
                "select student, content, wanted, seed, utc, seconds, failed, gpu from submissions order by student"
            ).fetchall()
            found = {}
            for student, content, wanted, seed, utc, seconds, failed, gpu in heads:
                pairs = [self.rows(student, "*", table) for table in PAIRS]
                notebooks, times, answers = (tuple((key, value) for _, key, value in rows) for rows in pairs)
                notes = tuple(line for (line,) in self.rows(student, "line", "notes"))
                graded = Graded(
                    self.judged(student), tuple(sorted(notebooks)), notes, seconds, failed, gpu, times, answers
                )
                asked = json.loads(wanted)
                found[student] = Submission(student, content, asked and tuple(asked), seed and int(seed), utc, graded)
        return found

    def rows(self, student: str, columns: str, table: str) -> list[tuple[Any, ...]]:
        """A student's rows of a table, in the order in which they were written."""
        return self.db.execute(f"select {columns} from {table} where student = ? order by rowid", (student,)).fetchall()

    def secret(self) -> bytes:
        """Random bytes, the same ones whenever this gradebook is asked."""
        with self.transaction() as db:
            db.execute("insert into secret select ? where not exists (select * from secret)", (token_bytes(16),))
            return db.execute("select bytes from secret").fetchone()[0]

    def judged(self, student: str) -> tuple[Judged, ...]:
        columns = "counts, measurement, exercise, title, status, points, max_points, message"
        remedies = dict(self.rows(student, "exercise, text", "remedies"))
        return tuple(
            Judged(
                Outcome(
                    *(id, title, status, points, most, message, measured and json.loads(measured)), remedies.get(id, "")
                ),
                counts,
            )
            for counts, measured, id, title, status, points, most, message in self.rows(student, columns, "outcomes")
        )

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
