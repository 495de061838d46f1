"""Who manages which field: `metadata.managedFields`, and server-side apply, which goes by them.

`fieldset` are sets of fields as FieldsV1 writes them; `shapes` says what of an object is owned by itself and what as a
whole; `comparing` and `merging` walk objects by their shapes; `entries` reads and writes managedFields; `tracking` is
what any write does to them, `applying` what an apply does, and `scaled` what one through the scale subresource does.
"""
