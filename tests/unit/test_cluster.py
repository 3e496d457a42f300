"""A real Dask cluster of two worker processes: it reads a file, proves a tree, and tunes."""

import contextlib
import gc
import os
import urllib.error
import urllib.parse
import urllib.request
from importlib.util import find_spec
from pathlib import Path

import pytest

from odtc.algorithms.thresholds import apart, workers
from odtc.base import cluster as clusters
from odtc.base.cluster import connected
from odtc.errors import ChoiceError
from odtc.formulations.dpflow.threshold_search import ThresholdSearch
from odtc.formulations.dpflow.write_certificate import certify_search
from odtc.verification.certificate import check
from tests.command_line import MONKS, odtc
from tests.threshold_problems import draw, optimum
from tests.unit.algorithms.teams import make_ready, results, sum_of


@pytest.fixture(scope="module")
def cluster():
    pytest.importorskip("distributed", reason="needs the extra cluster")
    with contextlib.ExitStack() as stack:
        with pytest.MonkeyPatch.context() as start:
            start.setattr(clusters, "find_spec", lambda name: name != "cryptography" and find_spec(name))  # no keys
            found = stack.enter_context(connected("local", 2))
        yield found


def test_its_workers_prove_a_tree(cluster, monkeypatch):
    monkeypatch.setattr(workers.ClusterTeam, "cells", 0)
    monkeypatch.setattr(apart, "MIN_CUTS", 0)
    monkeypatch.setattr(apart, "ALONE", 0)
    handed = []
    monkeypatch.setattr(workers.ClusterTeam, "submit", _counting(workers.ClusterTeam.submit, handed))
    with workers.team(1, cluster.address):
        team = workers.present()
        assert team.size == 2
        team.begin(team, make_ready, 1)
        assert results(team, sum_of, [1, 2, 3]) == {1: 2, 2: 3, 3: 4}
        problem = draw(7, depths=(3,), wide=True)
        search = ThresholdSearch(problem)
        found = search.run()
    assert len(handed) > 3
    assert check(certify_search(search, found.heap), problem.encoded.dataset).optimal
    assert problem.module.objective(problem, found.heap) == pytest.approx(optimum(problem), abs=1e-9)
    assert workers.present() is None


def test_what_its_processes_do_between_tasks_is_done_seldom(cluster):
    """Milliseconds from one look of an event loop at itself, and of a worker at its memory, to the next."""
    with cluster.client() as client:
        loops = [*client.run(_waits).values(), client.run_on_scheduler(_waits_of_scheduler)]
    assert len(loops) == 3
    assert min(wait for loop in loops for wait in loop) >= 500


def _waits(dask_worker):
    return [dask_worker.periodic_callbacks[name].callback_time for name in ("tick", "monitor", "memory_monitor")]


def _waits_of_scheduler(dask_scheduler):
    return [dask_scheduler.periodic_callbacks[name].callback_time for name in ("tick", "monitor")]


def _counting(submit, handed):
    def counted(team, part, task):
        handed.append(task)
        return submit(team, part, task)

    return counted


def test_an_address_where_nobody_answers(monkeypatch):
    pytest.importorskip("distributed", reason="needs the extra cluster")
    monkeypatch.setattr("odtc.base.cluster.ANSWER_SECONDS", 0.2)
    with pytest.raises(ChoiceError, match="expected the address of a Dask scheduler"), workers.team(1, "tcp://[::1]:9"):
        pass


def test_its_workers_tune(cluster, tmp_path):
    words = ["tune", MONKS / "monks-1.csv", "--model", "cart", "--depths", "1,2", "--folds", "2", "--nested", "2"]
    alone = odtc(*words, "--json", "-o", tmp_path / "alone")
    spread = odtc(*words, "--json", "-o", tmp_path / "spread", "--cluster", cluster.address)
    assert alone.code == spread.code == 0, alone.err + spread.err
    assert "dashboard" in spread.err
    for name in ("score", "best"):
        assert spread.facts[name] == alone.facts[name]
    assert spread.facts["nested"]["scores"] == alone.facts["nested"]["scores"]
    scores = [[result["score"] for result in one.facts["results"]] for one in (alone, spread)]
    assert scores[0] == scores[1] and not list(tmp_path.glob("*.fits"))


def family(pid: int) -> set[int]:
    """A process and those that it has started, directly or not."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    found, more = set(), {pid}
    while more:
        found |= more
        more = {one for one, parent in parents.items() if parent in found} - found
    return found


def listening(pid: int) -> set[str]:
    """The addresses of the sockets on which these processes wait for connections, as /proc/net writes them."""
    sockets = set()
    for one in family(pid):
        for handle in Path(f"/proc/{one}/fd").iterdir():
            with contextlib.suppress(OSError):
                sockets.add(os.readlink(handle).removeprefix("socket:[").removesuffix("]"))
    lines = [line.split() for name in ("tcp", "tcp6") for line in Path("/proc/net", name).read_text().splitlines()[1:]]
    return {words[1].split(":")[0] for words in lines if words[3] == "0A" and words[9] in sockets}


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="only Linux lists sockets there")
def test_a_cluster_of_this_machine_is_open_to_nobody_else(cluster):
    """On 127.0.0.1 only, without pages, and with keys if they can be made."""
    assert listening(os.getpid()) == {"0100007F"} and cluster.dashboard == ""
    with cluster.client() as client:
        pages = [urllib.parse.urlsplit(url)._replace(path="/info/main/workers.html").geturl() for url in served(client)]
    for page in pages:
        with pytest.raises(urllib.error.HTTPError, match="404") as refusal:
            urllib.request.urlopen(page, timeout=10)
        refusal.value.close()


def served(client) -> list[str]:
    port = client.scheduler_info()["services"].get("dashboard")
    return [f"http://127.0.0.1:{port}/"] if port else []


@pytest.mark.slow
@pytest.mark.skipif(find_spec("cryptography") is None, reason="needs the package cryptography")
def test_who_has_no_keys_is_not_let_in(tmp_path):
    said = []
    with connected("local", 1, said.append) as cluster:
        assert cluster.address.startswith("tls://") and not said
        for address in (cluster.address, cluster.address.replace("tls://", "tcp://")):
            with pytest.raises(ChoiceError, match="expected the address of a Dask scheduler"), connected(address, 1):
                pass
            assert open_clients() == []  # the collector would close them, while another one starts and holds a lock
        with cluster.client() as client:
            assert client.submit(sum, [1, 2]).result(30) == 3


def open_clients() -> list:
    """The clients that wait for nothing any more, and are not closed."""
    from distributed import Client

    # isinstance reads `__class__`, which a weak proxy of an object that is gone refuses.
    return [one.status for one in gc.get_objects() if issubclass(type(one), Client) and one.status != "closed"]


def test_a_cluster_without_keys_is_announced(monkeypatch):
    pytest.importorskip("distributed", reason="needs the extra cluster")
    monkeypatch.setattr(clusters, "find_spec", lambda name: name != "cryptography" and find_spec(name))
    said = []
    with connected("local", 1, said.append):
        assert len(said) == 1 and "every user of this machine can connect" in said[0]
