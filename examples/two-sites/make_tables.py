"""Write the two parties' tables: scikit-learn's breast cancer data, columns divided between a bank and a shop."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

HERE = Path(__file__).resolve().parent
ALONE = 40  # rows that one party alone holds
NEW = 60  # customers whose label is not known yet


def main() -> None:
    """Write bank/bank.csv and shop/shop.csv."""
    frame = load_breast_cancer(as_frame=True).frame
    rng = np.random.default_rng(0)
    frame.index = [f"c{i:04d}" for i in rng.permutation(len(frame))]
    frame.index.name = "customer"
    columns = [c for c in frame.columns if c != "target"]
    bank, shop = frame.iloc[ALONE:].copy(), frame.iloc[:-ALONE]
    bank["target"] = bank["target"].astype("Int64")
    bank.loc[rng.choice(bank.index, NEW, replace=False), "target"] = None
    bank[[*columns[:15], "target"]].to_csv(HERE / "bank" / "bank.csv")
    shop[columns[15:]].sample(frac=1.0, random_state=1).to_csv(HERE / "shop" / "shop.csv")
    print(f"bank {len(bank)} rows, {NEW} of them without a label; shop {len(shop)} rows")


if __name__ == "__main__":
    main()
