"""What webhooks and policies share: what they see of a write (`request`), and which writes they are for (`matching`).

The webhooks' own part is `api/webhooks`, the policies' `api/policies`; `registry/dynamic_admission.py` asks both.
"""
