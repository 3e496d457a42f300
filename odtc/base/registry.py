"""Registry: an ordered collection of modules by name, loaded when needed, open to third parties.

Each registry is in a module of contracts (`formulation.py` has `FORMULATIONS`), next to the protocols of its members
(odtc.base.contract); a member is one file in the registry's package and one name in its tuple. Other packages add
theirs through the registry's entry point group. A module is checked completely when it is loaded; one of another
package that cannot be loaded, or whose name exists already, is left out with one warning and does not affect the
others.
"""

import contextlib
import functools
import hashlib
import importlib
import os
import sys
import warnings
from dataclasses import field
from os import PathLike
from pathlib import Path
from typing import Any

from odtc.base.contract import Contract, Member
from odtc.base.plug_ins import PlugInFile, loading, named_files
from odtc.base.text import did_you_mean as did_you_mean
from odtc.base.value_class import value_class
from odtc.errors import ChoiceError, SetAsideWarning


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
    _members: dict[str, Member] = field(default_factory=dict, init=False, repr=False, compare=False)
    _aside: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)  # warnings given so far

    def names(self) -> tuple[str, ...]:
        """Every name, the built-in ones first, in their order; of other packages those that can be loaded."""
        return self.module_names + tuple(name for name in sorted(self._foreign()) if self._usable(name))

    def get(self, name: str) -> Member:
        """The member of this name. Raises ChoiceError, with the nearest name, for an unknown one, and for a module that
        does not fit the contract."""
        if not isinstance(name, str):
            raise ChoiceError(
                f"expected the name of a {self.kind} as a text, got {name!r}; known: {', '.join(self.names())}"
            )
        if name in self.module_names:
            module = importlib.import_module(f"{self.package}.{name.replace('-', '_')}")
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
            own = name in self.module_names and module.__name__.startswith(f"{self.package}.")
            if why := "" if own else self.contract.misfit(module):
                raise ChoiceError(f"{self.kind} {name!r} {why}")
            known = self._members[name] = Member(name, module, self, self.contract)
        return known

    def able(self, ability: type) -> tuple[str, ...]:
        """The names of the members that have an ability, one of the protocols of the contract."""
        listed = dict(self.abilities).get(ability.__name__)
        others = self.names() if listed is None else self.names()[len(self.module_names) :]
        return *(listed or ()), *(name for name in others if self.get(name).can(ability))

    def origin(self, name: str) -> str:
        """The package that offers a member, with its version, or the file, with the begin of its SHA-256; "" for one of
        odtc.

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
        """The entry points of other packages by name: more than one if packages clash."""
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
        """The module of another package. Raises ChoiceError if it cannot be loaded, or if two packages offer it."""
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
    """The entry points of a group, whose name begins with "odtc.", of all packages that are on the path now."""
    return _by_group(_folders()).get(group, ())


def _folders() -> tuple[tuple[str, int], ...]:
    """The folders in which packages are looked for, and when their lists of names changed last."""
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
    """Return whether a package of a folder may have entry points for odtc; True for what is not a plain folder, such as
    an archive."""
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
    """Warns once of a file that cannot be a member of anything."""
    if why not in _WARNED:
        _WARNED.add(why)
        warnings.warn(why, SetAsideWarning, stacklevel=4)


def _package(point: Any) -> str:
    """The package that an entry point is of, with its version; or the file."""
    if isinstance(point, PlugInFile):
        return repr(str(point.path))
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else "a package without a name"
