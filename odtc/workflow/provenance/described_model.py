"""The model that a manifest describes: built again, or, if a plug-in that made it has changed since, as it is recorded.

Columns, and with them the tree, follow from the manifest only. The constraints are built by the same code, or read
from the model file that was built, which the manifest identifies by its content. If there is neither, nothing is
known of the constraints and nothing is proved.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

import odtc
from odtc.errors import ManifestError, OdtcError, TimeLimitReached
from odtc.model.milp import Model
from odtc.problem.constraints import constraint
from odtc.problem.constraints.kind import CONSTRAINTS
from odtc.problem.cuts import cut
from odtc.problem.cuts.cut import CUTS
from odtc.problem.formulation import FORMULATIONS
from odtc.workflow.manifest import Manifest
from odtc.workflow.provenance.claims import file_of, under_columns


def described(manifest: Manifest, path: Path) -> Model:
    """Return the model that a manifest describes.

    Parameters
    ----------
    manifest : Manifest
    path : Path
        The solution file; the model file is expected next to it.

    Returns
    -------
    Model
        `recorded` is the reason why it is not built again, "" if it is.

    Raises
    ------
    ManifestError
        If no plug-in has changed, and the model differs from the one that the manifest records: it was edited.
    """
    known, now = _makers(manifest)
    try:
        model = _built(manifest)
        manifest.expect(model, f"{now or f'odtc {odtc.__version__}'} builds")
    except TimeLimitReached:
        raise
    except Exception as problem:
        if not known:
            if isinstance(problem, OdtcError):
                raise
            raise ManifestError(
                f"the model of the manifest {str(manifest.path)!r} cannot be built again by "
                f"{manifest.problem.formulation}: {type(problem).__name__}: {problem}"
            ) from None
        model = None
    if not known or (model is not None and not now):  # odtc is another version, and builds the recorded model
        return model
    changed = f"built by {known}, here is {now or f'odtc {odtc.__version__}'}"
    solved = file_of(manifest, manifest.content, path) if manifest.content else None
    if solved is None:
        return replace(
            _columns_alone(manifest),
            recorded=f"{changed}: the tree is read from the columns that the manifest records; the rows are not known, "
            "because the model file is not available",
        )
    if model is not None and under_columns(manifest, model, solved) is None:
        return model  # the same rows all the same
    moved = under_columns(manifest, _columns_alone(manifest), solved)
    return replace(
        moved,
        problem=manifest.problem,
        cuts=manifest.cuts,
        recorded=f"{changed}: the tree is read from the columns that the manifest records, and the rows from "
        "the model file",
    )


def _built(manifest: Manifest) -> Model:
    """Build the model by the present code, with the constraints that the manifest itself contains."""
    problem = manifest.problem
    return manifest.with_separated(cut.add(problem, constraint.built(problem), manifest.cuts))


def _makers(manifest: Manifest) -> tuple[str, str]:
    """Return the formulation and plug-ins that made the model, and their present versions, in words, if some have
    changed since; ("", the present ones) if none has."""
    facts, module = manifest.facts, manifest.problem.module
    then, now = [], []
    registries = {registry.kind: registry for registry in (FORMULATIONS, CUTS, CONSTRAINTS)}
    version = facts["model"].get("version", "")
    recorded = {(one["type"], one["name"]): one["origin"] for one in facts.get("plug_ins", ())}
    own = (FORMULATIONS.kind, module.name)
    for kind, name in dict.fromkeys([own, *recorded]):
        if kind not in registries:
            continue  # what made the splits, which the manifest holds
        before, after = recorded.get((kind, name), ""), registries[kind].origin(name)
        was, is_ = (version, module.VERSION) if (kind, name) == own else ("", "")
        if before or after or was or is_:
            then.append((f"{name}{' ' + was if was else ''} of {before or 'odtc'}", (before, was)))
            now.append((f"{name}{' ' + is_ if is_ else ''} of {after or 'odtc'}", (after, is_)))
    words_now = " and ".join(words for words, _ in now)
    if [key for _, key in then] != [key for _, key in now]:
        return " and ".join(words for words, _ in then), words_now
    if not then and facts.get("odtc") != odtc.__version__:
        return f"{module.name} of odtc {facts.get('odtc')}", ""
    return "", words_now


def _columns_alone(manifest: Manifest) -> Model:
    """Return a model with the recorded columns, and without constraints or costs."""
    n, none = manifest.n_cols, np.zeros(0)
    return Model(
        manifest.facts["model"].get("name", manifest.problem.formulation),
        *(np.zeros(n), 0.0, none, none, np.full(n, -np.inf), np.full(n, np.inf), np.zeros(n, np.uint8)),
        columns=manifest.columns,
        rows=(),
        problem=manifest.problem,
        cuts=manifest.cuts,
        rowless=True,
    )
