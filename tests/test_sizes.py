"""Files and functions stay small.  What is larger is listed with a limit of its own, which may only be lowered."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.support.servers import CLONE

FILE_LINES = {"kube32_sim": 400, "controllers": 400, "benchmarks": 400, "tests": 500}
FUNCTION_LINES = 60

LARGER = {
    "tests/api/test_columns.py": 660,
}


def sizes(path: Path) -> Iterator[tuple[str, int, int]]:
    """(what, lines, most lines it may have) of a file and of the functions in it."""
    text = path.read_text(encoding="utf-8")
    name = path.relative_to(CLONE).as_posix()
    yield name, text.count("\n"), FILE_LINES[name.partition("/")[0]]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{name}:{node.name}", (node.end_lineno or 0) - node.lineno + 1, FUNCTION_LINES


def test_files_and_functions_are_small() -> None:
    files = [path for source in FILE_LINES for path in sorted((CLONE / source).rglob("*.py"))]
    assert len(files) > 100
    larger = {what: lines for path in files for what, lines, most in sizes(path) if lines > most}
    too_large = {what: lines for what, lines in larger.items() if lines > LARGER.get(what, 0)}
    assert not too_large, f"split these up: {too_large}"
    assert LARGER.keys() <= larger.keys(), f"small by now, take them out of LARGER: {LARGER.keys() - larger.keys()}"
