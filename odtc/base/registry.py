"""Registry: an ordered collection of modules by name, loaded when needed, open to third parties.

Each registry is next to the protocols of its members (`formulation.py` has `FORMULATIONS`); a member is one file in the
registry's package and one name in its tuple. Other packages add theirs through the registry's entry point group. A
module of another package that cannot be loaded, or whose name exists already, is left out with one warning and does not
affect the others.

The protocols, one for each ability, are the contract of a registry. The annotated values and the functions of a
protocol are names that a member has:

    NAME: str                        a required value
    ANY_COST: bool = False           an optional value, with its default
    @abstractmethod
    def build(self, problem): ...    a required function
    def notes(self, problem):        an optional function, with its default behaviour;
        return {}                    `self` is the Member, so a default may use other names

A module is checked completely when its registry loads it (`Contract.misfit`), and callers get a Member: it has every
declared name, defined or by default, and no other. So no code needs `getattr` or `hasattr` on a module.
"""

import contextlib
import difflib
import functools
import hashlib
import importlib
import inspect
import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import field
from functools import cached_property
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import Any

from odtc.base.plug_ins import PlugInFile, loading, named_files
from odtc.base.text import did_you_mean
from odtc.base.value_class import value_class
from odtc.errors import ChoiceError, SetAsideWarning

NEAR = 0.8  # least similarity (difflib) at which a name counts as a misspelling of a declared name
MISSING = object()


@value_class
class Hook:
    """A name that a protocol declares: its ability, whether the ability requires it, and its default."""

    name: str
    ability: type
    required: bool
    default: Any = MISSING
    parameters: tuple[str, ...] | None = None  # the parameters of a function; None for a value
    variadic: bool = False  # a function that takes options by name in addition to its parameters
    kind: type | None = None  # the type of a value, if it is a plain class

    @property
    def words(self) -> str:
        """The name as it is written, with the parameters of a function."""
        if self.parameters is None:
            return self.name
        return f"{self.name}({', '.join([*self.parameters, *(['**options'] if self.variadic else [])])})"

    def misfit(self, value: Any) -> str:
        """Return the reason why a value is invalid for this name, as a part of a sentence; "" if it is valid."""
        if self.parameters is None:
            if self.kind is not None and not isinstance(value, self.kind):
                return f"expected {self.name} as {self.kind.__name__}, got {value!r}"
            return ""
        if not callable(value):
            return f"expected a function {self.words}, got {self.name} = {value!r}"
        return "" if self.takes(value) else f"expected {self.words}, got {self.name}{_signature(value)}"

    def takes(self, function: Callable[..., Any]) -> bool:
        """Return whether a function can be called with the declared parameters."""
        given = self.parameters or ()
        try:
            inspect.signature(function).bind_partial(*given)
            return self.variadic or bool(inspect.signature(function).bind(*given))
        except TypeError:
            return False
        except ValueError:  # a builtin that does not state its parameters
            return True


@value_class
class Contract:
    """Abilities that the members of a registry must have (`always`), of which they need at least one (`one_of`, if not
    empty), and which are optional (`may`). A module that defines one required name of an ability must define all.
    `unfit` returns why the values of a complete module are invalid, as a part of a sentence, or ""."""

    always: tuple[type, ...]
    one_of: tuple[type, ...] = ()
    may: tuple[type, ...] = ()
    unfit: Callable[[Any], str] | None = None

    @cached_property
    def hooks(self) -> dict[str, Hook]:
        """Every declared name."""
        return {hook.name: hook for ability in (*self.always, *self.one_of, *self.may) for hook in hooks_of(ability)}

    def required(self, ability: type) -> list[Hook]:
        return [hook for hook in self.hooks.values() if hook.ability is ability and hook.required]

    def abilities(self, module: Any) -> tuple[type, ...]:
        """Return the abilities that a module has, if it is complete."""
        own = vars(module)
        able = [each for each in (*self.one_of, *self.may) if any(hook.name in own for hook in self.required(each))]
        return (*self.always, *able)

    def misfit(self, module: Any) -> str:
        """Return why a module does not fit, as the rest of a sentence that begins with its name; "" if it does."""
        own = vars(module)
        wanted = [hook for ability in self.abilities(module) for hook in self.required(ability)]
        missing = [hook for hook in wanted if hook.name not in own]
        near = self._near_names(own)
        if missing:
            return f"is not complete: it lacks {', '.join(_told(hook, near) for hook in missing)}"
        for name, hook in near.items():
            return (
                f"defines {name!r}, which odtc does not use; did you mean {hook.name!r}? (else begin its name with an "
                "underscore)"
            )
        if self.one_of and not set(self.one_of) & set(self.abilities(module)):
            ways = [", ".join(hook.words for hook in self.required(ability)) for ability in self.one_of]
            return f"is not complete: expected {'; or '.join(ways)}; it has none of these"
        wrong = (hook.misfit(own[name]) for name, hook in self.hooks.items() if name in own)
        why = next(filter(None, wrong), "") or (self.unfit(module) if self.unfit else "")
        return f"does not fit: {why}" if why else ""

    def _near_names(self, own: dict[str, Any]) -> dict[str, Hook]:
        """Return the public names of a module that look like misspellings of declared names that it lacks."""
        absent = {name: hook for name, hook in self.hooks.items() if name not in own}
        found = {}
        for name, value in own.items():
            if name.startswith("_") or name in self.hooks or isinstance(value, (ModuleType, type)):
                continue
            if callable(value) and getattr(value, "__module__", None) != own.get("__name__"):
                continue  # imported, so another module has chosen its name
            for other in difflib.get_close_matches(name, absent, n=1, cutoff=NEAR):
                hook = absent[other]
                if (hook.parameters is not None) == callable(value) and not hook.misfit(value):
                    found[name] = hook
        return found


