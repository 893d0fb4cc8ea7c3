"""Write the two parties' tables: scikit-learn's breast cancer data, columns divided between a bank and a shop."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

HERE = Path(__file__).resolve().parent
ALONE = 40  # rows that one party alone holds


def main() -> None:
    """Write bank/bank.csv, shop/shop.csv, and the ids that both hold to both folders."""
    frame = load_breast_cancer(as_frame=True).frame
    order = np.random.default_rng(0).permutation(len(frame))
    frame.index = [f"c{i:04d}" for i in order]
    frame.index.name = "customer"
    columns = [c for c in frame.columns if c != "target"]
    bank, shop = frame.iloc[ALONE:], frame.iloc[:-ALONE]
    bank[[*columns[:15], "target"]].to_csv(HERE / "bank" / "bank.csv")
    shop[columns[15:]].sample(frac=1.0, random_state=1).to_csv(HERE / "shop" / "shop.csv")
    shared = sorted(set(bank.index) & set(shop.index))
    for party in ("bank", "shop"):
        (HERE / party / "aligned.txt").write_text("\n".join(shared) + "\n")
    print(f"bank {len(bank)} rows, shop {len(shop)} rows, {len(shared)} held by both")


if __name__ == "__main__":
    main()
