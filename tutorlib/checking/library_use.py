"""Library functions that an answer must not use: those that do what the exercise asks, and those of the checks.

The calls of a plain Python answer are watched while it runs. The code of an answer that a compiler reads is searched
for names, together with the reader's own functions that it names.
"""

import dis
import sys
import sysconfig
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial, wraps
from inspect import unwrap
from itertools import chain
from operator import attrgetter
from pathlib import Path
from types import CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any

from tutorlib.checking.answer import Answer, WrongKind
from tutorlib.dsl.cute.functions import code_as_written
from tutorlib.dsl.cutile.kernels import inside_of_kernel
from tutorlib.failure import Fail, Flaw


@dataclass(frozen=True)
class InModule:
    """A function of a module that takes long to import. An answer that did not import it cannot call it.

    name: in the module, or in a class of it: "Layout.__call__".
    """

    module: str
    name: str

    def found(self) -> Any:
        try:
            return attrgetter(self.name)(sys.modules[self.module])
        except (AttributeError, KeyError):
            return None


@dataclass(frozen=True)
class Itself:
    """An object that is the answer, or that computes it when called, under whatever name.

    place: where another process finds it.
    """

    value: Any
    place: InModule | None = None


Tool = Callable | property | InModule | Itself | str
Library = Mapping[str, Tool]  # the reader's spelling → the function, its place, or an attribute's name
CHECKS = ("tutorlib.exercises", "tutorlib.course")  # whose functions know the answers
PACKAGE = str(Path(__file__).parents[1])
SITES = (folder for folder in sys.path if folder and any(Path(folder).glob("*.dist-info")))  # wherever pip installed to
INSTALLED = (PACKAGE, *(sysconfig.get_path(kind) for kind in ("stdlib", "purelib", "platlib")), *SITES)


def on_its_own(answer: Answer, library: Library) -> Answer:
    """The answer, wrapped: a call raises WrongKind if the answer calls one of these functions.

    Calls by the answer and its helpers count, under any name; calls inside the library do not. Raises WrongKind at
    once if the answer's code names one of the attributes.
    """
    attributes, functions = sorted_out(library)
    objects = {id(part.value): name for name, part in library.items() if isinstance(part, Itself)}
    if read := next((attributes[name] for name in names_in(answer) if name in attributes), ""):
        raise used_library(f"uses {read}")
    written = {code: name for name, function in functions.items() for code in codes_of(function)[:1]}
    compiled = {id(function): name for name, function in functions.items() if not codes_of(function)}
    wrappers = {code for function in functions.values() for code in wrappers_of(function)}

    @wraps(answer)
    def watched(*args: Any, **kwargs: Any) -> Any:
        exhausted = False
        with calls_of(written, wrappers, compiled, objects) as called:
            try:
                got = answer(*args, **kwargs)
                if id(got) in objects:
                    called.append(used_library(f"uses {objects[id(got)]}"))
                return got
            except (MemoryError, RecursionError):  # raised by the hook, too, which Python then removes
                exhausted = True
                raise
            finally:
                if sys.getprofile() is None and not exhausted:
                    called.append(used_checks("sys.setprofile"))
                if called:
                    raise called[0]

    return watched


def as_told(library: Library) -> list[tuple[str, ...]]:
    """The library as plain data, for another process: each name with its attribute, or its module and name there."""
    told: list[tuple[str, ...]] = []
    for name, part in library.items():
        match part:
            case str():
                told.append((name, "attribute", part))
            case InModule(module, path):
                told.append((name, "function", module, path))
            case Itself(place=InModule(module, path)):
                told.append((name, "itself", module, path))
            case Itself():
                continue
            case _:
                function = part.fget if isinstance(part, property) else part
                told.append((name, "function", str(function.__module__), str(getattr(function, "__qualname__", ""))))
    return told


def from_words(told: Iterable[tuple[str, ...]]) -> Library:
    """The inverse of `as_told`, as far as the modules are imported here."""
    library: dict[str, Tool] = {}
    for name, kind, *where in told:
        if kind == "attribute":
            (library[name],) = where
        elif kind == "function":
            library[name] = InModule(*where)
        elif (value := InModule(*where).found()) is not None:
            library[name] = Itself(value)
    return library


