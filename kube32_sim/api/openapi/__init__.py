"""The OpenAPI documents, `/openapi/v2` and `/openapi/v3/…`, computed from the table's rows and the schema definitions.

documents: what there is and how it is answered.  operations: paths and their operations.  schemas: definitions in
the form of either version.
"""

from kube32_sim.api.openapi.documents import Answer, OpenAPI

__all__ = ["Answer", "OpenAPI"]
