"""Write the two parties' tables: scikit-learn's breast cancer data, columns divided between a bank and a shop."""

from __future__ import annotations

from pathlib import Path

from colonnade.cli.demo.files import NEW, write_tables


def main() -> None:
    """Write bank/bank.csv and shop/shop.csv."""
    rows = write_tables(Path(__file__).resolve().parent)
    print(f"bank {rows['bank']} rows, {NEW} of them without a label; shop {rows['shop']} rows")


if __name__ == "__main__":
    main()
