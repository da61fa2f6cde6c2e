"""What an answer may not lean on: the library's function for the very thing that is asked."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module

import pytest
import tensor_layouts as tl
from cutlass import cute
from tensor_layouts import Layout
from tensor_layouts import compose as put_together

from tests.pages.answers import made_when_used
from tutorlib.checking.answer import WrongKind
from tutorlib.checking.kernel import KernelExercise
from tutorlib.checking.library_use import as_told, of_course, plain_function, refuse_library_use
from tutorlib.checking.values import ValueExercise, equals
from tutorlib.exercises import find, of_notebook
from tutorlib.exercises import p12 as traffic
from tutorlib.kernels.ampere import main_loops
from tutorlib.kernels.ampere.thread_share import Steps
from tutorlib.kernels.attention.roles import AttentionParts
from tutorlib.models import memory
from tutorlib.paths import notebook_names

LIBRARY = {"tl.compose": tl.compose, "sum": sum, "mma.a_layout": "a_layout"}
CALLS = [(Layout((4, 8), (8, 1)), Layout(4, 8)), (Layout(8, 3), Layout(4, 2))]
COMPOSE = ValueExercise(
    id="99.1", title="compose", points=1, cases=(equals("any", CALLS, tl.compose),), library=LIBRARY
)


def told(answer):
    outcome = COMPOSE.grade(answer)
    assert (outcome.status, outcome.points) == ("failed", 0)
    return outcome.message


def test_a_call_is_told_under_any_name_in_helpers_and_where_it_raises():
    def by_helper(a, b):
        return helper(a, b)

    def helper(a, b):
        return put_together(a, b)

    def swallows(a, b):
        try:
            return tl.compose(a, Layout(7, 7))
        except ValueError:
            return None

    says = "✗ 99.1 compose: it uses tl.compose, which does what you are asked to write."
    for answer in (tl.compose, put_together, by_helper, swallows, lambda a, b: tl.compose(a, b)):
        assert told(answer).startswith(says)


def test_functions_written_in_c_and_attributes_are_told_too():
    class Atom:
        a_layout = Layout(4, 2)

    assert "it uses sum," in told(lambda a, b: sum([1, 2]))
    assert "it uses mma.a_layout," in told(lambda a, b: Atom.a_layout)


def test_what_the_library_calls_on_the_way_to_something_else_is_not_told():
    answers = {args: tl.compose(*args) for args in CALLS}
    outcome = COMPOSE.grade(lambda a, b: tl.logical_divide(a, tl.size(a)) and answers[a, b])
    assert outcome.status == "passed", outcome.message


def test_the_answer_keeps_its_name_and_its_lines_in_messages():
    def composed(a, b):
        raise KeyError("no")

    line = composed.__code__.co_firstlineno + 1
    assert f"composed((4,8):(8,1), 4:8) raised KeyError: 'no' (line {line} of your answer)" in told(composed)


def test_a_function_of_the_librarys_own_package_is_told_where_it_is_the_answer_itself():
    exercise = ValueExercise(
        id="99.2",
        title="ways",
        points=1,
        cases=(equals("any", [([0, 32], 4)], memory.ways),),
        library={"memory.ways": memory.ways},
    )
    for answer in (memory.ways, partial(memory.ways), in_a_thread, without_a_witness):
        assert exercise.grade(answer).status == "failed"
    assert exercise.grade(lambda offsets, element_bytes: 2).status == "passed"


def in_a_thread(*args):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(memory.ways, *args).result()


def without_a_witness(*args):
    sys.setprofile(None)
    return memory.ways(*args)


def test_an_attribute_is_told_by_any_spelling_and_in_helpers():
    class Atom:
        a_layout = Layout(4, 2)

    def helper():
        return Atom.a_layout

    for answer in (lambda a, b: helper(), lambda a, b: getattr(Atom, "a_layout")):  # noqa: B009
        assert "it uses mma.a_layout," in told(answer)


def step(me): ...


def with_own_step(me):
    return AttentionParts, step


def with_the_courses_step(me):
    return AttentionParts.step, step


def test_a_name_that_the_reader_defines_is_theirs_and_as_an_attribute_the_librarys():
    """Which of the two an answer has, only the order of its code says."""
    library = as_told(of_course("attention.roles", "step"))
    refuse_library_use(with_own_step, library)
    with pytest.raises(WrongKind, match="uses the course's step"):
        refuse_library_use(with_the_courses_step, library)
    with pytest.raises(WrongKind, match="uses a step of any kind"):
        refuse_library_use(lambda me: me.step(), as_told({"a step of any kind": "step"}))


def test_what_knows_the_answers_is_told():
    def asks(waves, steps, room):
        return traffic.tiles_fetched(waves, steps, room)

    assert "it calls tutorlib.exercises.p12.tiles_fetched, which belongs to the checks" in told_of("12.2", asks)


def told_of(id, answer):
    outcome = find(id).grade(answer)
    assert (outcome.status, outcome.points) == ("failed", 0)
    return outcome.message


KERNELS = [
    exercise for name in notebook_names() for exercise in of_notebook(name) if isinstance(exercise, KernelExercise)
]


@pytest.mark.parametrize(
    ("id", "part"),
    [
        pytest.param(exercise.id, part, id=f"{exercise.id}-{name}")
        for exercise in KERNELS
        for name, part in exercise.library.items()
        if isinstance(part, str) and ":" in part
    ],
)
def test_the_courses_own_is_no_answer_to_a_kernel_exercise(id, part):
    module, name = part.split(":")
    own = getattr(import_module(module), name)
    with made_when_used():
        for answer in (own, lambda *args: own(*args)):
            assert "which does what you are asked to write" in told_of(id, answer)


@cute.jit
def by_the_courses_loop(steps: Steps):
    main_loops.multistage(steps)


def table_of_loops():
    return {"mine": main_loops.multistage}


@cute.jit
def by_a_table(steps: Steps):
    table_of_loops()["mine"](steps)


@cute.jit
def by_a_class(steps):
    Steps(1, None, None, None, None, None, None).load(0, 0)


def test_a_compiled_answer_that_names_a_class_of_the_courses_is_told():
    with pytest.raises(WrongKind, match="uses the course's Steps"):
        refuse_library_use(by_a_class, as_told(of_course("ampere.thread_share", "Steps")))


@cute.jit
def by_its_method(steps: Steps):
    Steps(*vars(steps).values()).fetch(0, 0)


class Own(Steps):
    def fetch(self, k_block, buffer):
        pass


@cute.jit
def by_a_subclass(steps: Steps):
    Own(*vars(steps).values()).fetch(0, 0)


def test_a_class_of_the_courses_with_the_method_that_is_asked_for_is_told_and_a_subclass_with_its_own_is_not():
    told = as_told(of_course("ampere.thread_share", "fetch", "multiply"))
    refuse_library_use(by_a_subclass, told)
    with pytest.raises(WrongKind, match=r"uses the course's (fetch|multiply)"):
        refuse_library_use(by_its_method, told)


@pytest.mark.parametrize("answer", [by_the_courses_loop, by_a_table])
def test_a_compiled_answer_that_names_the_courses_is_told(answer):
    assert "it uses the course's multistage" in told_of("11.3", answer)


def test_what_pip_installed_anywhere_is_not_the_readers_own(tmp_path):
    """`pip install --target` puts packages beside no interpreter."""
    (tmp_path / "somebodys-1.0.dist-info").mkdir()
    (tmp_path / "somebodys.py").write_text("def function(): ...")
    imports = "import somebodys; from tutorlib.checking.library_use import is_readers; "
    asks = imports + "print(is_readers(somebodys.function))"
    path = os.pathsep.join((str(tmp_path), *sys.path))
    asked = subprocess.run([sys.executable, "-c", asks], env=os.environ | {"PYTHONPATH": path}, capture_output=True)
    assert asked.stdout.decode().strip() == "False", asked.stderr.decode()


class MakesUpAttributes:
    def __getattr__(self, name):
        raise RuntimeError(f"there is no {name}")


def test_an_object_that_makes_up_its_attributes_is_looked_through():
    assert plain_function(MakesUpAttributes()) is None
