"""Functions that an answer must not use: those that do what the exercise asks, and those of the checks.

One search of names, in a notebook's check and in grading alike. It reads the code of the answer and of the reader's own
functions and classes that this code names; of a plain Python function it reads the whole cells that define them.
Nothing is watched while the answer runs, so code that is written to hide a name gets past the search.
"""

import dis
import linecache
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from inspect import unwrap
from itertools import chain
from operator import attrgetter
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from tutorlib.checking.answer import WrongKind
from tutorlib.dsl.functions import inside_of_kernel
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


Tool = Callable | property | InModule | str
Library = Mapping[str, Tool]  # the reader's spelling → the function, its place, or a name alone
CHECKS = "tutorlib.exercises"  # whose functions know the answers
COURSE = "tutorlib."  # whose names, `load` or `linear`, are those of others, too
PACKAGE = str(Path(__file__).parents[1])
SITES = (folder for folder in sys.path if folder and any(Path(folder).glob("*.dist-info")))  # wherever pip installed to
INSTALLED = (PACKAGE, *(sysconfig.get_path(kind) for kind in ("stdlib", "purelib", "platlib")), *SITES)
ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM")


def as_told(library: Library) -> dict[str, tuple[str, ...]]:
    """The library as plain data, for another process: each spelling with a name, or a module and a name in it."""
    return {spelled: (part,) if isinstance(part, str) else tool_place(part) for spelled, part in library.items()}


def from_words(told: Mapping[str, tuple[str, ...]]) -> Library:
    """The inverse of `as_told`."""
    return {spelled: InModule(*where) if where[1:] else where[0] for spelled, where in told.items()}


def tool_place(part: Callable | property | InModule) -> tuple[str, str]:
    """The module and the qualified name of a function."""
    if isinstance(part, InModule):
        return part.module, part.name
    function: Any = part.fget if isinstance(part, property) else part
    return str(function.__module__), str(getattr(function, "__qualname__", ""))


def refuse_library_use(answer: Any, library: Library, *, plain: bool = False) -> None:
    """Raises WrongKind if the answer is one of these functions, or its code names one, a class that has one as a
    method, or an object of such a class.

    plain: whether it is a plain Python function. Then the bare names count as well, as in getattr(tl, "compose"): a
    function's own name, a method's class. The name of a function or class of the reader's is none of the library's.
    """
    names = {part: spelled for spelled, part in library.items() if isinstance(part, str)}
    places = {spelled: tool_place(part) for spelled, part in library.items() if not isinstance(part, str)}
    values = [*within_reach(answer, plain)]
    read = [*names_in(values, plain)]
    refuse_names(read, names)
    functions = {spelled: found for spelled, where in places.items() if (found := InModule(*where).found()) is not None}
    codes = {id(code): spelled for spelled, function in functions.items() for code in codes_of(function)}
    objects = {id(function): spelled for spelled, function in functions.items()}
    for value in values:
        if id(value) in objects:
            is_function = hasattr(value, "__name__") and not isinstance(value, type)
            raise used_library(f"{'calls' if is_function else 'uses'} {objects[id(value)]}")
        whole = value if isinstance(value, type) else type(value) if plain else None  # an object's methods are at hand
        for code in chain.from_iterable(map(codes_of, (value, *methods_of(whole)))):
            if id(code) in codes:
                raise used_library(f"calls {codes[id(code)]}")
        if isinstance(value, FunctionType) and is_of_the_checks(value.__module__, value.__qualname__):
            raise used_checks(f"{value.__module__}.{value.__qualname__}")
    if plain:
        bare = {spelled: name for spelled, (module, name) in places.items() if not module.startswith(COURSE)}
        refuse_names(read, {name.partition(".")[0]: spelled for spelled, name in bare.items()})


def refuse_names(read: Iterable[str], names: Mapping[str, str]) -> None:
    if found := next((names[name] for name in read if name in names), ""):
        raise used_library(f"uses {found}")


def methods_of(value: Any) -> list[Any]:
    """What a class defines; the defaults of a dataclass's fields are no methods of it."""
    if not isinstance(value, type):
        return []
    return [part for name, part in vars(value).items() if name not in getattr(value, "__dataclass_fields__", ())]


def used_library(does: str) -> WrongKind:
    what = f"it {does}, which does what you are asked to write.\n  Page 00 says what an answer may use."
    return WrongKind(Flaw(what, Fail.LIBRARY))


