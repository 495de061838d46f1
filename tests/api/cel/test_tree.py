"""Trees of CEL expressions: read from what the library serializes, and written so that it takes them back."""

from __future__ import annotations

from typing import Any

import pytest
from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_optional
from hypothesis import given
from hypothesis import strategies as st

from kube32_sim.api.cel.tree import (
    DYN,
    Call,
    Comprehension,
    Constant,
    Entry,
    Ident,
    ListExpr,
    Reference,
    Select,
    StructExpr,
    Tree,
    Type,
    decode,
)
from kube32_sim.api.cel.tree_wire import put, put_number, read, varints
from kube32_sim.api.cel.tree_writing import encode

_TYPE = cel.Type
_ENVIRONMENT = cel.NewEnv(
    variables={"self": _TYPE.DYN, "names": _TYPE.List(_TYPE.STRING), "sizes": _TYPE.Map(_TYPE.STRING, _TYPE.DOUBLE)},
    extensions=[ext_optional.ExtOptional(), ext_bindings.ExtBindings()],
)


def _tree(expression: str, *, checked: bool = True) -> Tree:
    return decode(_ENVIRONMENT.compile(expression, disable_check=not checked).serialize())


@pytest.mark.parametrize(
    ("expression", "kind", "value"),
    [
        ("null", "null", None),
        ("true", "bool", True),
        ("false", "bool", False),
        ("0", "int", 0),
        ("-9223372036854775808", "int", -(2**63)),
        ("18446744073709551615u", "uint", 2**64 - 1),
        ("-1.5", "double", -1.5),
        ("'grün'", "string", "grün"),
        (r"b'\xff'", "bytes", b"\xff"),
    ],
)
def test_constants(expression: str, kind: str, value: object) -> None:
    root = _tree(expression).root
    assert isinstance(root, Constant)
    assert (root.kind, root.value) == (kind, value)


def test_selections_and_calls() -> None:
    root = _tree("has(self.a.b) && names.size() > 1").root
    assert isinstance(root, Call)
    assert (root.function, root.target) == ("_&&_", None)
    presence, comparison = root.args
    assert isinstance(presence, Select)
    assert (presence.field, presence.test_only) == ("b", True)
    assert isinstance(presence.operand, Select)
    assert (presence.operand.field, presence.operand.test_only) == ("a", False)
    assert isinstance(comparison, Call)
    method = comparison.args[0]
    assert isinstance(method, Call)
    assert (method.function, method.args) == ("size", [])
    assert isinstance(method.target, Ident)
    assert method.target.name == "names"


def test_literals_with_optional_parts() -> None:
    root = _tree("[1, ?self.?b]").root
    assert isinstance(root, ListExpr)
    assert (len(root.elements), root.optional) == (2, [1])
    root = _tree("{'a': 1, ?'b': self.?b}").root
    assert isinstance(root, StructExpr)
    assert [entry.optional for entry in root.entries] == [False, True]
    root = _tree("google.protobuf.Duration{seconds: 5}").root
    assert isinstance(root, StructExpr)
    assert (root.message, root.entries[0].key) == ("google.protobuf.Duration", "seconds")


def test_macros_are_loops() -> None:
    root = _tree("names.all(name, name != '')").root
    assert isinstance(root, Comprehension)
    assert (root.iter_var, root.iter_var2) == ("name", "")
    assert isinstance(root.iter_range, Ident)
    assert isinstance(root.loop_condition, Call)
    assert root.loop_condition.function == "@not_strictly_false"
    assert isinstance(root.loop_step, Call)
    assert root.loop_step.function == "_&&_"


def test_a_checked_tree_has_types_and_overloads() -> None:
    tree = _tree("names[0] == string(sizes['a'])")
    assert isinstance(tree.root, Call)
    item, text = tree.root.args
    assert isinstance(item, Call)
    assert tree.type_of(item.args[0]) == Type("list", (Type("string"),))
    assert tree.type_of(item) == Type("string")
    assert tree.overloads_of(item) == ("index_list",)
    assert isinstance(text, Call)
    assert isinstance(text.args[0], Call)
    assert tree.type_of(text.args[0].args[0]) == Type("map", (Type("string"), Type("double")))
    assert tree.type_of(tree.root) == Type("bool")
    assert tree.references[item.args[0].id] == Reference("names")


def test_types_of_all_kinds() -> None:
    assert _kind("self") == DYN
    assert _kind("null") == Type("null")
    assert _kind("timestamp('2020-01-01T00:00:00Z')") == Type("timestamp")
    assert _kind("duration('1s')") == Type("duration")
    assert _kind("names[?0]") == Type("opaque", (Type("string"),), "optional_type")
    assert _kind("type(1)").kind == "type"


def _kind(expression: str) -> Type:
    tree = _tree(expression)
    return tree.type_of(tree.root)


def test_an_unchecked_tree_has_no_types() -> None:
    tree = _tree("unknown.f(1)", checked=False)
    assert (tree.checked, tree.types, tree.references) == (False, {}, {})
    assert tree.overloads_of(tree.root) == ()


