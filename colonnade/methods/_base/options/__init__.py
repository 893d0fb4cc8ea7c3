"""Options of methods: what each may be, and what it is for, as data beside the field."""

from colonnade.methods._base.options.data import Ge, Gt, Help, Le, Lt, Must, OneOf

__all__ = ["Ge", "Gt", "Help", "Le", "Lt", "Must", "OneOf"]
