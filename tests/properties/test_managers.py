"""Who manages which field after any history of applies and updates: what a model of a few lines says.

The model knows values and who owns each; the server is asked over HTTP, as appliers ask it.
"""

from __future__ import annotations

import itertools
import json
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.making import trying
from tests.support.http import Http
from tests.support.servers import Server

JsonObject = dict[str, Any]
Values = dict[str, str]

MAPS = "/api/v1/namespaces/default/configmaps"
APPLY = {"Content-Type": "application/apply-patch+yaml"}
numbers = itertools.count()

managers = st.sampled_from(["one", "two", "three"])
configs = st.dictionaries(st.sampled_from(["a", "b", "c"]), st.sampled_from(["1", "2"]), min_size=1)
changes = st.dictionaries(st.sampled_from(["a", "b", "c"]), st.sampled_from(["1", "2", None]), min_size=1)


class Apply(NamedTuple):
    manager: str
    config: Values
    force: bool


class Update(NamedTuple):
    manager: str
    changes: dict[str, str | None]


steps = st.one_of(st.builds(Apply, managers, configs, st.booleans()), st.builds(Update, managers, changes))


class Model:
    """values: what is there.  owners: field -> who owns it, as (manager, operation)."""

    def __init__(self) -> None:
        self.values: Values = {}
        self.owners: dict[str, set[tuple[str, str]]] = {}

    def conflicts(self, step: Apply) -> set[str]:
        mine = (step.manager, "Apply")
        changed = {name for name, value in step.config.items() if self.values.get(name) != value}
        return {name for name in changed if self.owners.get(name, set()) - {mine}}

    def apply(self, step: Apply) -> None:
        mine = (step.manager, "Apply")
        for name in [name for name, owners in self.owners.items() if mine in owners and name not in step.config]:
            self.owners[name].discard(mine)
            if not self.owners[name]:
                self._remove(name)
        for name, value in step.config.items():
            if self.values.get(name) != value:
                self.owners[name] = set()
            self.values[name] = value
            self.owners.setdefault(name, set()).add(mine)

    def update(self, step: Update) -> None:
        for name, value in step.changes.items():
            if value is None:
                self._remove(name)
            elif self.values.get(name) != value:
                self.values[name] = value
                self.owners[name] = {(step.manager, "Update")}

    def _remove(self, name: str) -> None:
        self.values.pop(name, None)
        self.owners.pop(name, None)

    def owned(self) -> dict[tuple[str, str], set[str]]:
        found: dict[tuple[str, str], set[str]] = {}
        for name, owners in self.owners.items():
            for owner in owners:
                found.setdefault(owner, set()).add(name)
        return found


def owned(obj: JsonObject) -> dict[tuple[str, str], set[str]]:
    """manager, operation -> the data that they own."""
    found = {}
    for entry in obj["metadata"].get("managedFields", ()):
        fields = {name.removeprefix("f:") for name in entry["fieldsV1"].get("f:data", {}) if name != "."}
        if fields:
            found[entry["manager"], entry["operation"]] = fields
    return found


@pytest.fixture(scope="module")
def api(bare_server: Server) -> Any:
    client = bare_server.http()
    yield client
    client.close()


def config(name: str, data: Values) -> JsonObject:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def apply(api: Http, name: str, step: Apply) -> tuple[int, Any]:
    query = f"fieldManager={step.manager}&force={json.dumps(step.force)}"
    return api.request("PATCH", f"{MAPS}/{name}?{query}", config(name, step.config), APPLY)


def new(api: Http) -> str:
    """A ConfigMap of which a label is managed: of what is not managed at all, updates are not told of."""
    name = f"managed-{next(numbers)}"
    api.post(f"{MAPS}?fieldManager=maker", {"metadata": {"name": name, "labels": {"made": "so"}}})
    return name


@trying(60)
@given(history=st.lists(steps, min_size=3, max_size=10))
def test_fields_are_owned_as_the_model_says(api: Http, history: list[Apply | Update]) -> None:
    name, model = new(api), Model()
    for step in history:
        if isinstance(step, Update):
            answer = api("PATCH", f"{MAPS}/{name}?fieldManager={step.manager}", {"data": step.changes})
            model.update(step)
        else:
            status, answer = apply(api, name, step)
            conflicts = model.conflicts(step)
            assert status == (409 if conflicts and not step.force else 200), (step, answer)
            if status == 409:
                told = {cause["field"].removeprefix(".data.") for cause in answer["details"]["causes"]}
                assert told == conflicts
                answer = api.get(f"{MAPS}/{name}")
            else:
                model.apply(step)
        assert answer.get("data", {}) == model.values, step
        assert owned(answer) == model.owned(), step


@trying(40)
@given(history=st.lists(steps, min_size=1, max_size=5), step=st.builds(Apply, managers, configs, st.just(True)))
def test_the_same_again_changes_nothing(api: Http, history: list[Apply | Update], step: Apply) -> None:
    name = new(api)
    for each in history:
        if isinstance(each, Update):
            api("PATCH", f"{MAPS}/{name}?fieldManager={each.manager}", {"data": each.changes})
        else:
            apply(api, name, each)
    status, once = apply(api, name, step)
    assert (status, step.config.items() <= once["data"].items()) == (200, True)
    assert apply(api, name, step._replace(force=False)) == (200, once)


@trying(40)
@given(first=configs, second=configs)
def test_applies_that_agree_commute(api: Http, first: Values, second: Values) -> None:
    agreeing = {name: first.get(name, value) for name, value in second.items()}
    both = [Apply("one", first, False), Apply("two", agreeing, False)]
    made = []
    for order in (both, both[::-1]):
        name = new(api)
        answers = [apply(api, name, step) for step in order]
        assert [status for status, _ in answers] == [200, 200]
        made.append((answers[-1][1]["data"], owned(answers[-1][1])))
    assert made[0] == made[1] == (first | agreeing, {("one", "Apply"): {*first}, ("two", "Apply"): {*agreeing}})


items = st.lists(st.sampled_from(["a", "b", "c"]), unique=True, min_size=1, max_size=3)


@trying(40)
@given(first=items, second=items, third=items)
def test_items_of_a_list_are_owned_by_their_keys(
    api: Http, first: list[str], second: list[str], third: list[str]
) -> None:
    """Two managers of the containers of a Deployment, one of whom changes his mind."""
    name = f"managed-{next(numbers)}"
    deployments = "/apis/apps/v1/namespaces/default/deployments"
    labels = {"app": name}

    def applied(manager: str, names: list[str]) -> list[str]:
        containers = [{"name": one, "image": "i"} for one in names]
        template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
        spec = {"selector": {"matchLabels": labels}, "template": template}
        body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}
        path = f"{deployments}/{name}?fieldManager={manager}&force=false"
        status, answer = api.request("PATCH", path, body, APPLY)
        assert status in (200, 201), answer
        return [container["name"] for container in answer["spec"]["template"]["spec"]["containers"]]

    assert applied("one", first) == first
    assert set(applied("two", second)) == {*first, *second}
    made = applied("one", third)
    assert set(made) == {*second, *third}
    assert [one for one in made if one in third] == third
