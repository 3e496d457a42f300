"""All registries under the words of `odtc list`, and what `odtc info` says of a member."""

import dataclasses

from odtc.cut import CUTS
from odtc.encoding import ENCODINGS
from odtc.errors import ChoiceError
from odtc.format import FORMATS
from odtc.formulation import FORMULATIONS, parameter_key
from odtc.heuristic import HEURISTICS
from odtc.point import POINTS
from odtc.reader import READERS
from odtc.registry import did_you_mean
from odtc.selection import SELECTIONS
from odtc.solver import SOLVERS

REGISTRIES = {
    "models": FORMULATIONS, "cuts": CUTS, "encodings": ENCODINGS, "solvers": SOLVERS, "formats": FORMATS,
    "exporters": None, "selections": SELECTIONS, "starts": HEURISTICS, "points": POINTS, "readers": READERS,
}


def members(kind: str) -> list[tuple[str, str]]:
    """(name, one line) of every member; raises ChoiceError for an unknown kind."""
    if kind not in REGISTRIES:
        raise ChoiceError(f"cannot list {kind!r}{did_you_mean(kind, REGISTRIES)}; known: {', '.join(REGISTRIES)}")
    if kind == "exporters":
        from odtc.render import exporters

        return list(exporters().items())
    registry = REGISTRIES[kind]
    return [(name, _line(kind, registry.get(name))) for name in registry.names()]


def describe(name: str) -> str:
    """What is known of a member of any registry; raises ChoiceError for an unknown name."""
    names = [member for kind in REGISTRIES for member, _ in members(kind)]
    texts = []
    for kind in REGISTRIES:
        for member, line in members(kind):
            if member == name:
                texts.append(f"{name} ({kind}): {line}" + _details(kind, name))
    if not texts:
        raise ChoiceError(f"nothing is called {name!r}{did_you_mean(name, names)}; see `odtc list models` and the like")
    return "\n\n".join(texts)


def _line(kind, module) -> str:
    if kind == "models":
        return module.TITLE
    if kind == "solvers":
        return f"{module.SUMMARY}; {module.version() or 'not found'}"
    return module.SUMMARY


def _details(kind, name) -> str:
    lines = []
    if kind == "models":
        module = FORMULATIONS.get(name)
        lines += ["", f"paper: {module.PAPER}"]
        for field in dataclasses.fields(module.Params):
            about = field.metadata
            span = f", {about['least']} to below {about['below']}" if about["below"] is not None else ""
            choices = f", one of {', '.join(about['choices'])}" if about["choices"] else ""
            default = str(field.default).lower() if isinstance(field.default, bool) else field.default
            lines.append(f"-p {parameter_key(field)}=…  {about['help']} (default {default}{span}{choices})")
        doc = (module.__doc__ or "").strip()
        lines += ["", doc] if doc else []
    elif kind == "encodings":
        for key, (_, text) in ENCODINGS.get(name).OPTIONS.items():
            lines.append(f"--encoding {name}:{key}=…  {text}")
    return "".join(f"\n{line}" for line in lines)
