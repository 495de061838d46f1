"""CEL, the expressions of validation rules, admission policies and match conditions.

`environment.py` compiles and evaluates one expression, `cost.py` estimates what it costs; `rules.py` evaluates the
rules of a custom resource's schema, which `api.validation.crd.expressions` has checked when its definition was created.
`library.py` alone knows the library behind it.
"""