class Member:
    """A module of a registry under its public name, with every declared name: its own, or the default.

    Attributes
    ----------
    name : str
        The public name.
    module : module
        Where it is defined.
    abilities : tuple of type
        The protocols that it fulfils.
    """

    __slots__ = ("name", "module", "abilities", "_registry", "_hooks")

    def __init__(self, name: str, module: Any, registry: Any, contract: Contract):
        self.name, self.module, self._registry = name, module, registry
        self.abilities, self._hooks = contract.abilities(module), contract.hooks

    def can(self, ability: type) -> bool:
        """Return whether it has an ability, one of the protocols of its contract."""
        return ability in self.abilities

    def __getattr__(self, word: str) -> Any:
        hook = self._hooks.get(word)
        if hook is None:
            raise AttributeError(f"{word!r} is not a name of the contract of a {self._registry.kind} ({self.name!r})")
        value = getattr(self.module, word, MISSING)
        if value is not MISSING:
            return value
        if hook.default is MISSING:
            raise AttributeError(f"the {self._registry.kind} {self.name!r} has no {hook.words}")
        return hook.default.__get__(self) if hook.parameters is not None else hook.default

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Member) and (self.name, self.module) == (other.name, other.module)

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"<{self._registry.kind} {self.name}>"

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return self._registry.get, (self.name,)


def hooks_of(ability: type) -> list[Hook]:
    """Return the names that a protocol declares itself."""
    found = []
    for name, kind in vars(ability).get("__annotations__", {}).items():
        default = vars(ability).get(name, MISSING)
        plain = kind if isinstance(kind, type) and kind in (str, bool, int, float, tuple, dict, type) else None
        found.append(Hook(name, ability, default is MISSING, default, kind=plain))
    for name, function in vars(ability).items():
        if name.startswith("_") or not inspect.isfunction(function):
            continue
        given = list(inspect.signature(function).parameters.values())[1:]
        variadic = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in given)
        parameters = tuple(each.name for each in given if each.kind is not inspect.Parameter.VAR_KEYWORD)
        required = getattr(function, "__isabstractmethod__", False)
        found.append(Hook(name, ability, required, MISSING if required else function, parameters, variadic))
    return found


def _told(hook: Hook, near: dict[str, Hook]) -> str:
    meant = next((name for name, other in near.items() if other is hook), None)
    return hook.words + (f" (did you mean its {meant!r}?)" if meant else "")


def _signature(function: Callable[..., Any]) -> str:
    try:
        return str(inspect.signature(function))
    except ValueError:
        return "(…)"


def of_this_stem(path: str | PathLike[str], *endings: str) -> str:
    """Return " (did you mean 'm.sol'?)" if `path` is a file only with one of the endings: a stem was given."""
    near = (
        [f"{path}{ending}" for ending in endings if Path(f"{path}{ending}").is_file()]
        if not Path(path).is_file()
        else []
    )
    return f" (did you mean {near[0]!r}?)" if near else ""


