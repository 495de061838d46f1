"""CEL, the expressions of validation rules, admission policies and match conditions.

`environment.py` compiles and evaluates one expression; `rules.py` evaluates the rules of a custom resource's schema and
`checking.py` checks them when its definition is created.  `library.py` alone knows the library behind it.
"""
