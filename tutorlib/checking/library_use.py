"""Functions that an answer must not use: those that do what the exercise asks, and those of the checks.

One search, in a notebook's check and in grading alike. It reads the code of the answer and of the reader's own
functions and classes that this code names. Nothing is watched while the answer runs, so code that is written to hide a
name gets past the search.
"""

import dis
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from inspect import unwrap
from operator import attrgetter
from types import CodeType, FunctionType, ModuleType
from typing import Any

from tutorlib.checking.answer import Served, WrongKind, need_callable
from tutorlib.compiling.errors import libraries
from tutorlib.dsl.functions import function_of
from tutorlib.failure import Fail, Flaw

# The reader's spelling → a function or a property, or a name: "a_layout" of anything, "numpy:sort" of a module, which
# the answer may not have imported, or "module:Class.method".
Library = Mapping[str, Callable | property | str]
Told = Mapping[str, str]  # a library as plain data: the spelling → the name
CHECKS = "tutorlib.exercises"  # whose functions know the answers
COURSE = "tutorlib."  # whose names, `load` or `linear`, are those of others, too
ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM")


def of_course(module: str, *names: str) -> dict[str, str]:
    """The course's own functions that do what an exercise asks for, for its library."""
    return {f"the course's {name}": f"tutorlib.kernels.{module}:{name}" for name in names}


def as_told(library: Library) -> Told:
    functions = {spelled: part.fget if isinstance(part, property) else part for spelled, part in library.items()}
    return {
        spelled: part if isinstance(part, str) else f"{part.__module__}:{getattr(part, '__qualname__', '')}"
        for spelled, part in functions.items()
    }


def names_none_of(served: Served, told: Told) -> None:
    """A question about an answer that computes values, as `refuse_library_use`."""
    refuse_library_use(need_callable(served.answer), told)


def refuse_library_use(answer: Any, told: Told) -> None:
    """Raises WrongKind if the answer is one of these functions, or its code names one, a class that has one as a
    method, or an object of such a class.

    Bare names count as well, as in getattr(tl, "compose"): a function's own name, a method's class; but not those of
    the course's functions. The name of a function or class of the reader's is none of the library's.
    """
    words: dict[str, str] = {}
    tools: dict[int, str] = {}
    for spelled, place in told.items():
        module, _, name = place.rpartition(":")
        if not module.startswith(COURSE):
            words[name.partition(".")[0]] = spelled
        with suppress(AttributeError, KeyError):  # no module, or one that was not imported
            tool = attrgetter(name)(sys.modules[module])
            tools |= dict.fromkeys((id(tool), *map(id, codes_of(plain_function(tool)))), spelled)
    for value in within_reach(answer):
        function = plain_function(value)
        found = [tools[id(part)] for part in (value, *codes_of(function)) if id(part) in tools]
        if function and is_readers(function):
            found += [words[word] for word in words_in(function) if word in words]
        does = f"uses {found[0]}, which does what you are asked to write" if found else ""
        if not found and function and function.__module__.startswith(CHECKS) and "." not in function.__qualname__:
            does = f"calls {function.__module__}.{function.__qualname__}, which belongs to the checks"
        if does:
            raise WrongKind(Flaw(f"it {does}.\n  Page 00 says what an answer may use.", Fail.LIBRARY))


def words_in(function: FunctionType) -> Iterator[str]:
    """The names and the strings in a function's code, without the names of the reader's functions and classes.

    Each part of a dotted name counts: `import torch.distributed as d` has two names. A string with spaces is none.
    """
    for code in codes_of(function):
        attributes = {step.argval for step in dis.get_instructions(code) if step.opname in ATTRIBUTES}
        texts = {text for text in code.co_consts if isinstance(text, str) and " " not in text}  # PTX has spaces
        others = (name for name in code.co_names if not is_readers(function.__globals__.get(name)))
        for word in attributes.union(texts, others):
            yield from word.split(".")


def within_reach(answer: Any) -> list[Any]:
    """The answer, the values that its code names, and those reachable through the reader's own functions."""
    seen: dict[int, Any] = {}
    left = [answer]
    while left:
        value = left.pop()
        if id(value) not in seen:
            seen[id(value)] = value  # kept alive, so that its id stays unique
            left += held_by(value)
            if (function := plain_function(value)) and is_readers(function):
                left += named_by(function)
    return list(seen.values())


def held_by(value: Any) -> Iterable[Any]:
    """The functions in a wrapper or a collection, the class of an object, and a class's methods.

    The defaults of a dataclass's fields are no methods.
    """
    if isinstance(value, partial):
        return (value.func, *value.args, *value.keywords.values())
    if isinstance(value, type):
        fields = getattr(value, "__dataclass_fields__", ())
        return [part for name, part in vars(value).items() if name not in fields and plain_function(part)]
    if isinstance(value, list | tuple | set | dict):
        return (*value, *(value.values() if isinstance(value, dict) else ()))
    return () if isinstance(value, ModuleType | FunctionType) else (type(value),)


def named_by(function: FunctionType) -> Iterator[Any]:
    """What a function's code names: globals, attributes of modules and classes, closure variables, defaults."""
    yield from (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # an empty one
            yield cell.cell_contents
    value: Any = None
    for step in (step for code in codes_of(function) for step in dis.get_instructions(code)):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "IMPORT_NAME"):
            value = function.__globals__.get(step.argval, sys.modules.get(step.argval))
            yield value
        elif step.opname in ATTRIBUTES and isinstance(value, ModuleType | type):
            value = getattr(value, step.argval, value)
            yield value


def is_readers(thing: Any) -> bool:
    """Whether it is a class or a function, in any wrapper, and neither Python's nor a package's."""
    if isinstance(thing, type):
        file = getattr(sys.modules.get(thing.__module__), "__file__", "")
        return thing.__module__ != "builtins" and not str(file).startswith(libraries())
    if not (function := plain_function(thing)):
        return False  # its module's file: code that a dataclass generates names none
    return not str(function.__globals__.get("__file__") or function.__code__.co_filename).startswith(libraries())


def plain_function(value: Any) -> FunctionType | None:
    """The Python function under @cute.jit, in a @ct.kernel or behind a property, or None."""
    try:
        value = getattr(value, "fget" if isinstance(value, property) else "__func__", value)
        found = unwrap(function_of(value))
    except Exception:  # from objects that make up attributes, as torch.classes does
        return None
    return found if isinstance(found, FunctionType) else None


def codes_of(function: FunctionType | None) -> list[CodeType]:
    """A function's code as written, before @cute.jit put another in its place, and the codes of those inside it: what
    `make_gemm` returns has one of these.
    """
    codes = [getattr(function, "_original_code", function.__code__)] if function else []
    for code in codes:  # it grows
        codes += [part for part in code.co_consts if isinstance(part, CodeType)]
    return codes
