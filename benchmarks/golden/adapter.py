"""Where each tree keeps what is not `cn.`: the only file here that knows module paths of the package.

A name has the modules that it lay in over time, oldest first. Whoever moves one adds the new module behind the old
one, in the commit that moves it; what has not moved needs nothing.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

MODULES: dict[str, tuple[str, ...]] = {
    "ActiveSite": ("colonnade.federate.active_site", "colonnade.sites.training.active_site"),
    "PassiveSite": ("colonnade.federate.passive_site", "colonnade.sites.training.passive_site"),
    "FederationFile": ("colonnade.federate.description", "colonnade.sites.settings.description"),
    "read_site": ("colonnade.federate.description", "colonnade.sites.settings.description"),
    "read_site_table": ("colonnade.federate.table", "colonnade.sites.settings.table"),
    "Offers": ("colonnade.federate.offers", "colonnade.sites.training.offers"),
    "Memory": ("colonnade.federate.resume", "colonnade.sites.recovery.resume"),
    "Past": ("colonnade.federate.past", "colonnade.sites.recovery.past"),
    "put_together": ("colonnade.federate.loading", "colonnade.sites.prediction.loading"),
    "read_part": ("colonnade.federate.loading", "colonnade.sites.prediction.loading"),
    "predictor_between_sites": ("colonnade.federate.gathering", "colonnade.sites.running.gathering"),
    "predict_batch": ("colonnade.federate.batch", "colonnade.sites.running.batch"),
    "align_sites": ("colonnade.federate.aligning", "colonnade.sites.alignment.aligning"),
    "Cache": ("colonnade.serve.cache", "colonnade.deploy.serve.cache"),
    "Link": ("colonnade.wire.engines.flare", "colonnade.engines.remote"),
    "LostSiteError": ("colonnade.wire.engines.absent", "colonnade.engines.absent"),
    "run_of": ("colonnade.wire.engines.envelope", "colonnade.wire.envelope"),
    "open_request": ("colonnade.wire.engines.envelope", "colonnade.wire.envelope"),
    "open_reply": ("colonnade.wire.engines.envelope", "colonnade.wire.envelope"),
    "decode": ("colonnade.wire.codec",),
}


def find(name: str, modules: dict[str, tuple[str, ...]] = MODULES) -> Any:
    """Something of the package, from where this tree keeps it."""
    for module in modules[name]:
        try:
            found = import_module(module)
        except ModuleNotFoundError as error:
            if not module.startswith(f"{error.name}"):  # it lies there, and lacks something else
                raise
            continue
        if hasattr(found, name):
            return getattr(found, name)
    raise ImportError(f"{name} is in none of {', '.join(modules[name])}. Add its module to MODULES in {__file__}.")


def check_tree(tree: Path) -> None:
    """Refuse to go on with another tree's package than `tree`'s."""
    import colonnade

    home = Path(str(colonnade.__file__)).resolve()
    if home != (tree / "colonnade" / "__init__.py").resolve():
        raise ImportError(f"colonnade was imported from {home}, and this process is for {tree}.")


def audit(model: Any) -> Any:
    """What crossed the wire in training: messages and bytes by kind, sender and receiver."""
    fitted = getattr(model, "fitted_", None)
    fed = getattr(model, "federation_", None) if fitted is None else fitted.federation
    return [] if fed is None else fed.wire.audit_json()
