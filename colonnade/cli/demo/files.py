"""The files of the demo: two tables about partly the same customers, a site file for each party, the federation's."""

from __future__ import annotations

from pathlib import Path

from colonnade.sites.files.parts import write_bytes

ALONE = 40  # rows that one party alone holds
NEW = 60  # customers whose label is not known yet
PORT = 8002

FEDERATION = """\
[federation]
name = "two-sites"
active = "bank"          # has the labels, runs the method, listens
passive = ["shop"]
host = "localhost"       # where the bank is reached; it listens there and nowhere else
port = {port}
"""
BANK = """\
[site]
party = "bank"
out = "out"              # the alignment, the bank's part of a model, records

[table]
data = "bank.csv"
id = "customer"
label = "target"         # empty where it is not known

[method]
name = "splitnn"
epochs = 30
hidden = [32]
width = 16
batch_size = 32

[split]
seed = 0
"""
SHOP = """\
[site]
party = "shop"
out = "out"              # the shop's own alignment and part of a model

[table]
data = "shop.csv"
id = "customer"

[policy]                 # what the shop's owner allows; enforced here, at the shop
methods = ["splitnn", "fedonce", "fedhssl"]
rows = 1000
rounds = 20000
width = 256
ids = 5000               # with which the bank may come to an alignment
alignments = 10          # in 24 hours
"""


def write_files(folder: Path, port: int = PORT) -> None:
    """Everything that the two parties have before they begin."""
    texts = {"federation.toml": FEDERATION.format(port=port), "bank/site.toml": BANK, "shop/site.toml": SHOP}
    for name, text in texts.items():
        write_bytes(folder / name, text.encode())
    write_tables(folder)


def write_tables(folder: Path) -> dict[str, int]:
    """Write bank/bank.csv and shop/shop.csv; how many rows each has.

    The columns of scikit-learn's breast cancer data are divided between the two; customers have made-up ids.
    """
    import numpy as np
    from sklearn.datasets import load_breast_cancer

    frame = load_breast_cancer(as_frame=True).frame
    rng = np.random.default_rng(0)
    frame.index = [f"c{i:04d}" for i in rng.permutation(len(frame))]
    frame.index.name = "customer"
    columns = [c for c in frame.columns if c != "target"]
    bank, shop = frame.iloc[ALONE:].copy(), frame.iloc[:-ALONE]
    bank["target"] = bank["target"].astype("Int64")
    bank.loc[rng.choice(bank.index, NEW, replace=False), "target"] = None
    shop = shop[columns[15:]].sample(frac=1.0, random_state=1)
    tables = {"bank": bank[[*columns[:15], "target"]], "shop": shop}
    for party, table in tables.items():
        write_bytes(folder / party / f"{party}.csv", table.to_csv().encode())
    return {party: len(table) for party, table in tables.items()}
