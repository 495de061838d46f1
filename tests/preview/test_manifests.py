"""Reading manifests: what kubectl takes is taken, and everything that is wrong is said, with its place."""

import io
import json

import pytest

from kube32_sim.preview.manifests import read_manifests
from kube32_sim.preview.placements import PreviewError

POD = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {}\n"


def write(directory, name, text):
    path = directory / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def problems(*paths, **how):
    with pytest.raises(PreviewError) as caught:
        read_manifests(paths, **how)
    return str(caught.value).splitlines()


def read(tmp_path, text, name="app.yaml"):
    return read_manifests([write(tmp_path, name, text)])


def names(manifests):
    return [manifest.name for manifest in manifests]


def wrong(tmp_path, text):
    """What is said about a file, without the directory."""
    return [line.removeprefix(f"{tmp_path}/") for line in problems(write(tmp_path, "app.yaml", text))]


# where manifests come from


def test_files_are_read_in_the_order_given(tmp_path):
    paths = [write(tmp_path, name, POD.format(name)) for name in ("b", "a.txt")]
    found = read_manifests(paths)
    assert names(found) == ["b", "a.txt"]
    assert [manifest.source for manifest in found] == [f"{path}, document 1" for path in paths]


def test_a_directory_stands_for_its_manifests_by_name(tmp_path):
    for name in ("b.yaml", "a.yml", "c.json", "d.txt", "e.yaml.bak"):
        text = json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}})
        write(tmp_path, name, text)
    (tmp_path / "deeper.yaml").mkdir()
    write(tmp_path / "deeper.yaml", "f.yaml", POD.format("f"))
    assert names(read_manifests([str(tmp_path)])) == ["a.yml", "b.yaml", "c.json"]


def test_a_directory_without_manifests_is_an_error(tmp_path):
    write(tmp_path, "notes.txt", "")
    assert problems(str(tmp_path)) == [
        f"{tmp_path}: no manifests in this directory, none that end in .json, .yaml, .yml"
    ]


def test_a_dash_is_standard_input(tmp_path):
    (found,) = read_manifests(["-"], stdin=io.BytesIO(POD.format("a").encode()))
    assert found.source == "standard input, document 1"
    assert problems("-", "-", stdin=io.BytesIO(b"")) == ["standard input: can be read only once"]


def test_everything_that_is_wrong_is_said_at_once(tmp_path):
    missing, broken = str(tmp_path / "missing.yaml"), write(tmp_path, "broken.yaml", "a: [")
    found = problems(missing, broken, "https://example.com/app.yaml", "nul\0")
    assert found[0] == f"{missing}: No such file or directory"
    assert found[1].startswith(f"{broken}, document 1: yaml: line 2: ")
    assert found[2].startswith("https://example.com/app.yaml: nothing is fetched; ")
    assert found[3] == "nul\0: embedded null byte"


# documents


def test_documents_without_content_are_no_documents(tmp_path):
    text = f"# first\n---\n---\n{POD.format('a')}--- # and more\n\n---\nnull\n---\n{POD.format('b')}---\n"
    assert [(each.name, each.source.rpartition(", ")[2]) for each in read(tmp_path, text)] == [
        ("a", "document 1"),
        ("b", "document 2"),
    ]


def test_the_marks_between_documents_are_those_of_yaml(tmp_path):
    text = (
        "%YAML 1.1\n---\n"
        + POD.format("a")
        + "...\n"
        + POD.format("b")
        + "--- {apiVersion: v1, kind: Pod, metadata: {name: c}}\r\n---\r\n"
        + POD.format("d").replace("\n", "\r\n")
        + 'data: "\n  --- not one"\n'
    )
    assert names(read(tmp_path, text)) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks_are_no_content(tmp_path, encoding):
    text = f"{POD.format('a')}---\n{POD.format('b')}"
    assert names(read(tmp_path, text.encode(encoding))) == ["a", "b"]


def test_a_broken_document_does_not_hide_another(tmp_path):
    found = wrong(tmp_path, f"a: b: c\n---\n{POD.format('a')}---\n\t- x\n---\napiVersion: v1\n")
    assert found[0] == "app.yaml, document 1: yaml: line 1: mapping values are not allowed in this context"
    assert found[1].startswith("app.yaml, document 3: yaml: line 8: ")
    assert found[2:] == ["app.yaml, document 4: kind not set"]


def test_json_texts_may_follow_each_other(tmp_path):
    pods = [json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}}, indent=1) for name in "ab"]
    assert names(read(tmp_path, "\n".join(pods), "app.json")) == ["a", "b"]


def test_braces_do_not_make_json(tmp_path):
    assert names(read(tmp_path, "{apiVersion: v1, kind: Pod, metadata: {name: a}}\n")) == ["a"]


