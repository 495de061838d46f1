"""Why a pod is where it is, or is not: a chain of causes, from the journal and from what objects still say."""

from kube32_sim.explaining.notes import Notes
from kube32_sim.explaining.story import Link, causes_of

__all__ = ["Link", "Notes", "causes_of"]
