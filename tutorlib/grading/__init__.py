"""Grading: a submission → scores.

    the grader ── pytest and nbval, the judge ──│wall│── the kernel: the page, the student's cells, the answers
                       calls and questions, as plain data →
                       ← values, PTX, Tile IR, launches, as plain data

What runs is the course's page with the student's answers in it and the cells that the student added; the course's own
cells are pristine, and a changed one runs before the pristine one, so that it can only add names. It runs in a kernel
behind bubblewrap's wall. The points are decided on this side of it. A function's values are called for, some with
inputs that a secret seed draws, which the scores name. A kernel is traced over there, and what it launches is recorded
on tensors at made-up addresses. What crosses is text, PTX or Tile IR, and no machine code: a cubin may hold a program
that the driver runs in the process which loads it. The text is read here, made into machine code, and simulated or, on
a machine with the GPU for it, launched and timed by pytest's process, on inputs, outputs, a stream and a clock of the
judge's own. What the kernel's process says of an answer can only lower its points, and so can what the simulator does
not have: an instruction that only a GPU runs is no way out of the sum. nbval executes the page, and
pytest's JUnit file tells the judge's verdicts.

On a GPU the notebooks of a submission are graded side by side. Each has a judge and a context of its own; whoever takes
times waits until the others have ended what they run there, and they wait for it (`machine.turns`). Cells that run in
the kernel's own process take such a turn as well. Another submission's processes never share the GPU meanwhile.

A kernel that breaks the judge's CUDA context, or never ends, ends this pytest: the answers that are left go on in a
fresh one, with a context of its own. A call has `work.TIME_LIMIT_S` seconds; one that hangs only while it is timed is
ended when the grader has heard nothing for too long (`run.SLACK_S`).

What the wall promises: no network, no process but its own, no file of the machine but the system's libraries, Python,
its packages, `tutorlib` and the figures, all read-only; no solutions, tests, notebooks, home, or other submissions, and
of the environment's variables a few that are known; a scratch folder of limited size in memory, which goes with it;
limits on a process's memory, on the number of processes and on the size of a file; and that it ends when the grader
does, however that ends. Code that harms what it reaches there harms its own submission alone.

What it does not promise. It shares the machine's kernel and, where there is one, its GPU, whose memory other processes
may use. A kernel that the judge launches reaches all that the judge has on the GPU, as every kernel reaches all of its
process's: one that is written to find the expected result there might. Where a GPU addresses ordinary memory (HMM,
Grace) it reaches the judge's own. Its processes together may use more memory than the limit of one. The folder of its
sockets lies on disk; it is measured four times a second, and a kernel that puts more than some MB there is ended. It
has the course's package, which can do much of what pages ask for: the kernel's process watches the calls of an answer,
and code that sets out to may evade that. Pages whose answers are only called (00 to 03) do not rest on it. They see no
reference, and the functions of tensor_layouts and of the course that their exercises forbid are not in their sandbox: a
library process outside runs them, and refuses those of the exercise that is being judged (`library`). Two kinds are
still only watched there: NumPy's constructors in 01.2, and the fragment layouts in 03.6 and 03.7, which the page
prints. Other pages see the references of kernels' pages. ptxas and tileiras read what students' processes made on this
side; nvcc, which includes any file that it can read, reads behind a wall of its own.

What rests in part on the student's process still: 07.7 without a GPU, since the simulator lacks FP8 (it is interpreted
there, on inputs drawn here, and compiled here); 16.9, whose tensors have no data and are described; of 16.10 all but
its result; of 17.5 whether what it returns is what it compiled: the judge compiles, calls and times a function of its
own with what cute.compile was called with there. Read those answers where grades matter. A C++ program's host code
runs in a process of its own, behind a wall of its own; what it writes is compared here. The class page's time to solve
is what their file says, and nothing else rests on it. Without a wall (`--no-sandbox`) an answer can attack the grader's
processes and files.
"""