def test_values_are_those_of_json(tmp_path):
    text = POD.format("a") + "spec:\n  day: 2024-01-01\n  time: 1:30\n  1: yes\n  set: !!set {a, b}\n"
    (found,) = read(tmp_path, text)
    assert found.obj["spec"] == {"day": "2024-01-01", "time": "1:30", "1": True, "set": {"a": None, "b": None}}


def test_aliases_cannot_expand_without_end(tmp_path):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert wrong(tmp_path, "\n".join(lines)) == ["app.yaml, document 1: yaml: document contains excessive aliasing"]


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "a: " + "{b: " * 5_000])
def test_nesting_has_its_limit(tmp_path, text):
    (found,) = wrong(tmp_path, text)
    assert "nested more than 250 levels" in found or "exceeded maximum nesting depth" in found


def test_repeated_keys_are_warned_of(tmp_path):
    (first, found) = read(tmp_path, f"{POD.format('a')}---\n{POD.format('b')}kind: Pod\n")
    assert first.warnings == ()
    assert found.warnings == ('line 10: key "kind" already set in map; the last one counts',)
    text = '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "name": "b"}}'
    (found,) = read(tmp_path, text, "app.json")
    assert (found.name, found.warnings) == ("b", ('duplicate field "metadata.name"; the last one counts',))


# objects


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- 1", ["must be an object, not an array"]),
        ("just words", ["must be an object, not a string"]),
        ("a: b", ["apiVersion not set", "kind not set"]),
        ("apiVersion: ''\nkind: [Pod]", ["apiVersion not set", "kind must be a string, not an array"]),
        ("apiVersion: a/b/c\nkind: Pod\nmetadata: {name: x}", ["apiVersion: unexpected GroupVersion string: a/b/c"]),
        ("apiVersion: v1\nkind: Pod", ["metadata.name not set"]),
        ("apiVersion: v1\nkind: Pod\nmetadata: x", ["metadata must be an object, not a string"]),
        ("apiVersion: v1\nkind: Pod\nmetadata: {name: 7}", ["metadata.name must be a string, not a number"]),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: {}}",
            ["metadata.namespace must be a string, not an object"],
        ),
        ("apiVersion: v1\nkind: List\nitems: x", ["items must be an array, not a string"]),
        (
            "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization",
            ["a Kustomization is no manifest; try kubectl kustomize DIRECTORY | kube32-sim preview -f -"],
        ),
    ],
)
def test_what_no_object_is_is_refused(tmp_path, text, said):
    assert wrong(tmp_path, text) == [f"app.yaml, document 1: {each}" for each in said]


def test_a_generated_name_is_a_name(tmp_path):
    (found,) = read(tmp_path, "apiVersion: v1\nkind: Pod\nmetadata: {generateName: a-}")
    assert found.title == f"{tmp_path}/app.yaml, document 1 (Pod a-)"


def test_an_object_has_its_own_namespace_or_the_default_one(tmp_path):
    text = "apiVersion: v1\nkind: Pod\nmetadata: {{name: {}, namespace: {}}}\n---\n"
    path = write(tmp_path, "app.yaml", text.format("a", "mine") + text.format("b", "''") + POD.format("c"))
    assert [each.namespace for each in read_manifests([path], "other")] == ["mine", "other", "other"]
    assert read_manifests([path])[2].namespace == "default"


def test_lists_are_taken_apart(tmp_path):
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
    inner = {"apiVersion": "v1", "kind": "List", "items": [{**pod, "metadata": {"name": "b"}}]}
    text = json.dumps({"apiVersion": "v1", "kind": "List", "metadata": {}, "items": [pod, inner]})
    assert [(each.name, each.source.partition(", ")[2]) for each in read(tmp_path, text)] == [
        ("a", "document 1, items[0]"),
        ("b", "document 1, items[1], items[0]"),
    ]
    assert read(tmp_path, "apiVersion: v1\nkind: List\nitems:\n") == []


def test_items_of_a_kinds_list_are_of_that_kind(tmp_path):
    text = "apiVersion: apps/v1\nkind: DeploymentList\nitems: [{metadata: {name: a}}, {kind: Pod, metadata: {name: b}}]"
    assert wrong(tmp_path, text) == ["app.yaml, document 1, items[1]: apiVersion not set"]
    (found,) = read(tmp_path, text.partition(", {kind")[0] + "]")
    assert (found.kind, found.group, found.version) == ("Deployment", "apps", "v1")


def test_a_kind_may_end_like_a_list(tmp_path):
    (found,) = read(tmp_path, "apiVersion: example.com/v1\nkind: ToDoList\nmetadata: {name: a}")
    assert (found.kind, found.name) == ("ToDoList", "a")
