"""An ordered collection of modules by name, loaded when asked for, open to third parties.

A registry stands in each contract file (`formulation.py` has `FORMULATIONS`); adding a
member is one file in the plural folder and one name in the tuple. Other packages add
theirs through the entry point group `odtc.<kind>`.
"""

import difflib
import importlib
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from odtc.errors import ChoiceError


def did_you_mean(name: str, known) -> str:
    """ " (did you mean 'x'?)" when a known name is near, else an empty string."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f" (did you mean {near[0]!r}?)" if near else ""


def of_this_stem(path, *endings: str) -> str:
    """ " (did you mean 'm.sol'?)" where `path` is no file, but is one with one of the endings: a stem was given."""
    near = (
        [f"{path}{ending}" for ending in endings if Path(f"{path}{ending}").is_file()]
        if not Path(path).is_file()
        else []
    )
    return f" (did you mean {near[0]!r}?)" if near else ""


@dataclass(frozen=True)
class Registry:
    """Members of one kind. `module_names` maps a public name to a module below `package`."""

    kind: str  # the word used in messages: "model", "encoding", ...
    package: str  # "odtc.formulations"
    module_names: tuple[str, ...]  # public names; a dash in a name is an underscore in its file
    required: tuple[str, ...] = ()  # what each module must define
    group: str = field(kw_only=True)  # the entry point group of third parties, "odtc.solvers"

    def names(self) -> tuple[str, ...]:
        """Every name, the built-in ones first, in their order."""
        return self.module_names + tuple(sorted(self._foreign()))

    def get(self, name: str) -> ModuleType:
        """The module of this name; raises ChoiceError, with the nearest name, for an unknown one."""
        if not isinstance(name, str):
            raise ChoiceError(
                f"expected the name of a {self.kind} as a text, got {name!r}; known: {', '.join(self.names())}"
            )
        if name in self.module_names:
            module = importlib.import_module(f"{self.package}.{name.replace('-', '_')}")
        else:
            foreign = self._foreign()
            if name not in foreign:
                known = ", ".join(self.names()) or "there are none in this version"
                raise ChoiceError(f"unknown {self.kind} {name!r}{did_you_mean(name, self.names())}; known: {known}")
            module = foreign[name].load()
        missing = [word for word in self.required if not hasattr(module, word)]
        if missing:
            raise ChoiceError(f"{self.kind} {name!r} is not complete: it lacks {', '.join(missing)}")
        return module

    def parse(self, text: str) -> tuple[ModuleType, dict]:
        """(module, options) of "NAME" or "NAME:KEY=VALUE,KEY=VALUE", for kinds whose modules define OPTIONS, name ->
        (type, help); raises ChoiceError for a part that is unknown."""
        name, colon, rest = text.partition(":")
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

    def _foreign(self) -> dict:
        # importlib.metadata costs 30 ms, so it is only imported when a registry is really asked.
        from importlib.metadata import entry_points

        group = self.group
        return {point.name: point for point in entry_points(group=group)}
