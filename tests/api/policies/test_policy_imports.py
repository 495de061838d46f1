"""What takes memory is loaded with the first expression: most clusters have none."""

from __future__ import annotations

import subprocess
import sys

QUIET = """
import sys
from kube32_sim.api.builtin import builtin_table
from kube32_sim.api.policies.conditions import Conditions
from kube32_sim.api.policies.expressions import Scope
from kube32_sim.registry import policies, policy_status

builtin_table()
Conditions(())
assert not [name for name in sys.modules if name.startswith(("google.protobuf", "cel_expr_python"))]
Scope().compile("true")
assert "cel_expr_python" in sys.modules
"""


def test_nothing_is_loaded_without_expressions() -> None:
    subprocess.run([sys.executable, "-c", QUIET], check=True)
