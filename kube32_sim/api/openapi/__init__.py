"""The OpenAPI documents, `/openapi/v2` and `/openapi/v3/…`, computed from the table's rows, the schema definitions and
the CustomResourceDefinitions that are stored.

answers: which document a request gets, and in which form.  documents: what there is and how it is built.
operations, parameters, wording: paths and their operations.  schemas, defaults, enums: built-in definitions in the form
of either version.  custom: those of custom types.  protobuf: version 2 for clients that want it so.
"""

from kube32_sim.api.openapi.answers import Answer, OpenAPI
from kube32_sim.api.openapi.documents import NoDefinitions, StoredDefinitions

__all__ = ["Answer", "NoDefinitions", "OpenAPI", "StoredDefinitions"]
