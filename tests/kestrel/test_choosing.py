"""Three ways to ask which node is best, one answer; and what each of them may cost."""

import random
from collections import Counter

import pytest

from kube32_sim.kestrel import choosing, columns, ranking
from kube32_sim.kestrel.choosing import Chooser
from kube32_sim.kestrel.filters import evaluate
from kube32_sim.kestrel.models import Check, Node, Request, Taint, Toleration
from kube32_sim.kestrel.nodes import NodeTable
from kube32_sim.kestrel.profiles import KESTREL, KUBE32
from kube32_sim.kestrel.score import rank

ONE_BY_ONE, RANKED, ALL_AT_ONCE = (10**9, 10**9), (0, 10**9), (0, 0)
WAYS = pytest.mark.parametrize("way", [ONE_BY_ONE, RANKED, ALL_AT_ONCE], ids=["one by one", "ranked", "all at once"])


@pytest.fixture
def go(monkeypatch):
    """Makes choosers go one way."""

    def go(way):
        monkeypatch.setattr(choosing, "FEW", way[0])
        monkeypatch.setattr(choosing, "PATIENCE", way[1])
        monkeypatch.setattr(choosing, "numpy_loaded", lambda: False)

    return go


def plain(table, request):
    verdicts = {name: evaluate(table.profile, request, node) for name, node in table.nodes.items()}
    ranked = sorted(rank(name, value) for name, value in verdicts.items() if not isinstance(value, str))
    best, second = [(one[1], -one[0]) if one else None for one in (*ranked, None, None)[:2]]
    tied = sorted(name for name, value in verdicts.items() if best and value == best[1])
    return best, second, tied, Counter(value for value in verdicts.values() if isinstance(value, str))


def asked(chooser, request):
    found = chooser.choose(request)
    if found is None:
        return None, None, [], chooser.reasons(request)
    second = chooser.second()
    named = None if second is None else (second[1], second[0])
    return (found[1].name, found[0]), named, chooser.tied(request, found[0]), chooser.reasons(request)


class Nodes:
    """Random nodes of a profile that come, change and go."""

    def __init__(self, seed, profile):
        self.rng = random.Random(seed)
        self.table = NodeTable(profile)
        self.large = self.rng.random() < 0.3

    def amounts(self, most):
        return tuple(self.rng.randrange(-1, most) for _ in self.table.profile.fitted)

    def change(self):
        rng, name = self.rng, f"n{self.rng.randrange(25)}"
        node = self.table.nodes.get(name)
        chance = rng.random()
        if node is not None and chance < 0.1:
            self.table.drop(name)
        elif node is not None and chance < 0.6:
            rng.choice((self.table.take, self.table.give))(node, self.amounts(3))
        else:
            taints = (Taint("hw", "gpu", "NoSchedule"),) if rng.random() < 0.3 else ()
            barred = "node(s) were not ready" if rng.random() < 0.15 else ""
            labels = {"disk": rng.choice(("ssd", "hdd"))}
            scale = 2**60 if self.large and rng.random() < 0.2 else 1
            free = tuple(amount * scale for amount in self.amounts(30))
            self.table.put(Node(name, "z", labels, taints, self.amounts(30), free, barred))

    def request(self):
        rng = self.rng
        amounts = tuple(rng.randrange(4) for _ in self.table.profile.fitted)
        if self.large and rng.random() < 0.1:
            amounts = (2**70, *amounts[1:])
        checks = tuple(Check(place, least, f"Insufficient {place}") for place, least in enumerate(amounts) if least)
        selector = (("disk", rng.choice(("ssd", "tape"))),) if rng.random() < 0.4 else ()
        tolerations = (Toleration("", "Exists", "", ""),) if rng.random() < 0.5 else ()
        return Request(amounts, checks, selector, tolerations, "n3" if rng.random() < 0.1 else "")


@WAYS
@pytest.mark.parametrize("profile", [KESTREL, KUBE32], ids=lambda profile: profile.name)
@pytest.mark.parametrize("seed", range(15))
def test_whatever_the_way_the_answer_is_the_plain_one(seed, profile, way, go):
    go(way)
    nodes = Nodes(seed, profile)
    chooser = Chooser(nodes.table)
    requests = [nodes.request() for _ in range(6)]
    for _ in range(150):
        nodes.change()
        request = nodes.rng.choice(requests)
        assert asked(chooser, request) == plain(nodes.table, request)


def table_of(count, profile=KESTREL):
    table = NodeTable(profile)
    for number in range(count):
        table.put(Node(f"n{number:04}", "z", {}, (), (1000, 1000), (1000, 1000)))
    return table


def fit(cpu, mem):
    return Request((cpu, mem), (Check(0, cpu, "Insufficient cpu"), Check(1, mem, "Insufficient memory")))


def place(table, chooser, request):
    _, node = chooser.choose(request)
    table.take(node, request.amounts)
    return node.name


def test_numpy_is_loaded_when_it_pays_and_not_before(monkeypatch):
    monkeypatch.setattr(choosing, "numpy_loaded", lambda: False)
    table = table_of(100)
    chooser = Chooser(table)
    for number in range(choosing.PATIENCE // 100 - 1):
        place(table, chooser, fit(number % 7 + 1, number % 5))
    assert chooser._columns is None
    for number in range(20):
        place(table, chooser, fit(1, number))
    assert isinstance(chooser._columns, columns.Columns)


def test_requests_that_differ_ask_nobody_one_by_one(monkeypatch, go):
    go(ALL_AT_ONCE)
    table = table_of(200)
    chooser, count = Chooser(table), [0]
    for module in (choosing, ranking):
        monkeypatch.setattr(module, "evaluate", lambda *_: count.__setitem__(0, count[0] + 1))
    assert {place(table, chooser, fit(200, number)) for number in range(100)} == {f"n{i:04}" for i in range(100)}
    assert count == [0]


def test_the_number_of_rankings_is_bounded(go):
    go(RANKED)
    table = table_of(3)
    chooser = Chooser(table)
    for number in range(3000):
        for _ in range(4):
            chooser.choose(fit(0, number))
    ranked = [uses for uses in chooser._uses.values() if uses.ranking is not None]
    assert 0 < len(ranked) <= choosing.RANKINGS
    assert len(chooser._uses) <= choosing.REMEMBERED


def test_a_ranking_left_behind_starts_anew(go):
    go(RANKED)
    table = table_of(3)
    chooser = Chooser(table)
    for _ in range(5):
        assert place(table, chooser, fit(0, 0)) == "n0000"
    ranked = chooser._uses[fit(0, 0)].ranking
    for _ in range(choosing.LAG + 1):
        table.take(table.nodes["n0000"], (1, 0))
    assert chooser.choose(fit(0, 0))[1].name == "n0001"
    assert chooser._uses[fit(0, 0)].ranking is not ranked


def test_a_ranking_may_be_asked_after_the_journal_has_forgotten():
    table = table_of(2)
    kept = ranking.Ranking(table, fit(1, 1))
    assert kept.best()[1].name == "n0000"
    for _ in range(5000):
        table.take(table.nodes["n0000"], (0, 0))
    table.take(table.nodes["n0000"], (1000, 0))
    assert kept.best()[1].name == "n0001"
    assert kept.reasons() == {"Insufficient cpu": 1}