_EXPRESSIONS = (
    "names.all(x, x.size() > 1) || has(self.a.b) && self['c'] == -5",
    "sizes.map(k, sizes[k] * 1.5e300)[0] == 2.0 || b'a' == b'\\xff'",
    "[1, ?self.?b][0] == 1 && {'a': 1u, ?'b': self.?c} != {} && null == null",
    "cel.bind(d, duration('1s'), d < duration('2s') && type(d) == type(google.protobuf.Duration{seconds: 1}))",
    "self.?a.optMap(x, timestamp(x)).hasValue() ? self.exists_one(x, x) : self.filter(x, true) == [dyn(1)]",
)


@pytest.mark.parametrize("checked", [True, False])
@pytest.mark.parametrize("expression", _EXPRESSIONS)
def test_a_tree_written_and_read_is_the_same(expression: str, checked: bool) -> None:
    tree = _tree(expression, checked=checked)
    assert decode(encode(tree)) == tree


def test_constants_of_enumerations_are_written_too() -> None:
    tree = _tree("google.protobuf.NullValue.NULL_VALUE == 0")
    assert _ENVIRONMENT.deserialize(encode(tree)).eval(data={}).value() is True


@pytest.mark.parametrize("checked", [True, False])
def test_the_library_evaluates_what_was_written(checked: bool) -> None:
    tree = _tree("names.exists(x, x.size() > 1 && x != '') ? sizes['a'] + 0.5 : -1.0", checked=checked)
    written = _ENVIRONMENT.deserialize(encode(tree))
    assert written.eval(data={"self": None, "names": ["a", "bc"], "sizes": {"a": 1.0}}).value() == 1.5


@pytest.mark.parametrize(
    ("data", "result"), [([2, 3], True), ([2, 1], True), ([-1, 3], False), ({2: 5}, True), ({5: 2}, False)]
)
def test_a_loop_can_get_a_second_variable(data: Any, result: bool) -> None:
    """Which the library has no macros for: the index or the key comes first, the value second."""
    tree = _tree("self.all(value, key <= value)", checked=False)
    assert isinstance(tree.root, Comprehension)
    tree.root.iter_var, tree.root.iter_var2 = "key", "value"
    assert _ENVIRONMENT.deserialize(encode(tree)).eval(data={"self": data}).value() is result


_URL = "type.googleapis.com/cel.expr.ParsedExpr"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "no syntax tree of CEL: ''"),
        (b"\xff", "ends early"),
        (b"\x0a\xff", "ends early"),
        (b"\x0a\x05a", "ends early"),
        (b"\x0b", "a field of wire type 3"),
        (put_number(1, 1), "field 1 is a number"),
        (put(1, "type.googleapis.com/other"), "no syntax tree of CEL: 'type.googleapis.com/other'"),
        (put(1, _URL) + put(2, put(2, put_number(2, 1))), "an expression of no kind"),
        (put(1, _URL) + put(2, put(2, put(3, b""))), "a constant of no kind"),
        (put(1, _URL) + put(2, put(2, put(2, b"") + put(3, b""))), "field 2 is no number"),
        (put(1, _URL) + put(2, put(2, put(3, put(5, b"short")))), "eight bytes"),
        (put(1, b"\xff"), "invalid start byte"),
    ],
)
def test_what_is_no_tree_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        decode(data)


_ids = st.integers(0, 99)
_texts = st.text(max_size=5)
_constants = st.one_of(
    st.builds(Constant, _ids, st.just("int"), st.integers(-(2**63), 2**63 - 1)),
    st.builds(Constant, _ids, st.just("string"), _texts),
    st.builds(Constant, _ids, st.just("double"), st.floats(allow_nan=False)),
)


def _around(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, max_size=3)
    entries = st.lists(st.builds(Entry, _ids, inner | _texts, inner, st.booleans()), max_size=2)
    return st.one_of(
        st.builds(Select, _ids, inner, _texts, st.booleans()),
        st.builds(Call, _ids, _texts, several, st.none() | inner),
        st.builds(ListExpr, _ids, several, st.lists(st.integers(0, 300), max_size=2)),
        st.builds(StructExpr, _ids, _texts, entries),
        st.builds(Comprehension, _ids, _texts, inner, _texts, inner, inner, inner, inner, _texts),
    )


_expressions = st.recursive(_constants | st.builds(Ident, _ids, _texts), _around, max_leaves=8)


@given(root=_expressions, source_info=st.binary(max_size=5))
def test_any_tree_survives(root: Any, source_info: bytes) -> None:
    tree = Tree(root, source_info=source_info)
    assert decode(encode(tree)) == tree


def test_types_are_written_and_read() -> None:
    types = [Type("message", name="a.B"), Type("type_param", name="T"), Type("any"), Type("function"), Type("error")]
    tree = Tree(Ident(0, "x"), dict(enumerate(types)), checked=True)
    assert decode(encode(tree)) == tree


def test_forms_that_other_writers_use() -> None:
    """Numbers one by one instead of packed, and fields of four bytes that nobody reads."""
    four_bytes = b"\x7d" + bytes(4)
    message = read(put_number(2, 0) + put_number(2, 300) + four_bytes)
    assert varints(message, 2) == [0, 300]


def test_a_constant_of_a_wrong_kind_is_not_written() -> None:
    with pytest.raises(ValueError, match="no constant of kind"):
        encode(Tree(Constant(1, "string", None)))
