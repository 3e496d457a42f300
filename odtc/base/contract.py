"""Contracts of registries: required and optional parts of members, declared once as protocols, one for each ability.

A protocol's names are its annotated values and its functions:

    NAME: str                        a required value
    ANY_COST: bool = False           an optional value, with its default
    @abstractmethod
    def build(self, problem): ...    a required function
    def notes(self, problem):        an optional function, with its default behaviour;
        return {}                    `self` is the Member, so a default may use other names

A module is checked completely when its registry loads it (`Contract.misfit`), and callers get a Member: it has every
declared name, defined or by default, and no other. So no code needs `getattr` or `hasattr` on a module.
"""

import difflib
import inspect
from collections.abc import Callable
from functools import cached_property
from types import ModuleType
from typing import Any

from odtc.base.value_class import value_class

NEAR = 0.8  # how alike a misspelt name and a declared one are, by difflib
MISSING = object()


@value_class
class Hook:
    """A declared name: its ability, whether the ability needs it, and its default."""

    name: str
    ability: type
    required: bool
    default: Any = MISSING
    parameters: tuple[str, ...] | None = None  # of a function; None for a value
    variadic: bool = False  # a function that takes options by name in addition to its parameters
    kind: type | None = None  # of a value, if it is a plain class

    @property
    def words(self) -> str:
        """The name as it is written, with the parameters of a function."""
        if self.parameters is None:
            return self.name
        return f"{self.name}({', '.join([*self.parameters, *(['**options'] if self.variadic else [])])})"

    def misfit(self, value: Any) -> str:
        """Return the reason why a value is not possible for this name, as a part of a sentence; "" if it is."""
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
    """Abilities of the members of a registry: the abilities `always`, at least one of `one_of` (if there are any), and
    those in `may` that it defines. A module that defines one required name of an ability must define all of them."""

    always: tuple[type, ...]
    one_of: tuple[type, ...] = ()
    may: tuple[type, ...] = ()

    @cached_property
    def hooks(self) -> dict[str, Hook]:
        """Every declared name."""
        return {hook.name: hook for ability in (*self.always, *self.one_of, *self.may) for hook in hooks_of(ability)}

    def required(self, ability: type) -> list[Hook]:
        return [hook for hook in self.hooks.values() if hook.ability is ability and hook.required]

    def abilities(self, module: Any) -> tuple[type, ...]:
        """The abilities that a module has, if it is complete."""
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
        return next((f"does not fit: {why}" for why in wrong if why), "")

    def _near_names(self, own: dict[str, Any]) -> dict[str, Hook]:
        """Return the module's own public names that are nearly a declared one that it lacks, and could replace it."""
        absent = {name: hook for name, hook in self.hooks.items() if name not in own}
        found = {}
        for name, value in own.items():
            if name.startswith("_") or name in self.hooks or isinstance(value, (ModuleType, type)):
                continue
            if callable(value) and getattr(value, "__module__", None) != own.get("__name__"):
                continue  # imported: its name is another's choice
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
    """The names that a protocol declares itself."""
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
