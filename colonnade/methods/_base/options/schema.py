"""Options as JSON schema: for editors, forms and other programs that write a method's settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt

from colonnade.methods._base.options.data import Must, OneOf, Option, options_of

TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}
BOUNDS = ((Ge, "ge", "minimum"), (Gt, "gt", "exclusiveMinimum"), (Le, "le", "maximum"), (Lt, "lt", "exclusiveMaximum"))


def schema_of(method: type[Any]) -> dict[str, Any]:
    """The JSON schema of a method's options. Rules over two options, and modules of the user's, it cannot say."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": method.name,
        "type": "object",
        "properties": {name: _schema(option) for name, option in options_of(method).items()},
        "additionalProperties": False,
    }


def _schema(option: Option) -> dict[str, Any]:
    """One option: what it may be, its default, and its help with the rule that a schema cannot say."""
    made = {**_kind(option.sort), **_bounds(option)}
    if option.may_be_none and made:
        made = {"anyOf": [made, {"type": "null"}]}
    must = option.rule(Must)
    told = [option.help, f"Must be {must.text}." if must is not None else ""]
    default = list(option.default) if isinstance(option.default, tuple) else option.default
    return {**made, "default": default, "description": " ".join(part for part in told if part)}


def _kind(sort: Any) -> dict[str, Any]:
    """The type of a value; empty for what JSON cannot hold."""
    if sort in TYPES:
        return {"type": TYPES[sort]}
    inner = get_args(sort)
    if get_origin(sort) is tuple:
        return {"type": "array", "items": {**_kind(inner[0]), **({"exclusiveMinimum": 0} if inner[0] is int else {})}}
    if isinstance(get_origin(sort), type) and issubclass(get_origin(sort), Mapping):
        values = _kind(inner[1])
        return {"type": "object", "additionalProperties": values} if values else {}
    several = [found for found in map(_kind, inner) if found]
    return {"anyOf": several} if several else {}


def _bounds(option: Option) -> dict[str, Any]:
    names = option.rule(OneOf)
    found: dict[str, Any] = {} if names is None else {"enum": list(names.names)}
    for sort, attribute, word in BOUNDS:
        rule = option.rule(sort)
        if rule is not None:
            found[word] = getattr(rule, attribute)
    return found
