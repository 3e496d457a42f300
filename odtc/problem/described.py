"""The texts by which a model explains itself: its splits and classes, and the meaning of each family of variables."""

from collections.abc import Sequence
from functools import cached_property

from odtc.base.text import count_of
from odtc.base.value_class import value_class
from odtc.data.splits import Threshold
from odtc.data.task import TASKS
from odtc.data.threshold_scales import Scales
from odtc.model.blocks import Axis
from odtc.problem.problem import Problem
from odtc.problem.roles import Role

MAX_LISTED = 5_000  # lines for splits: with fewer than 160 bytes each, the first word of an LP file is in its first MB

MEANINGS = {
    Role.BRANCH: "1 if the node has this split",
    Role.LABEL: "1 if the node predicts this class",
    Role.STUMP: "1 if the node has this split and its child on this side predicts this class",
    Role.FLOW: "1 if the row enters the node and is classified correctly",
    Role.SINK: "1 if the row ends at the node and is classified correctly",
    Role.CORRECT: "1 if the row is classified correctly",
    Role.MISCLASSIFIED: "at least 1 if the row is misclassified",
    Role.SPLIT: "1 if the node branches",
    Role.FEATURE: "1 if the node splits on this feature",
    Role.ROUTE: "1 if the row ends at the node",
    Role.PREDICTED: "1 if the row ends at the node and is predicted as this class",
    Role.USED: "1 if a row ends at the node",
    Role.STOP: "1 if the set of rows (state) becomes a leaf",
    Role.PATH: "1 if the tree has this path",
    Role.ARC: "1 if the set of rows (state) has this split",
    Role.BOUND: "1 if the set of rows (state) passes from this ordered split to the next one",
    Role.SUM: "a sum of other variables, defined by constraints",
    Role.CONSTANT: "fixed to 1: its cost is the constant of the objective",
}


@value_class
class Described:
    """What a model states about its problem to a person; worked out when it is needed."""

    problem: Problem

    @cached_property
    def splits(self) -> list[str]:
        """Each split as the condition that is true for rows with result 1, which go to child 2t + 1 of node t."""
        encoded = self.problem.encoded
        return [
            split.words(encoded.features)[0 if ones_left else 1]
            for split, ones_left in zip(encoded.splits, encoded.ones_left)
        ]

    @cached_property
    def scales(self) -> list[str]:
        """Each scale of the model: the feature of its thresholds, or its only split."""
        encoded, scales = self.problem.encoded, Scales.of(self.problem.encoded)
        first = [int(scales.split(scale, 0)) for scale in range(scales.n)]
        return [
            encoded.features[split.feature].name
            if isinstance(split := encoded.splits[at], Threshold)
            else self.splits[at]
            for at in first
        ]

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes; none if leaves predict something else."""
        encoded = self.problem.encoded
        return encoded.classes if TASKS.get(encoded.task).CLASSES else ()

    def names(self, axis: Axis) -> Sequence[frozenset[str]]:
        """Return the texts by which each label of an axis is known; none for an axis whose labels are only numbers.

        Parameters
        ----------
        axis : Axis
            A split is known by its text and the text of its complement, by the texts of the splits merged with it,
            which have the same results for all rows, and by the features that it uses.

        Returns
        -------
        sequence of frozenset of str
        """
        encoded, features = self.problem.encoded, self.problem.encoded.features
        names: list[frozenset[str]] = []
        if axis.name == "split":
            names = [
                frozenset(
                    (
                        *(text for one, _ in ((split, True), *merged) for text in one.words(features)),
                        *(features[at].name for at in split.features),
                    )
                )
                for split, merged in zip(encoded.splits, encoded.stands_for)
            ]
        elif axis.name == "class":
            names = [frozenset((name,)) for name in self.classes]
        elif axis.name == "feature":
            names = [frozenset((text,)) for text in self.scales]
        return names if len(names) == axis.size else ()

    def lines(self, axes: Sequence[Axis]) -> list[str]:
        """Return the lines at the top of a model file.

        Parameters
        ----------
        axes : sequence of Axis
            The axes of the model. Scales of features are listed if they have an axis.

        Returns
        -------
        list of str
        """
        encoded, module = self.problem.encoded, self.problem.module
        rows = int(encoded.copies.sum())
        merged = f" ({encoded.n_rows:,} after merging equal ones)" if encoded.n_rows < rows else ""
        lines = [module.TITLE, module.PAPER]
        lines.append(
            f"depth {self.problem.topology.depth}, {count_of(rows, 'row')} of data{merged}, target {encoded.target}"
        )
        lines += [f"subject to {given}" for given in self.problem.constraints]
        lines.append("the root is node 1; rows that satisfy a split of node t go to node 2t + 1, all others to node 2t")
        listed = [("split", self.splits), ("class", self.classes)]
        listed += [("feature", self.scales)] * any(axis.name == "feature" for axis in axes)
        for word, texts in listed:
            digits = len(str(len(texts) - 1))
            lines += [f"{word} {at:0{digits}d}: {text}" for at, text in enumerate(texts[:MAX_LISTED])]
            if len(texts) > MAX_LISTED:
                lines.append(f"{len(texts) - MAX_LISTED:,} more of them are in the manifest, STEM.odt.json")
        return lines

    def meaning(self, role: str) -> str:
        """Return the meaning of the variables of a role; "" if it has none."""
        return MEANINGS.get(Role(role), "") if role else ""
