"""Files of objects: what is read of them, and how what cannot be read is told."""

from __future__ import annotations

import gzip
import io
import stat
import sys
from pathlib import Path
from types import SimpleNamespace

import orjson
import pytest

from kube32_sim.options import CommandError
from kube32_sim.snapshot.files import writing
from kube32_sim.snapshot.reading import read
from tests.snapshot.loads import KIND, config_map

A, B = config_map("a"), config_map("b")
DEFINITION = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "x"}}


def names(*files: Path | str) -> list[str]:
    return [orjson.loads(line)["metadata"]["name"] for line in read([str(file) for file in files]).lines]


def lines(*objects: object) -> bytes:
    return b"\n".join(orjson.dumps(obj) for obj in objects) + b"\n"


def test_what_kubectl_prints_is_read(tmp_path: Path) -> None:
    several = {"apiVersion": "v1", "kind": "List", "items": [A, B]}
    typed = {"apiVersion": "v1", "kind": "ConfigMapList", "items": [{"metadata": {"name": "a"}}]}
    for name, data in {
        "lines.jsonl": lines(A, B),
        "crlf.jsonl": lines(A, B).replace(b"\n", b"\r\n"),
        "spaced.jsonl": b"\n" + lines(A) + b"\n\n" + lines(B).rstrip(),
        "list.json": orjson.dumps(several, option=orjson.OPT_INDENT_2),
        "one-line.json": orjson.dumps(several),
        "two.json": orjson.dumps(A, option=orjson.OPT_INDENT_2) + b"\n" + orjson.dumps(B, option=orjson.OPT_INDENT_2),
        "list.yaml": b"apiVersion: v1\nkind: List\nitems:\n- " + lines(A) + b"- " + lines(B),
        "two.yaml": b"---\n" + lines(A) + b"---\n" + lines(B),
        "between.yaml": lines(A) + b"---\n" + lines(B),
        "ended.yaml": lines(A) + b"...\n---\n# the other\n" + lines(B) + b"...\n",
        "commented.yaml": lines(A) + b"# the other\n---\n" + lines(B).replace(b"\n", b"\r\n"),
        "packed": gzip.compress(lines(A, B)),
    }.items():
        (tmp_path / name).write_bytes(data)
        assert names(tmp_path / name) == ["a", "b"], name
    (tmp_path / "typed.json").write_bytes(orjson.dumps(typed))
    (line,) = read([str(tmp_path / "typed.json")]).lines
    assert orjson.loads(line) == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}


def test_definitions_come_first(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(lines(A))
    (tmp_path / "two").write_bytes(lines(B, DEFINITION))
    assert names(tmp_path / "one", tmp_path / "two") == ["x", "a", "b"]
    assert [str(source) for source in read([str(tmp_path / "two")]).sources] == [
        f"{tmp_path}/two, line 2",
        f"{tmp_path}/two, line 1",
    ]


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (lines(A) + b'{"kind":', "line 2: it is no JSON"),
        (lines(A) + b"[]", "line 2: it is no object"),
        (lines(A) + b'{"apiVersion":"v1","kind":"ConfigMap","x":"\xff"}', "line 2: it is no UTF-8"),
        (lines(A) + b'{"apiVersion":"v1","kind":"List","items":7}', "line 2: items: must be an array"),
        (b"a: [", "document 1: "),
        (b"---\na: 1\n---\nb: [\n", "document 2: "),
        (b"", "there is nothing in it"),
        (gzip.compress(lines(A), mtime=0)[:-9], "the compressed file is damaged"),
    ],
)
def test_damaged_files_are_named(tmp_path: Path, data: bytes, told: str) -> None:
    file = tmp_path / "state"
    file.write_bytes(data)
    with pytest.raises(CommandError) as caught:
        read([str(file)])
    assert str(caught.value).startswith(f"{file}")
    assert told in str(caught.value)


def test_files_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="gone: No such file or directory"):
        read([str(tmp_path / "gone")])
    with pytest.raises(CommandError, match="stdin can be read only once"):
        read(["-", "-"])


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(lines(A, B))))
    objects = read(["-"])
    assert [str(source) for source in objects.sources] == ["stdin, line 1", "stdin, line 2"]


def test_a_file_without_a_header_tells_its_time() -> None:
    objects = read([KIND])
    assert (objects.time, objects.foreign, objects.complete) == ("2026-03-02T10:15:03Z", True, False)


def test_a_file_is_written_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "state.jsonl"
    with writing(str(file)) as writer:
        writer.write(A)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with pytest.raises(TypeError), writing(str(file)) as writer:
        writer.write({"it": object()})
    assert names(file) == ["a"]
    assert [path.name for path in tmp_path.iterdir()] == ["state.jsonl"]
    with pytest.raises(CommandError, match="No such file or directory"), writing(str(tmp_path / "no" / "where")):
        pass