def refuse_library_use(answer: Any, library: Library) -> None:
    """Raises WrongKind if an answer that a compiler reads is one of these functions, or its code names one, or a class
    that has one as a method.
    """
    attributes, functions = sorted_out(library)
    if read := next((attributes[name] for name in names_in(answer) if name in attributes), ""):
        raise used_library(f"uses {read}")
    codes = {id(code): name for name, function in functions.items() for code in codes_of(function)}
    classes = {id(part): name for name, part in functions.items() if isinstance(part, type)}
    for value in within_reach(answer):
        if id(value) in classes:
            raise used_library(f"uses {classes[id(value)]}")
        for code in chain.from_iterable(map(codes_of, (value, *methods_of(value)))):
            if id(code) in codes:
                raise used_library(f"calls {codes[id(code)]}")
        if isinstance(value, FunctionType) and is_of_the_checks(value.__module__, value.__qualname__):
            raise used_checks(f"{value.__module__}.{value.__qualname__}")


def methods_of(value: Any) -> list[Any]:
    """What a class defines; the defaults of a dataclass's fields are no methods of it."""
    if not isinstance(value, type):
        return []
    return [part for name, part in vars(value).items() if name not in getattr(value, "__dataclass_fields__", ())]


def sorted_out(library: Library) -> tuple[dict[str, str], dict[str, Any]]:
    """Each attribute → the reader's spelling; the reader's spelling → each function."""
    attributes = {part: name for name, part in library.items() if isinstance(part, str)}
    functions = {name: part for name, part in library.items() if not isinstance(part, str | Itself)}
    found = {name: part.found() if isinstance(part, InModule) else part for name, part in functions.items()}
    return attributes, {name: function for name, function in found.items() if function is not None}


def used_library(does: str) -> WrongKind:
    what = f"it {does}, which does what you are asked to write.\n  Page 00 says what an answer may use."
    return WrongKind(Flaw(what, Fail.LIBRARY))


def used_checks(name: str) -> WrongKind:
    what = f"it calls {name}, which belongs to the checks.\n  Page 00 says what an answer may use."
    return WrongKind(Flaw(what, Fail.LIBRARY))


# What it calls -------------------------------------------------------------------------------------------------------


@contextmanager
def calls_of(
    written: Mapping[CodeType, str],
    wrappers: Container[CodeType],
    compiled: Mapping[int, str],
    objects: Mapping[int, str],
) -> Iterator[list[WrongKind]]:
    """Collects an error for each call in the block: of these functions, by their code or their ids, of these objects,
    by their ids, and of functions that know the answers.

    A call counts if it comes from outside of the function's package, or from the caller of this function; one by a
    wrapper, as decorators leave around a function, counts as the call of the wrapper, and so does one by a method
    behind an operator of the same package, such as __call__.
    """
    names = {code.co_name for code in written} | ({"__call__"} if objects else set())
    called: list[WrongKind] = []
    by = sys._getframe(2)  # beyond contextlib's

    def look(frame: FrameType, event: str, arg: Any) -> None:
        if event == "call":  # of thousands one may count: the cheapest test comes first
            code, module = frame.f_code, str(frame.f_globals.get("__name__"))
            if code.co_name not in names and not module.startswith(CHECKS):
                return
            caller = frame.f_back
            through = "" if module.startswith(CHECKS) else package(frame)  # checks lend answers objects of their own
            while caller is not None and (caller.f_code in wrappers or is_operator(caller, through)):
                caller = caller.f_back
            if package(frame) == package(caller) and caller is not by:
                return
            if code.co_name == "__call__" and id(frame.f_locals.get("self")) in objects:
                called.append(used_library(f"uses {objects[id(frame.f_locals['self'])]}"))
            elif code in written:
                called.append(used_library(f"calls {written[code]}"))
            elif is_of_the_checks(module, code.co_qualname):
                called.append(used_checks(f"{module}.{code.co_name}"))
        elif event == "c_call" and id(arg) in compiled and package(frame) != arg.__module__:
            called.append(used_library(f"calls {compiled[id(arg)]}"))

    before = sys.getprofile()
    threading.setprofile(look)
    sys.setprofile(look)
    try:
        yield called
    finally:
        sys.setprofile(before)
        threading.setprofile(before)