@value_class
class Registry:
    """Members of one kind. `module_names` maps a public name to a module below `package`."""

    kind: str  # the word used in messages: "model", "encoding", ...
    package: str  # "odtc.formulations"
    module_names: tuple[str, ...]  # public names; a dash in a name is an underscore in its file
    contract: Contract  # required and optional parts of each module
    group: str  # the entry point group of third parties: "odtc.formulations", whatever the package is called
    choices: tuple[str, ...] = ()  # words that users may give in place of a name, such as auto
    # ((name of an ability, members of odtc that have it), …), so that `able` need not import all; a test compares
    abilities: tuple[tuple[str, tuple[str, ...]], ...] = ()
    # Names that are rows of a table, and the module that has them in MEMBERS, instead of a file each.
    tabled: tuple[tuple[str, ...], str] = ((), "")
    _members: dict[str, Member] = field(default_factory=dict, init=False, repr=False, compare=False)
    _aside: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)  # warnings given so far

    def names(self) -> tuple[str, ...]:
        """Every name, the built-in ones first, in their order; of other packages those that can be loaded."""
        return self.module_names + tuple(name for name in sorted(self._foreign()) if self._usable(name))

    def get(self, name: str) -> Member:
        """Return the member of this name. Raises ChoiceError, with the nearest name, for an unknown one, and for a
        module that does not fit the contract."""
        if not isinstance(name, str):
            raise ChoiceError(
                f"expected the name of a {self.kind} as a text, got {name!r}; known: {', '.join(self.names())}"
            )
        if name in self.module_names:
            module = self._own(name)
        else:
            foreign = self._foreign()
            if name not in foreign:
                words = self.choices + self.names()
                known = ", ".join(words) or "there are none in this version"
                raise ChoiceError(f"unknown {self.kind} {name!r}{did_you_mean(name, words)}; known: {known}")
            module = self._loaded(name, foreign[name])
        return self.admitted(name, module)

    def admitted(self, name: str, module: Any) -> Member:
        """Return a module as a member with this name; raises ChoiceError if it does not satisfy the contract.

        The modules of odtc are checked by tests/structure, not at every start of a command.
        """
        known = self._members.get(name)
        if known is None or known.module is not module:
            own = name in self.module_names and module is self._own(name)
            if why := "" if own else self.contract.misfit(module):
                raise ChoiceError(f"{self.kind} {name!r} {why}")
            known = self._members[name] = Member(name, module, self, self.contract)
        return known

    def _own(self, name: str) -> Any:
        """Return the module, or the row of a table, that odtc has for a name."""
        names, table = self.tabled
        if name in names:
            return importlib.import_module(table).MEMBERS[name]
        return importlib.import_module(f"{self.package}.{name.replace('-', '_')}")

    def able(self, ability: type) -> tuple[str, ...]:
        """Return the names of the members that have an ability, one of the protocols of the contract."""
        listed = dict(self.abilities).get(ability.__name__)
        others = self.names() if listed is None else self.names()[len(self.module_names) :]
        return *(listed or ()), *(name for name in others if self.get(name).can(ability))

    def origin(self, name: str) -> str:
        """Return the package that offers a member, with its version, or the file, with the begin of its SHA-256; "" for
        one of odtc.

        Parameters
        ----------
        name : str
            A registered name.

        Returns
        -------
        str
        """
        points = self._foreign().get(name, []) if name not in self.module_names else []
        if not points:
            return ""
        if isinstance(points[0], PlugInFile):
            path = points[0].path
            return f"{path.name} (sha256 {hashlib.sha256(path.read_bytes()).hexdigest()[:12]})"
        return _package(points[0])

    def parse(self, text: str) -> tuple[Member, dict[str, Any]]:
        """(member, options) of "NAME" or "NAME:KEY=VALUE,KEY=VALUE", for kinds whose modules define OPTIONS, name ->
        (type, help); raises ChoiceError for a part that is unknown."""
        name, colon, rest = text.partition(":")
        key = name.partition("=")[0].strip()
        if "=" in name and name.strip() not in self.names():
            fit = next((one for one in self.names() if key in self.get(one).OPTIONS), "NAME")
            raise ChoiceError(
                f"expected the name of the {self.kind} before its options, as {fit}:{text.strip()}, got {text!r}"
            )
        module, options = self.get(name.strip()), {}
        for part in rest.split(",") if colon else ():
            key, _, value = (piece.strip() for piece in part.partition("="))
            if not key:
                raise ChoiceError(
                    f"expected KEY=VALUE behind each colon and comma of the {self.kind} {text!r}, got nothing; leave "
                    f"the sign out"
                )
            if key not in module.OPTIONS:
                known = ", ".join(module.OPTIONS) or "it has none"
                raise ChoiceError(
                    f"unknown option {key!r} of the {self.kind} {name!r}{did_you_mean(key, module.OPTIONS)}; known: "
                    f"{known}"
                )
            wanted = module.OPTIONS[key][0]
            try:
                options[key] = wanted(value)
            except ValueError:
                raise ChoiceError(
                    f"expected {key}=VALUE with a value of type {wanted.__name__} in the {self.kind} {text!r}, got "
                    f"{value!r}"
                ) from None
        return module, options

    def _foreign(self) -> dict[str, list[Any]]:
        """Return the entry points of other packages by name: more than one if packages clash."""
        found: dict[str, list[Any]] = {}
        for point in offered(self.group):
            if point not in found.setdefault(point.name, []):  # a package may be found twice on the path
                found[point.name].append(point)
        for file in named_files():
            try:
                if file.kind == self.group.removeprefix("odtc.").removesuffix("s"):
                    if file not in found.setdefault(file.name, []):  # named twice is offered once
                        found[file.name].append(file)
            except ChoiceError as problem:
                _warn_of_file(str(problem))
        for name in self.module_names:
            if name in found:
                whose = ", ".join(sorted(map(_package, found.pop(name))))
                self._set_aside(name, f"{whose} offers it, and odtc has one of this name: rename it there")
        return found

    def _loaded(self, name: str, points: list[Any]) -> Any:
        """Return the module of another package. Raises ChoiceError if it cannot be loaded, or if two packages offer
        it."""
        if len(points) > 1:
            whose = " and ".join(sorted(map(_package, points)))
            raise ChoiceError(f"{self.kind} {name!r} is offered by {whose}: remove one of them")
        with loading(f"{self.kind} {name!r} of {_package(points[0])}"):
            return points[0].load()

    def _usable(self, name: str) -> bool:
        """Return whether a member of another package can be used; if not, it is left out."""
        try:
            self.get(name)
        except ChoiceError as problem:
            self._set_aside(name, str(problem))
            return False
        return True

    def _set_aside(self, name: str, why: str) -> None:
        if name not in self._aside:
            self._aside[name] = why
            warnings.warn(f"the {self.kind} {name!r} is set aside: {why}", SetAsideWarning, stacklevel=3)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_members": {}, "_aside": {}}  # modules are found again by their names


