"""cel-go's extended strings, version 2: declared here, done by the library.

Its own declarations cannot be used: `indexOf` and `lastIndexOf` are Kubernetes' functions of lists too, and a function
may be declared only once.
"""

from __future__ import annotations

from kube32_sim.api.cel.functions.declaring import Overload, function, method

_S, _I, _STRINGS = "string", "int", "list<string>"

OVERLOADS: list[Overload] = [
    method("charAt", "string_char_at_int", (_S, _I), _S, None),
    method("format", "string_format", (_S, "list<dyn>"), _S, None),
    method("indexOf", "string_index_of_string", (_S, _S), _I, None),
    method("indexOf", "string_index_of_string_int", (_S, _S, _I), _I, None),
    method("join", "list_join", (_STRINGS,), _S, None),
    method("join", "list_join_string", (_STRINGS, _S), _S, None),
    method("lastIndexOf", "string_last_index_of_string", (_S, _S), _I, None),
    method("lastIndexOf", "string_last_index_of_string_int", (_S, _S, _I), _I, None),
    method("lowerAscii", "string_lower_ascii", (_S,), _S, None),
    method("replace", "string_replace_string_string", (_S, _S, _S), _S, None),
    method("replace", "string_replace_string_string_int", (_S, _S, _S, _I), _S, None),
    method("split", "string_split_string", (_S, _S), _STRINGS, None),
    method("split", "string_split_string_int", (_S, _S, _I), _STRINGS, None),
    method("substring", "string_substring_int", (_S, _I), _S, None),
    method("substring", "string_substring_int_int", (_S, _I, _I), _S, None),
    method("trim", "string_trim", (_S,), _S, None),
    method("upperAscii", "string_upper_ascii", (_S,), _S, None),
    function("strings.quote", "strings_quote", (_S,), _S, None),
]
