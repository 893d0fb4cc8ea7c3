"""Which layers can be trained privately, and what replaces the others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from colonnade.errors import ConfigError, MissingDependencyError, raise_all


def check_layers(module: nn.Module) -> None:
    """Refuse layers in which the rows of a batch meet, or that per-row gradients do not exist for; all at once.

    Batch norm is refused wherever it is: Opacus looks at trainable layers only, yet one without parameters mixes rows
    just as much, and its running statistics have no noise.
    """
    try:
        from opacus.validators import ModuleValidator
    except ImportError as error:
        raise MissingDependencyError(
            'private training needs the package opacus. Install it: pip install "colonnade[privacy]"'
        ) from error
    problems = []
    for name, layer in module.named_modules():
        what = f"layer {name!r} ({type(layer).__name__})"
        if isinstance(layer, _BatchNorm):
            problems.append(
                f"{what} computes a row's output from the other rows of its batch, so no gradient of a row can be "
                "bounded. Use nn.GroupNorm in its place; opacus.validators.ModuleValidator.fix(module) does that."
            )
        elif type(layer) in ModuleValidator.VALIDATORS:
            problems += [f"{what}: {error}" for error in ModuleValidator.VALIDATORS[type(layer)](layer)]
    raise_all(problems, ConfigError, "private training")


def keep_inputs(module: nn.Module) -> list[Any]:
    """Make activations that overwrite their input write beside it, as hooks read it later; those that were changed."""
    changed: list[Any] = [layer for layer in module.modules() if getattr(layer, "inplace", False) is True]
    for layer in changed:
        layer.inplace = False
    return changed


def restore_in_place(changed: Iterable[Any]) -> None:
    """Undo `keep_inputs`."""
    for layer in changed:
        layer.inplace = True
