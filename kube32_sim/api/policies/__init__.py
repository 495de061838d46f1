"""Admission policies as pure functions: ValidatingAdmissionPolicy and MutatingAdmissionPolicy.

`expressions` knows which variables their CEL expressions see, `literals` reads the objects that mutations write,
`compiled` makes a policy and its bindings ready once per revision, `params` finds what they refer to, `evaluation`
binds a request to variables, `conditions` asks whether it is one at all, `validating` decides, `mutating` patches.
Which requests they are for is `api/dynamic_admission/matching`'s business; `registry/policies.py` follows what is
stored.
"""
