"""treeple's oblique tree on the splits of benchmarks.generalisation, in an environment of its own.

    python3 -m venv /tmp/treeple && /tmp/treeple/bin/pip install treeple 'scikit-learn==1.7.*'
    python -m benchmarks.treeple_tree --python /tmp/treeple/bin/python -o treeple.jsonl --beside generalisation.jsonl

treeple 0.10 is compiled against an older scikit-learn than ours, so that Python fits its tree, and gets arrays. Fixed
before the first run: ObliqueDecisionTreeClassifier of the depth on standardised columns, random_state 0; criterion gini
or entropy, leaves of 1, 5 or 10 rows and ccp_alpha 0, .001, .003, .01, .03 by as many folds as cart_tuned has. One line
of JSON a cell of --beside, appended; what the file has already is not run again.
"""

import argparse
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

DEPTHS = "2,3"


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--python", help="of an environment with treeple")
    words.add_argument("-o", "--out", type=Path, default=Path("treeple.jsonl"))
    words.add_argument("--beside", type=Path, default=Path("generalisation.jsonl"))
    words.add_argument("--depths", default=DEPTHS)
    words.add_argument("--splits", type=int, default=10)
    words.add_argument("--fit", help=argparse.SUPPRESS)  # what this file does in the other environment
    asked = words.parse_args()
    if asked.fit:
        print(fitted(asked.fit))
        return
    if not asked.beside.exists():
        words.error(f"expected --beside as a file that benchmarks.generalisation wrote, and there is no {asked.beside}")
    if asked.python and shutil.which(asked.python) is None:
        words.error(f"expected --python as the Python of an environment with treeple, and there is no {asked.python}")
    import numpy as np
    from sklearn.model_selection import train_test_split

    from benchmarks.constrained import had
    from benchmarks.data import data_file, expect_data_files
    from odtc import read
    from odtc.data.linear_terms import LinearTerms

    depths, beside, found = list(map(int, asked.depths.split(","))), had(asked.beside), had(asked.out)
    if asked.python:
        expect_data_files(words, (one["set"] for one in beside))
    for other in beside:
        key = {word: other[word] for word in ("set", "depth", "split")}
        wanted = asked.python and key["depth"] in depths and key["split"] < asked.splits
        if not wanted or any(key.items() <= record.items() for record in found):
            continue
        dataset = read(data_file(key["set"]))
        inside, outside = train_test_split(
            np.arange(dataset.n_rows), test_size=0.25, stratify=dataset.y, random_state=key["split"]
        )
        terms, train, test = LinearTerms.of(dataset.X, dataset.features), np.sort(inside), np.sort(outside)
        raw = terms.Z * terms.span + terms.low
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "split.npz")
            arrays = {"X": raw[train], "y": dataset.y[train], "X_test": raw[test], "y_test": dataset.y[test]}
            np.savez(file, depth=key["depth"], **arrays)
            child = [asked.python, "-I", __file__, "--fit", str(file)]
            said = subprocess.run(child, capture_output=True, text=True, check=True).stdout
        found.append(key | {"treeple": float(said.split()[-1])})
        with asked.out.open("a") as stream:
            stream.write(json.dumps(found[-1]) + "\n")
    print(compared(beside, found))


def compared(beside: list[dict], found: list[dict]) -> str:
    """Means over the cells that both files have, and Wilcoxon's test of oblique_search beside treeple over the sets."""
    import numpy as np
    from scipy.stats import wilcoxon

    lines = []
    for depth in sorted({one["depth"] for one in found}):
        pairs: dict = {}
        for one in found:
            for other in beside:
                if one["depth"] == depth and all(one[word] == other[word] for word in ("set", "depth", "split")):
                    pairs.setdefault(one["set"], []).append((one["treeple"], other["oblique_search"]))
        means = np.array([np.mean(some, axis=0) for some in pairs.values()])
        text = f"Depth {depth}, {len(means)} sets, {sum(map(len, pairs.values()))} splits in all: "
        text += f"treeple {100 * means[:, 0].mean():.1f}, oblique_search {100 * means[:, 1].mean():.1f}"
        if len(means) > 5:
            text += f"; Wilcoxon p = {wilcoxon(means[:, 1], means[:, 0]).pvalue:.2g} (one comparison)"
        lines.append(text)
    return "\n".join(lines)


def fitted(file: str) -> float:
    """Test accuracy of the tree on the arrays of a file."""
    import warnings

    import numpy as np
    from sklearn.model_selection import GridSearchCV
    from sklearn.preprocessing import StandardScaler
    from treeple.tree import ObliqueDecisionTreeClassifier

    warnings.simplefilter("ignore")
    given = np.load(file)
    y = given["y"]
    scale = StandardScaler().fit(given["X"])
    grid = {
        "criterion": ["gini", "entropy"],
        "min_samples_leaf": [1, 5, 10],
        "ccp_alpha": [0, 0.001, 0.003, 0.01, 0.03],
    }
    folds = int(min(5, max(2, np.bincount(y)[np.bincount(y) > 0].min())))
    tree = ObliqueDecisionTreeClassifier(max_depth=int(given["depth"]), random_state=0)
    model = GridSearchCV(tree, grid, cv=folds).fit(scale.transform(given["X"]), y)
    return float(model.score(scale.transform(given["X_test"]), given["y_test"]))


if __name__ == "__main__":
    main()
