"""Grading: a submission → scores.

    the grader ── pytest and nbval, the judge ──│sandbox│── the kernel: the page, the student's cells, the answers
                          calls and questions, as plain data →
                          ← values, PTX, Tile IR, launches, as plain data

What runs is the course's page with the student's answers in it and the cells that the student added; the course's own
cells are pristine, and a changed one runs before the pristine one, so that it can only add names. It runs in a kernel
in a sandbox, which bubblewrap builds; the points are decided outside of it. The judge is that of `check`: it has the
answer as a `checking.served.Served`, which here speaks over a connection (`remote_judge`, `sandboxed_kernel`), and it
knows that it judges for points (`checking.graded_run`). A function's values are called for, some with inputs that a
secret seed draws, which the scores name. A kernel is traced over there, and what it launches is recorded on tensors at
made-up addresses. What crosses is text, PTX or Tile IR, and no machine code: a cubin may hold a program that the driver
runs in the process which loads it. The text is read here, made into machine code, and simulated or, on a machine with
the GPU for it, launched and timed by pytest's process, on inputs, outputs, a stream and a clock of the judge's own.
What the kernel's process says of an answer can only lower its points, and so can what the simulator does not have: an
instruction that only a GPU runs is no way out of the sum. nbval executes the page, and pytest's JUnit file tells the
judge's verdicts.

On a GPU the notebooks of a submission are graded side by side. Each has a judge and a context of its own; whoever takes
times waits until the others have ended what they run there, and they wait for it (`machine.turns`). Cells that run in
the kernel's own process take such a turn as well. Another submission's processes never share the GPU meanwhile.

A kernel that breaks the judge's CUDA context, or never ends, ends this pytest: the answers that are left go on in a
fresh one, with a context of its own. A call has `work.TIME_LIMIT_S` seconds; one that hangs only while it is timed is
ended when the grader has heard nothing for too long (`run.SLACK_S`).

Where bytes are read that a student made, and their limits. C code (Python's compiler, `json`, `re`, `bz2`) hears no
signal and no thread, so only the end of its process ends it:

- In a child process of `limited_process`, forked for it: a notebook's file, of 32 MB at most (`submission`: JSON;
  `repaired_json`: nbformat, symbol tables, regular expressions; 10 s of computing and 1 GB), its cells, of 2 MB at most
  (`cells`, `split_cells`, `needed_cells`: Python's parser and compiler, IPython's magics; 10 s and 1 GB), the tries in
  its outputs (`classroom.pace`; the same), the answers that reports highlight and compare (`classroom.report`,
  `classroom.similar`: Pygments' lexers, on 16 kB of an answer), and a student's zips (`classroom.handed_in`,
  `classroom.run`; 30 s and 2 GB). The child returns plain records. What exceeds its limits costs its answer, cell,
  notebook or hand-in, with a line that says so; after 3 files or 6 cells of that kind the submission's other files, or
  the notebook, are not read.
- In the judge's process, pytest: the messages of the kernel's process (`wire`: 256 MB, of which 32 MB are JSON;
  `plugin`: 64 MB for a cell), PTX, Tile IR and names in them (`simulate`, `compiling`). `cpu_limit` ends that process
  after one and a half time limits of a cell, of computing; SIGXCPU ends it where a thread of its own cannot.
  RLIMIT_DATA bounds its memory. The exercise that was judged gets no points, and the others go on in a new process.
- In the grader's process: nothing but texts that those have returned, of limited size, as JSON and as pages' cells.
  Modules beside a notebook (`local_modules`: 20 of 256 kB each) pass through it unread; a cell of the page writes them
  to the sandbox's scratch folder, behind everything else on `sys.path`, and no other process imports them.

`tutor class` waits for children alone, and so hears a signal at any time. Each process of its chain (command, fork
server, worker, reader or pytest, bubblewrap) is killed by the kernel when the one above it ends (`machine.lineage`).

What the sandbox promises (`sandbox` says what it shows, `supervisor` runs and watches it):
- No process in it is root on the host, whoever grades: graded by root, each sandbox has a user of its own, which the
  host has no other use for. Its processes have no capabilities and get none.
- It has no network, no process but its own, and no file of the machine but the system's libraries, Python, its
  packages, `tutorlib` and the figures, all read-only: no solutions, tests, notebooks, home, or other submissions. Every
  file below /proc/sys and, on a GPU machine, /sys is read-only.
- Its processes, bubblewrap's among them, have a few known variables and none of the grader's others. Nothing in it can
  read or trace process 1, which is bubblewrap's.
- A seccomp filter refuses the kernel's calls that no program of the course needs. `seccomp` lists each with the reason:
  other processes' memory, namespaces and mounts, memory that belongs to no process, engines of the kernel such as bpf
  and io_uring, the machine's administration, sockets but AF_UNIX and AF_INET, calls of other architectures.
- The memory of its processes together has a limit, `sandbox.MEMORY`: what they have for themselves or share, and what
  is in its folders in memory. The supervisor looks four times a second, so that it can be exceeded for a moment. A
  process cannot allocate more than that by itself. The number of processes, the size of a file, and the bytes in the
  folder on disk through which the grader speaks to the kernel have limits, too.
- It ends when the grader does, however that ends.
Code that harms what it reaches there harms its own submission alone.

nvcc, ptxas and tileiras read what students or their processes wrote. They run in sandboxes of their own, which hold the
system's files and the folder that they work in, with limits of memory, time and output: `compiling.outside`. So does a
C++ program's host code.

What the sandbox does not promise. It shares the machine's kernel and, where there is one, its GPU, whose memory other
processes may use. What the kernel itself keeps for a process, such as the buffers of its sockets, counts towards no
limit. A kernel that the judge launches reaches all that the judge has on the GPU, as every kernel reaches all of its
process's: one that is written to find the expected result there might. Where a GPU addresses ordinary memory (HMM,
Grace) it reaches the judge's own. Where the grader is root of a user namespace that has no other user, students'
processes have that user too, without its capabilities. The CuTe DSL, cuTile and torch can do some of what pages
ask for: the kernel's process watches the calls of an answer, and code that sets out to may evade that.

No answer is in reach of the answer that is judged. Of `tutorlib.exercises`, with all references, mistakes and hints,
the sandbox shows the `judge` folders alone, which have none of these: the judge sends the fields of a kernel exercise
(`sent_exercise`), and a reference stays a function of the judge's that is called over the connection. The course's
kernels and models hold many solutions again. They are there, but the functions that solve the exercise at hand have no
body, in source and bytecode alike; a page of kernels is judged in as many sandboxes as that takes (`rounds`). On pages
00 to 03 the functions of tensor_layouts and of the course that exercises forbid are not there either: a library process
outside runs them, and refuses those of the exercise that is being judged (`library`). Only watched are NumPy's
constructors in 01.2, and the fragment layouts in 03.6 and 03.7, which the page prints.

What rests in part on the student's process still: 07.7 without a GPU, since the simulator lacks FP8 (it is interpreted
there, on inputs drawn here, and compiled here); 16.9, whose tensors have no data and are described; of 16.10 all but
its result; of 17.5 whether what it returns is what it compiled: the judge compiles, calls and times a function of its
own with what cute.compile was called with there. Read those answers where grades matter. A C++ program's host code
runs in a sandbox of its own, and the GPU that it gets first is the judge's process: a launch there returns sums that
the program cannot compute. A program that speaks the protocol of the runtime library's stand-in by hand has made no
CUDA call, and is taken for right. The class page's time to solve is what their file says, and nothing else rests on
it. Without a sandbox (`--no-sandbox`) an answer can attack the grader's processes and files.
"""
