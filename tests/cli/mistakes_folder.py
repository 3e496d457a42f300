"""A folder of a person who makes mistakes: data with flaws, a run in steps, a tree, files that are something else."""

from pathlib import Path

from tests.command_line import odtc

SHOP = "age,city,spend,churn\n" + "".join(
    f"{20 + 7 * at % 23},{('Bonn', 'Rome', 'Lyon')[at % 3]},{10 * (at % 7) + 5},{'yes' if at % 5 < 2 else 'no'}\n"
    for at in range(40)
)
FILES = {
    "shop.csv": SHOP,
    "empty.csv": "",
    "header.csv": "a,b,y\n",
    "one_class.csv": "a,y\n1,yes\n2,yes\n3,yes\n",
    "ragged.csv": "a,b,y\n1,2,p\n3,q\n",
    "semicolon.csv": "a;b;y\n1;2;p\n3;4;q\n",
    "blanks.csv": "a b y\n1 2\n3 4 q\n",
    "twice.csv": "a,a,y\n1,2,p\n3,4,q\n",
    "gaps.csv": "a,b,y\n1,,p\n,4,q\n",
    "regression.csv": "a,y\n" + "".join(f"{at},{at * 1.7 + 0.3}\n" for at in range(40)),
    "text.csv": "a,y\n1,p\ntwo,q\n3,p\n",
    "other.csv": "weight,height\n1,2\n",
    "words.csv": "age,city,spend,churn\nyoung,Bonn,20,yes\n",
    "notes.txt": "buy milk\n",
    "notes.md": "buy milk\n",
    "notes.json": '{"buy": "milk"}\n',
    "page.xlsx": "PK\n",
    "cost.csv": "0,1\n1,0\n",
    "group.toml": "command = 5\n",
}


def make(folder: Path) -> None:
    """Writes the files, a run in steps (m.*), trees of a search and of CART (t.tree.json,
    c.tree.json), and a linked model without data."""
    for name, text in FILES.items():
        (folder / name).write_text(text)
    for words in (
        ("build", "shop.csv", "--model", "flowoct", "--depth", "1", "--encoding", "auto:bins=3", "-o", "m"),
        ("solve", "m.mps"),
        ("decode", "m.sol"),
        ("build", "shop.csv", "--model", "flowoct", "--depth", "1", "--encoding", "auto:bins=4", "-o", "n"),
        ("fit", "shop.csv", "--depth", "2", "--encoding", "auto:bins=3", "-o", "t"),
        ("fit", "shop.csv", "--model", "cart", "-o", "c"),
    ):
        said = odtc(*words, folder=folder)
        assert said.code == 0, said.err
    (folder / "cut.sol").write_bytes((folder / "m.sol").read_bytes()[:200])
    (folder / "alone.sol").write_text("nothing\n")
