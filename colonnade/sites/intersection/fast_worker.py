"""Runs spu's set intersection. Read as text and given to an interpreter that has spu; it knows nothing of Colonnade.

A task comes on standard input as JSON. Two sides in the task meet in memory; one side meets the other over the network,
with certificates. Ids are read from and written to the files that the task names.
"""

from __future__ import annotations

import json
import sys
import threading
from typing import Any


def describe(task: dict[str, Any], link: Any) -> Any:
    """The link: who takes part, and with which certificates."""
    description = link.Desc()
    description.id = task["session"]
    description.recv_timeout_ms = task["timeout_s"] * 1000
    for name, address in task["parties"]:
        description.add_party(name, address)
    if task["tls"]:
        description.enable_ssl = True
        for options in (description.client_ssl_opts, description.server_ssl_opts):
            options.cert.certificate_path = task["tls"]["certificate"]
            options.cert.private_key_path = task["tls"]["key"]
            options.verify.ca_file_path = task["tls"]["authority"]
            options.verify.verify_depth = 1
    return description


def configure(task: dict[str, Any], side: dict[str, Any], psi: Any) -> Any:
    """What spu is to do at one side. The active party is rank 0 and receives the result."""
    protocol = psi.PsiProtocolConfig(
        protocol=getattr(psi.PsiProtocol, "PROTOCOL_" + task["protocol"].upper()),
        receiver_rank=0,
        broadcast_result=task["tell"],
        ecdh_params=psi.EcdhParams(curve=psi.EllipticCurveType.CURVE_25519),
    )
    csv = psi.SourceType.SOURCE_TYPE_FILE_CSV
    return psi.PsiExecuteConfig(
        protocol_conf=protocol,
        input_params=psi.InputParams(type=csv, path=side["given"], selected_keys=["id"], keys_unique=True),
        output_params=psi.OutputParams(type=csv, path=side["found"], disable_alignment=True),
    )


def main() -> None:
    """Do the task; an error at any side ends the process with its text."""
    import spu.psi as psi
    from spu.libspu import link

    task = json.load(sys.stdin)
    description = describe(task, link)
    failed: list[BaseException] = []

    def work(side: dict[str, Any]) -> None:
        try:
            connect = link.create_mem if len(task["sides"]) == 2 else link.create_brpc
            context = connect(description, side["rank"])
            psi.psi_execute(configure(task, side, psi), context)
            context.stop_link()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(side,), daemon=True) for side in task["sides"]]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive() and not failed:
            thread.join(0.05)
    if failed:
        first = (str(failed[0]).splitlines() or ["no text"])[0]  # the rest is a stack
        sys.exit(f"spu failed: {type(failed[0]).__name__}: {first[:300]}")


if __name__ == "__main__":
    main()
