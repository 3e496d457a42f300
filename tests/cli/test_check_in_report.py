"""The second checker in the page of a run: in a real browser it checks the certificate on the chosen data file."""

import gzip
import json
import re
import shutil
import subprocess

import pytest

from odtc.evaluation import html_report
from tests.command_line import CHECKOUT, MONKS, odtc

CHECKER = CHECKOUT / "examples" / "certificate-checker"
DATA = (MONKS / "monks-1.csv").read_bytes()
CHOOSE = """(async () => {
  const input = document.getElementById("checked-file"), said = document.getElementById("checked");
  const files = new DataTransfer(), soon = resolve => setTimeout(resolve, 10);
  files.items.add(new File([new Uint8Array(%s)], %s));
  input.files = files.files;
  document.getElementById("check-now").click();
  while (!said.textContent || said.textContent.startsWith("Checking")) await new Promise(soon);
  return [...said.children].map(line => line.textContent);
})()"""
OTHER = "the data file is not the one that the certificate was made of (its SHA-256 differs)"
SAME = "the data file is the one that the certificate was made of (its SHA-256 is equal)"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of depth 2 with its certificate and its page, and the certificate of depth 3 with its page."""
    folder = tmp_path_factory.mktemp("certified")
    (folder / "monks-1.csv").write_bytes(DATA)
    words = ("monks-1.csv", "--encoding", "onehot")
    for said in (
        odtc("fit", *words, "--depth", 2, "--certificate", "-o", "m", folder=folder),
        odtc("certify", *words, "--depth", 3, "-o", "c.certificate.json", folder=folder),
        odtc("report", "m", folder=folder),
        odtc("report", "c", folder=folder),
    ):
        assert said.code == 0, said.err
    return folder


def checked(shown, name: str, data: bytes) -> list[str]:
    """What the page says after its reader has chosen a file and pressed the button."""
    return shown.evaluate(CHOOSE % (list(data), json.dumps(name)))


@pytest.mark.slow
@pytest.mark.parametrize("stem", ["m", "c"])
def test_the_page_states_what_the_program_states(run, browser, stem):
    shown = browser.open((run / f"{stem}.html").as_uri())
    assert "another tree" not in shown.evaluate("document.querySelector('section:has(> #check)').textContent")
    lines = checked(shown, "monks-1.csv", DATA)
    bound = {"m": "depth 2 over 15 splits costs less than 27", "c": "depth 3 over 15 splits costs less than 11"}[stem]
    assert lines[0].startswith(f"proved: no tree of {bound} on 124 rows; ") and lines[2] == SAME
    assert checked(shown, "monks-1.csv.gz", gzip.compress(DATA))[:2] == lines[:2]
    assert shown.complaints() == []
    if shutil.which("node"):
        words = ["node", CHECKER / "check.js", run / f"{stem}.certificate.json"]
        assert subprocess.run(words, capture_output=True, text=True).stdout.splitlines() == lines[:2]


@pytest.mark.slow
def test_the_page_refuses_other_data_and_names_the_files_that_it_reads(run, browser):
    shown = browser.open((run / "m.html").as_uri())
    lines = DATA.decode().splitlines(keepends=True)
    flipped = [re.sub(r"[01](\s*)$", lambda cell: str(1 - int(cell[0][0])) + cell[1], line) for line in lines]
    said, other = checked(shown, "monks-1.csv", "".join([*lines[:60], *flipped[60:]]).encode())
    assert said.startswith("refused: ") and other == OTHER, said
    (said,) = checked(shown, "monks-1.xlsx", DATA)
    assert said.startswith("refused: expected a file that ends in .csv, .tsv, .tab or .txt"), said
    (said,) = checked(shown, "monks-1.csv.gz", DATA)
    assert said == "refused: the data file is packed, and cannot be unpacked here; unpack it first"
    assert checked(shown, "monks-1.csv", b"") == ["refused: the data file is empty", OTHER]
    assert checked(shown, "monks-1.csv", b"\xff") == ["refused: the data file is not UTF-8 text", OTHER]
    assert checked(shown, "monks-1.csv", gzip.compress(DATA))[0].startswith("proved: ")
    shuffled = checked(shown, "monks-1.csv", "".join([lines[0], *lines[:0:-1]]).encode())
    assert shuffled[0].startswith("proved: ") and "SHA-256 differs" in shuffled[2]
    assert "Choose the data file first" in shown.evaluate(
        "(() => { document.getElementById('checked-file').value = ''; document.getElementById('check-now').click();"
        " return document.getElementById('checked').textContent; })()"
    )


@pytest.mark.slow
def test_the_check_runs_beside_the_page_and_can_be_cancelled(run, browser, tmp_path):
    """A check that has no end stops nothing else, and ends when its reader says so."""
    page = (run / "m.html").read_text("utf-8")
    assert page.count("const lines = statements(") == 1
    slow = page.replace("const lines = statements(", "for (;;) ; const lines = statements(")
    (tmp_path / "m.html").write_text(slow, "utf-8")
    shown = browser.open((tmp_path / "m.html").as_uri())
    begin = CHOOSE.replace("while (", "if (false) while (") % (list(DATA), '"monks-1.csv"')
    assert shown.evaluate(begin) == ["Checking …"]
    assert shown.evaluate("document.getElementById('check-now').textContent") == "Cancel"
    assert shown.evaluate(
        "document.getElementById('check-now').click(); document.getElementById('checked').textContent"
    ) == ("The check was cancelled.")
    assert shown.evaluate("document.getElementById('check-now').textContent") == "Check the certificate"
    assert shown.complaints() == []


@pytest.mark.slow
def test_a_packed_file_is_unpacked_up_to_a_limit(run, browser, tmp_path):
    page = (run / "m.html").read_text("utf-8")
    assert page.count("LARGEST = 2 ** 30") == 1
    (tmp_path / "m.html").write_text(page.replace("LARGEST = 2 ** 30", f"LARGEST = {len(DATA) - 1}"), "utf-8")
    shown = browser.open((tmp_path / "m.html").as_uri())
    said, _ = checked(shown, "monks-1.csv.gz", gzip.compress(DATA))
    assert said == f"refused: the data file unpacks to more than {len(DATA) - 1} bytes"
    assert checked(shown, "monks-1.csv", DATA)[0].startswith("proved: ")


@pytest.mark.slow
def test_the_page_refuses_a_forged_bound_and_tells_another_tree_and_a_hostile_name(run, browser, tmp_path):
    facts = json.loads((run / "m.certificate.json").read_text())
    for path in (run / "m.tree.json", run / "m.run.json", run / "monks-1.csv"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    name = "</script><!--<script>\ud800"
    forged = facts | {"claim": facts["claim"] + 1, "note": name, "tree": facts["tree"] | {"note": name}}
    (tmp_path / "m.certificate.json").write_text(json.dumps(forged))
    assert odtc("report", "m", folder=tmp_path).code == 0
    shown = browser.open((tmp_path / "m.html").as_uri())
    assert json.loads(shown.evaluate("document.getElementById('certificate').textContent")) == forged
    (said,) = checked(shown, "monks-1.csv", DATA)
    assert said.startswith("refused: "), said
    (tmp_path / "m.certificate.json").write_bytes((run / "c.certificate.json").read_bytes())
    assert odtc("report", "m", folder=tmp_path).code == 0
    assert "The certificate contains another tree than this page does" in (tmp_path / "m.html").read_text("utf-8")


@pytest.mark.parametrize("held", [None, b"{}", b"no JSON", b"[" * 100_000, b"too large"])
def test_a_page_without_a_usable_certificate_has_no_section(run, tmp_path, monkeypatch, held):
    for path in (run / "m.tree.json", run / "m.run.json", run / "monks-1.csv"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    if held == b"too large":
        held = (run / "m.certificate.json").read_bytes()
        monkeypatch.setattr(html_report, "LARGEST_CERTIFICATE", len(held) - 1)
    if held is not None:
        (tmp_path / "m.certificate.json").write_bytes(held)
    assert odtc("report", "m", folder=tmp_path).code == 0
    page = (tmp_path / "m.html").read_text("utf-8")
    assert 'id="check"' not in page and "MODULES" not in page


def test_the_page_contains_each_file_of_the_checker_unchanged(run):
    page = (run / "m.html").read_text("utf-8")
    for path in CHECKER.glob("*.js"):
        text = path.read_text("utf-8").removeprefix("#!/usr/bin/env node\n")
        assert f'"./{path.name}": ' in page and text in page, path
        assert not re.search(r"</script|<!--", text, re.I), "a script of a page cannot contain this"


def test_both_checkers_say_that_refused_data_are_not_those_of_the_certificate(run, tmp_path):
    """A reader who gets a refusal learns whether the data file or only the certificate was changed."""
    text, facts = DATA.decode(), json.loads((run / "m.certificate.json").read_text())
    cases = {
        "data": (facts, text.replace("\n1,", "\n2,", 1), True),
        "depth": (facts | {"depth": 0}, text, False),
        "cut": ({key: one for key, one in facts.items() if key != "classes"}, text, False),
    }
    for name, (stated, cells, other) in cases.items():
        folder = tmp_path / name
        folder.mkdir()
        (folder / "monks-1.csv").write_text(cells)
        (folder / "m.certificate.json").write_text(json.dumps(stated))
        said = odtc("verify", "--certificate", "m.certificate.json", folder=folder)
        assert said.code == 1 and ("(its SHA-256 differs)" in said.err) == other, said.err
        if shutil.which("node"):
            words = ["node", CHECKER / "check.js", folder / "m.certificate.json"]
            done = subprocess.run(words, capture_output=True, text=True)
            assert done.returncode == 1 and done.stderr.startswith("refused: ") and (OTHER in done.stderr) == other
            assert other or "the certificate is damaged" in done.stderr, done.stderr
