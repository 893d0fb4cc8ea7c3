"""What FLARE may make of bytes from another site, and how large they may be: as little as our calls need.

FLARE's FOBS is msgpack, with a list of types that it rebuilds from names in the bytes. Our calls carry `bytes`, which
msgpack holds by itself. Once a job runs, everything but FLARE's own task and event messages is taken off the list:
arrays, tensors, statistics, models, workspaces.
"""

from __future__ import annotations

NEEDED = frozenset(
    {
        "tuple", "set", "collections.OrderedDict", "datetime.datetime",
        "nvflare.apis.shareable.Shareable", "nvflare.apis.fl_context.FLContext", "nvflare.apis.client.Client",
        "nvflare.private.admin_defs.Message", "nvflare.private.fed.server.run_info.RunInfo",
        "nvflare.apis.job_def.JobMetaKey",
    }
)  # fmt: skip


def pin_types() -> list[str]:
    """Let FLARE rebuild nothing but `NEEDED` from here on, in this process; what was taken off its list."""
    from nvflare.fuel.utils.fobs import fobs

    registered, listed = fobs._decomposers, fobs._type_name_whitelist
    dropped = sorted({*registered, *listed} - NEEDED)
    for name in dropped:
        registered.pop(name, None)
    listed.intersection_update(NEEDED)
    return dropped


def settings(largest: int) -> dict[str, str]:
    """Environment of a site's process: bytes travel inside the call, and no more of them than allowed."""
    return {
        "NVFLARE_NP_DOWNLOAD_CHUNK_SIZE": "0",  # arrays inline, in case FLARE itself sends one
        "NVFLARE_TENSOR_DOWNLOAD_CHUNK_SIZE": "0",
        "NVFLARE_STREAMING_MAX_BLOB_SIZE": str(largest + (1 << 20)),  # looked at before memory is taken
    }
