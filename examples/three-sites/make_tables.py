"""Write three parties' tables: scikit-learn's breast cancer data, ten columns each, about partly the same people.

Each party writes its customers' addresses in its own way, holds people that the others lack, and keeps its own order.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

HERE = Path(__file__).resolve().parent
NEW = 50  # customers of the bank whose label is not known yet
LACKS = {"bank": 30, "shop": 60, "telco": 90}  # people that a party does not know


def main() -> None:
    """Write bank/bank.csv, shop/shop.parquet and telco/telco.csv."""
    frame = load_breast_cancer(as_frame=True).frame
    columns = [c for c in frame.columns if c != "target"]
    rng = np.random.default_rng(0)
    people = np.array([f"person{i:03d}" for i in rng.permutation(len(frame))])
    spellings = {"bank": "{}@mail.example", "shop": "{}@MAIL.example", "telco": " {}@mail.example"}
    tables: dict[str, pd.DataFrame] = {}
    for k, (party, spelling) in enumerate(spellings.items()):
        held = rng.permutation(len(frame))[LACKS[party] :]
        table = frame[columns[10 * k : 10 * k + 10]].iloc[held].copy()
        table.insert(0, "email", [spelling.format(people[i]) for i in held])
        if party == "bank":
            table["target"] = frame["target"].iloc[held].astype("Int64")
            table.loc[rng.choice(table.index, NEW, replace=False), "target"] = None
        tables[party] = table
    tables["bank"].to_csv(HERE / "bank" / "bank.csv", index=False)
    tables["shop"].to_parquet(HERE / "shop" / "shop.parquet", index=False)
    tables["telco"].to_csv(HERE / "telco" / "telco.csv", index=False)
    print(", ".join(f"{party} {len(table)} rows" for party, table in tables.items()))


if __name__ == "__main__":
    main()
