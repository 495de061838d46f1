"""Validation of CustomResourceDefinitions: of a definition, of a change of one, and of its status.

Rules, order and words are apiextensions-apiserver's `pkg/apis/apiextensions/validation` and `pkg/apiserver/schema`; two
things are the simulator's own: it refuses conversion by webhooks, and schemas that are nested deeper than 100 levels.

    definition   names, group, scope, versions, stored versions     conversion   spec.conversion
    internal     what upstream keeps once for all versions          versions     columns, subresources
    schemas      all checks of one openAPIV3Schema, in order        selectable   selectableFields, paths into schemas
    structural   whether a schema is structural                     openapi      what no schema may have
    lists        x-kubernetes-list-type, -map-type                  rules        x-kubernetes-validations' fields
    ratchet      what a change need not be better at                approval     api-approved.kubernetes.io
    formats      formats that nothing knows                         expressions  CEL in rules: types and cost
    shown        values as Go prints them
"""

from __future__ import annotations

from kube32_sim.api.validation.crd.definition import validate_crd, validate_crd_status, validate_crd_update

__all__ = ["validate_crd", "validate_crd_status", "validate_crd_update"]
