"""Networks: encoders at every party, heads at the active one."""

from colonnade.nets.tabular import TabularEncoder, mlp

__all__ = ["TabularEncoder", "mlp"]
