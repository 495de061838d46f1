"""How JSON leaves for those who want something else: as YAML, as protobuf, or indented for people.

Objects are kept as JSON bytes and most clients take them so; here are the ways from there, for whole answers and for
long lists in pieces (`Listing`).  All is plain computing; who calls sees to it that others are served meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

import orjson

from kube32_sim.api import media

JsonObject = dict[str, Any]
_STRING = "tag:yaml.org,2002:str"
_TIME = r"[0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:[.,][0-9]+)?"
_TAKEN_FOR_OTHER = re.compile(
    rf"[0-9]{{4}}-[0-9]{{1,2}}-[0-9]{{1,2}}(?:[Tt]{_TIME}(?:Z|[-+][0-9]{{2}}:[0-9]{{2}})| {_TIME})?"
    r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?|<<"
)
"""Times, numbers to the base of 60 and the merge key, as Go's YAML knows them."""


class Listing(NamedTuple):
    """A list whose items are made as they are asked for.

    head: all but the items, as JSON.  array: what the items are called, `items` or `rows`.  items: JSON of each.
    """

    head: bytes
    array: str
    items: Iterable[bytes]


def encoding_of(content_type: str) -> str:
    """`json`, `yaml` or `protobuf`; "" for an answer that is no object."""
    return media.ENCODINGS.get(content_type.partition(";")[0], "")


def encoded(body: bytes, encoding: str) -> bytes:
    """An object's JSON in the encoding, which may also be `pretty`."""
    if encoding == "json":
        return body
    obj = orjson.loads(body)
    if encoding == "pretty":
        return orjson.dumps(obj, option=orjson.OPT_INDENT_2)
    return to_yaml(obj) if encoding == "yaml" else to_protobuf(obj)


def to_protobuf(obj: JsonObject) -> bytes:
    from kube32_sim.api import protobuf

    return protobuf.encode(obj.get("apiVersion", ""), obj["kind"], obj)


def protobuf_frame(kind: str, obj: bytes) -> bytes:
    """A watch event in protobuf, from the JSON of its object."""
    from kube32_sim.api import protobuf

    return protobuf.encode_event(kind, to_protobuf(orjson.loads(obj)))


def to_yaml(value: Any) -> bytes:
    """YAML that readers of YAML 1.1 and of 1.2 take for the same."""
    import yaml

    data: bytes = yaml.dump(value, Dumper=_dumper(), allow_unicode=True, encoding="utf-8", width=1 << 30)
    return data


@cache
def _dumper() -> Any:
    import yaml

    from kube32_sim.api.yamltext import is_text

    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        def ignore_aliases(self, data: Any) -> bool:
            return True

    def text_node(dumper: Any, text: str) -> Any:
        """Text that Go might read as something else has double quotes; PyYAML alone would not have, or single ones."""
        plain = is_text(text) and _TAKEN_FOR_OTHER.fullmatch(text) is None
        style = "|" if "\n" in text else None if plain else '"'
        return dumper.represent_scalar(_STRING, text, style=style)

    Dumper.add_representer(str, text_node)
    return Dumper


def pieces(listing: Listing, encoding: str) -> Iterator[bytes]:
    """A list that has items, as JSON, YAML or `pretty`."""
    if encoding == "yaml":
        return _yaml_pieces(listing)
    return _indented_pieces(listing) if encoding == "pretty" else _json_pieces(listing)


def _json_pieces(listing: Listing) -> Iterator[bytes]:
    before = listing.head[:-1] + b',"%b":[' % listing.array.encode()
    for item in listing.items:
        yield before
        yield item
        before = b","
    yield b"]}"


def _indented_pieces(listing: Listing) -> Iterator[bytes]:
    before = encoded(listing.head, "pretty")[:-2] + b',\n  "%b": [\n    ' % listing.array.encode()
    for item in listing.items:
        yield before
        yield encoded(item, "pretty").replace(b"\n", b"\n    ")  # a line never ends within a string
        before = b",\n    "
    yield b"\n  ]\n}"


def _yaml_pieces(listing: Listing) -> Iterator[bytes]:
    """Keys are sorted, as everywhere; items stand at the margin."""
    head = orjson.loads(listing.head)
    yield to_yaml({name: value for name, value in head.items() if name < listing.array})
    yield b"%b:\n" % listing.array.encode()
    for item in listing.items:
        yield to_yaml([orjson.loads(item)])
    rest = {name: value for name, value in head.items() if name > listing.array}
    yield to_yaml(rest) if rest else b""
