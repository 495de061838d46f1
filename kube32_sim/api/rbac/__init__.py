"""Role-based access control, pure: what roles and bindings allow (`policy`, `grants`), who may write them
(`escalation`, `covering`), roles made of others (`aggregation`), and those of every server (`bootstrap`).
"""