def offered(group: str) -> tuple[Any, ...]:
    """Return the entry points of a group, whose name begins with "odtc.", of all packages that are on the path now."""
    return _by_group(_folders()).get(group, ())


def _folders() -> tuple[tuple[str, int], ...]:
    """Return the folders in which packages are looked for, and when their lists of names changed last."""
    found = []
    for folder in sys.path:
        with contextlib.suppress(OSError):
            found.append((folder, os.stat(folder or ".").st_mtime_ns))
    return tuple(found)


@functools.lru_cache(maxsize=4)
def _by_group(folders: tuple[tuple[str, int], ...]) -> dict[str, tuple[Any, ...]]:
    """Return the entry points of all packages by their group. Reading them takes 20 ms for any number of groups, and a
    command uses several registries, some of them for each file."""
    if not any(map(_offers, folders)):
        return {}
    from importlib.metadata import entry_points  # it takes 30 ms

    found = entry_points()
    return {group: tuple(found.select(group=group)) for group in found.groups if group.startswith("odtc.")}


def _offers(folder: tuple[str, int]) -> bool:
    """Return whether a package of a folder may have entry points for odtc; True for an existing path that is not a
    plain folder, such as an archive."""
    path = folder[0] or "."
    if not os.path.isdir(path) or path.endswith(".egg"):
        return os.path.exists(path)
    with os.scandir(path) as entries:
        found = [entry.path for entry in entries if entry.name.endswith((".dist-info", ".egg-info", ".egg"))]
    for one in found:
        if one.endswith(".egg"):
            return True
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            with open(os.path.join(one, "entry_points.txt"), "rb") as file:
                if b"[odtc." in file.read():
                    return True
    return False


_WARNED: set[str] = set()


def _warn_of_file(why: str) -> None:
    """Warn once about a file that cannot be a plug-in of any type."""
    if why not in _WARNED:
        _WARNED.add(why)
        warnings.warn(why, SetAsideWarning, stacklevel=4)


def _package(point: Any) -> str:
    """Return the package of an entry point, with its version; or the file."""
    if isinstance(point, PlugInFile):
        return repr(str(point.path))
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else "a package without a name"
