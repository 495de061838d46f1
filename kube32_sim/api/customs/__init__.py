"""Custom resource types: what a stored CustomResourceDefinition makes of the table.

    decoding   custom objects as bodies hold them
    paths      JSONPaths of columns, replicas and selectable fields
    scaling    the fields of a Scale
    version    one version: its schema and rules, how it is shown, scaled and printed
    strategy   the life of custom objects in the generic write
    rows       the rows of the table
    naming     which names a definition may have beside others, and what its status says

What a schema does to objects is `structural`'s, its CEL rules are `cel`'s, whether a definition is valid is
`validation`'s, and when rows come and go is `registry/custom_types.py`'s business.
"""
