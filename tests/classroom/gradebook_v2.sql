-- A gradebook of version 2, as the code of that version wrote it (sqlite3's dump).
BEGIN TRANSACTION;
CREATE TABLE notebooks (
    student text not null references submissions on delete cascade,
    name text not null,
    file text not null,
    primary key (student, name)
);
INSERT INTO "notebooks" VALUES('before','00_start','a.ipynb');
INSERT INTO "notebooks" VALUES('ünï (7)','00_start','a.ipynb');
CREATE TABLE notes (
    student text not null references submissions on delete cascade,
    line text not null
);
INSERT INTO "notes" VALUES('before','a note');
INSERT INTO "notes" VALUES('ünï (7)','a note');
CREATE TABLE outcomes (
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
INSERT INTO "outcomes" VALUES('before','00.1','title','passed',2.0,3,3.0,'right','{"shape": [4096, 4096, 4096], "ratio": 0.97}');
INSERT INTO "outcomes" VALUES('before','00.2','title','passed',2.0,3,3.0,'right','{"shape": [4096, 4096, 4096], "ratio": 0.97}');
INSERT INTO "outcomes" VALUES('before','00.10','title','passed',2.0,3,3.0,'right','{"shape": [4096, 4096, 4096], "ratio": 0.97}');
INSERT INTO "outcomes" VALUES('ünï (7)','00.1','title','passed',1.5,3,3.0,'1 of 2 cases right
<b>','{"shape": [4096, 4096, 4096], "ratio": 0.97}');
INSERT INTO "outcomes" VALUES('ünï (7)','00.2','title','passed',1.5,3,3.0,'1 of 2 cases right
<b>','{"shape": [4096, 4096, 4096], "ratio": 0.97}');
INSERT INTO "outcomes" VALUES('ünï (7)','00.10','title','passed',1.5,3,3.0,'1 of 2 cases right
<b>','{"shape": [4096, 4096, 4096], "ratio": 0.97}');
CREATE TABLE submissions (
    student text primary key,
    content text not null,   -- a hash of the files, of the course and of what grades
    wanted text not null,    -- the notebooks that were asked for, as JSON; null: whatever is there
    seed text,               -- of the drawn inputs
    seconds real not null,
    failed text not null,    -- why the grader itself ended, or empty
    gpu text not null,       -- that timed the kernels, or empty
    utc text not null
);
INSERT INTO "submissions" VALUES('before','hash','["00_start"]','140737488355328',1.5,'','GPU','2026-01-01T00:00:00+00:00');
INSERT INTO "submissions" VALUES('ünï (7)','hash','null',NULL,1.5,'','GPU','2026-01-01T00:00:00+00:00');
CREATE TABLE times (  -- as the notebooks say
    student text not null references submissions on delete cascade,
    exercise text not null,
    seconds real not null,   -- to solve it
    primary key (student, exercise)
);
INSERT INTO "times" VALUES('before','00.1',90.0);
INSERT INTO "times" VALUES('ünï (7)','00.1',90.0);
COMMIT;
PRAGMA user_version = 2;