def used_checks(name: str) -> WrongKind:
    what = f"it calls {name}, which belongs to the checks.\n  Page 00 says what an answer may use."
    return WrongKind(Flaw(what, Fail.LIBRARY))


def is_of_the_checks(module: str | None, qualname: str) -> bool:
    """Whether a function knows answers. Methods and inner functions do not count: cases pass some to the answer."""
    return str(module).startswith(CHECKS) and "." not in qualname


# What it names -------------------------------------------------------------------------------------------------------


def names_in(values: Iterable[Any], plain: bool) -> Iterator[str]:
    """The names and the strings in the code of the reader's own functions, without the names of these functions.

    Each part of a dotted name counts: `import torch.distributed as d` has three names. A class statement has its name
    as a string, too.
    """
    for function in chain.from_iterable(map(own_functions, values)):
        for code in own_codes(function, plain):
            attributes = {step.argval for step in dis.get_instructions(code) if step.opname in ATTRIBUTES}
            others = {name for name in code.co_names if not is_the_readers(function.__globals__.get(name))}
            texts = {text for text in code.co_consts if isinstance(text, str)}
            texts -= {text for text in texts if is_the_readers_class(function.__globals__.get(text))}
            yield from chain.from_iterable(text.split(".") for text in (*attributes, *others, *texts))


def within_reach(answer: Any, plain: bool = False) -> Iterator[Any]:
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
                left += named_by(function, plain)


def held_by(value: Any) -> Iterable[Any]:
    """The functions in a wrapper, in a class of the reader's, in an object of one, or in a collection."""
    if isinstance(value, partial):
        return (value.func, *value.args, *value.keywords.values())
    if isinstance(value, MethodType):
        return (value.__func__, type(value.__self__))
    if isinstance(value, type):
        if is_installed(value):  # not told by its methods: a dataclass's come from no file
            return ()
        return [part for part in vars(value).values() if any(own_functions(part))]
    if type(value) in (list, tuple, set):
        return value
    if type(value) is dict:
        return value.values()
    return () if is_installed(type(value)) else (type(value), *getattr(value, "__dict__", {}).values())


def is_installed(kind: type) -> bool:
    """Whether a class is of Python or of a package."""
    module = kind.__module__
    if not isinstance(module, str) or module == "builtins":  # Cython's function type has a descriptor there
        return True
    return str(getattr(sys.modules.get(module), "__file__", "")).startswith(INSTALLED)


def is_the_readers(value: Any) -> bool:
    """Whether it is a function or a class of the reader's."""
    return bool(own_functions(value)) or is_the_readers_class(value)


def is_the_readers_class(value: Any) -> bool:
    return isinstance(value, type) and not is_installed(value)


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


def own_codes(function: FunctionType, plain: bool) -> list[CodeType]:
    """The code of a function of the reader's; of a plain one that of the whole cell which defines it."""
    entry = linecache.cache.get(function.__code__.co_filename)
    if plain and entry and len(entry) == 4 and entry[1] is None:  # the text of a cell
        with suppress(SyntaxError):
            return with_inner([compile("".join(entry[2]), "cell", "exec")])
    return codes_of(function)


def codes_of(value: Any) -> list[CodeType]:
    """A function's code as written, before @cute.jit put another in its place, and the codes of those inside it."""
    function = plain_function(value)
    return with_inner([getattr(function, "_original_code", function.__code__)] if function else [])


def with_inner(codes: list[CodeType]) -> list[CodeType]:
    for code in codes:  # it grows
        codes += [part for part in code.co_consts if isinstance(part, CodeType)]
    return codes


def named_by(function: FunctionType, plain: bool) -> Iterator[Any]:
    """The values of the names in a function's code: globals, attributes of modules and classes, closure variables,
    defaults.
    """
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # an empty one
            yield cell.cell_contents
    value: Any = None
    for step in (step for code in own_codes(function, plain) for step in dis.get_instructions(code)):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            value = function.__globals__.get(step.argval)
        elif step.opname == "IMPORT_NAME":
            value = sys.modules.get(step.argval)
        elif step.opname in ATTRIBUTES and isinstance(value, ModuleType | type):
            value = getattr(value, step.argval, value)
        else:
            continue
        yield value
