"""A tree as nested JSON objects, which any language reads: {"column", "at_most", "then", "else"}, or {"class"}."""

import json
import math

from odtc.extend import Branch, ChoiceError

TYPE = "exporter"
NAME = "nested_json"
SUMMARY = "nested JSON objects of thresholds and sets of levels"
SUFFIX = "json"


def write(tree) -> bytes:
    def node(of):
        if not isinstance(of, Branch):
            return {"class": tree.classes[of.label]}
        split = of.split
        if split.kind == "oblique":
            raise ChoiceError("nested_json expresses thresholds, sets of levels and missing cells, got a hyperplane")
        asked = {"missing": True} if split.kind == "missing" else None
        if split.kind == "threshold":
            asked = {"at_most": split.threshold}
        elif split.kind == "subset":
            asked = {"among": list(split.values)}
        return {"column": split.feature, **asked, "then": node(of.left), "else": node(of.right)}

    return json.dumps(node(tree.root), ensure_ascii=False, indent=1).encode()


def predict(content: bytes, tree, X) -> list[str]:
    """Follows the objects, for the laws; a level is its place in the list of levels."""

    def follow(at, row):
        while "class" not in at:
            cell = row[at["column"]]
            if "missing" in at:
                left = math.isnan(cell)
            else:
                left = cell <= at["at_most"] if "at_most" in at else cell in at["among"]
            at = at["then" if left else "else"]
        return at["class"]

    root = json.loads(content)
    return [follow(root, row) for row in X.tolist()]