def wrappers_of(value: Any) -> Iterator[CodeType]:
    """The code of each function that decorators have put around a function."""
    while isinstance(inside := getattr(value, "__wrapped__", None), FunctionType) and isinstance(value, FunctionType):
        yield value.__code__
        value = inside


def is_operator(frame: FrameType, of: str) -> bool:
    """Whether a frame runs a method behind an operator of this package."""
    return package(frame) == of and frame.f_code.co_name.startswith("__") and frame.f_code.co_name.endswith("__")


def package(frame: FrameType | None) -> str:
    """The package whose code a frame runs."""
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] if frame else ""


def is_of_the_checks(module: str | None, qualname: str) -> bool:
    """Whether a function knows answers. Methods and inner functions do not count: cases pass some to the answer."""
    return str(module).startswith(CHECKS) and "." not in qualname


# What it names -------------------------------------------------------------------------------------------------------


def names_in(answer: Any) -> Iterator[str]:
    """The names and the strings in the code of an answer and of the reader's own functions, without these' names."""
    for value in within_reach(answer):
        for function in own_functions(value):
            for code in codes_of(function):
                yield from (name for name in code.co_names if not own_functions(function.__globals__.get(name)))
                yield from (text for text in code.co_consts if isinstance(text, str))


def within_reach(answer: Any) -> Iterator[Any]:
    """The answer, the values that its code names, and those reachable through the reader's own functions."""
    seen: dict[int, Any] = {}
    left = [answer]
    while left:
        value = left.pop()
        if id(value) not in seen:
            seen[id(value)] = value  # kept alive, so that its id stays unique
            yield value
            left += held_by(value)
            for function in own_functions(value):
                left += named_by(function)


def held_by(value: Any) -> Iterable[Any]:
    """The functions in a wrapper, in a class of the reader's or in a collection."""
    if isinstance(value, partial):
        return (value.func, *value.args, *value.keywords.values())
    if isinstance(value, MethodType):
        return (value.__func__, type(value.__self__))
    if isinstance(value, type):
        if str(getattr(sys.modules.get(value.__module__), "__file__", "")).startswith(INSTALLED):
            return ()  # a dataclass's own methods come from no file
        return [part for part in vars(value).values() if any(own_functions(part))]
    if type(value) in (list, tuple, set):
        return value
    return value.values() if type(value) is dict else ()


def own_functions(value: Any) -> list[FunctionType]:
    """The reader's functions among a value and the functions it wraps."""
    around = [value] if isinstance(value, FunctionType) else []
    functions = {id(one): one for one in (*around, plain_function(value)) if one}
    return [one for one in functions.values() if not one.__code__.co_filename.startswith(INSTALLED)]


def plain_function(value: Any) -> FunctionType | None:
    """The Python function under @cute.jit, in a @ct.kernel or behind a property, or None."""
    if isinstance(value, property):
        value = value.fget
    if isinstance(value, staticmethod | classmethod):
        value = value.__func__
    value = inside_of_kernel(value)
    try:
        found = unwrap(value)
    except Exception:  # from objects that make up attributes, as torch.classes does
        return None
    return found if isinstance(found, FunctionType) else None


def codes_of(value: Any) -> list[CodeType]:
    """A function's code as written, and the codes of the functions inside it."""
    function = plain_function(value)
    codes = [code_as_written(function)] if function else []
    for code in codes:  # it grows
        codes += [part for part in code.co_consts if isinstance(part, CodeType)]
    return codes


def named_by(function: FunctionType) -> Iterator[Any]:
    """The values of the names in a function's code: globals, attributes of modules and classes, closure variables,
    defaults.
    """
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # an empty one
            yield cell.cell_contents
    value: Any = None
    for step in (step for code in codes_of(function) for step in dis.get_instructions(code)):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            value = function.__globals__.get(step.argval)
        elif step.opname == "IMPORT_NAME":
            value = sys.modules.get(step.argval)
        elif step.opname in ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM") and isinstance(value, ModuleType | type):
            value = getattr(value, step.argval, value)
        else:
            continue
        yield value
