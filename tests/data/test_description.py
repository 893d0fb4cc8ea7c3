"""Own data described in TOML: what is read, and every error text."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from colonnade.data.description import read_description
from colonnade.errors import DataError

BANK = '[parties.bank]\ndata = "bank.csv"\nid = "customer"\nlabel = "default"\n'
SHOP = '[parties.shop]\ndata = "shop.parquet"\nid = "customer"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Sixty customers of a bank (CSV) and forty-five of a shop (Parquet), forty of them common."""
    rng = np.random.default_rng(0)
    bank = pd.DataFrame({"customer": np.arange(60), "age": rng.normal(40, 9, 60), "job": rng.choice(["a", "b"], 60)})
    bank["region"] = rng.choice(["01", "02", "10"], 60)
    bank["default"] = np.where(np.arange(60) % 6 == 5, np.nan, np.arange(60) % 2)
    shop = pd.DataFrame({"customer": np.arange(20, 65), "spent": rng.random(45), "visits": rng.integers(0, 9, 45)})
    bank.to_csv(tmp_path / "bank.csv", index=False)
    shop.to_parquet(tmp_path / "shop.parquet")
    return tmp_path


def described(folder: Path, text: str, name: str = "own.toml"):
    (folder / name).write_text(text, encoding="utf-8")
    return read_description(folder / name)


def refused(folder: Path, text: str) -> str:
    with pytest.raises(DataError) as caught:
        described(folder, text)
    return str(caught.value)


def test_csv_and_parquet(folder):
    head = '[federation]\nactive = "bank"\ntask = "binary"\nmetric = "auc"\n'
    tail = '[method]\nname = "splitnn"\nepochs = 20\n'
    one = described(folder, head + BANK + 'categorical = ["region"]\n' + SHOP + tail)
    assert (one.metric, one.method, one.options) == ("auc", "splitnn", {"epochs": 20})
    assert one.path == folder / "own.toml"
    assert one.data.active == "bank" and one.data.task == "binary" and one.data.passive == ("shop",)
    bank, shop = one.data.views["bank"], one.data.views["shop"]
    assert bank.columns == ("age",) and bank.fields == ("job", "region")
    assert sorted(bank.vocabularies[1]) == ["01", "02", "10"]
    assert shop.columns == ("spent", "visits") and len(bank) == 60 and len(shop) == 45
    np.testing.assert_array_equal(one.data.aligned, np.arange(20, 60))
    assert len(one.data.labels) == 50 and one.data.labels.values.dtype.kind == "i"


@pytest.mark.filterwarnings("ignore:class")
def test_a_description_says_how_labels_are_drawn(folder):
    one = described(folder, '[federation]\nlabels_drawn = "random"\nlabelled_rows = "aligned"\n' + BANK + SHOP)
    parts = one.split(labels=4)
    assert (parts.labels_drawn, parts.labelled_rows) == ("random", "aligned")
    assert one.split(labels=4, labels_drawn="stratified").labels_drawn == "stratified"  # what is asked for wins
    text = refused(folder, '[federation]\nlabels_drawn = "fair"\n' + BANK + SHOP)
    assert "labels_drawn must be 'stratified' or 'random'. Got 'fair'." in text


def test_what_may_be_left_out(folder):
    one = described(folder, SHOP + BANK + 'columns = ["job"]\n')
    assert (one.metric, one.method, one.options) == (None, None, {})
    assert one.data.active == "bank" and one.data.views["bank"].width == 1


def test_split(folder):
    parts = described(folder, BANK + SHOP).split(labels=8, seed=1)
    assert len(parts.train.labels) == 8 and len(parts.test.labels) == len(parts.test.aligned) > 0


@pytest.mark.parametrize("name", ["bank.csv.gz", "bank.tsv", "bank.tsv.gz", "BANK.CSV"])
def test_text_files(folder, name):
    separator = "\t" if "tsv" in name else ","
    pd.read_csv(folder / "bank.csv", dtype={"region": str}).to_csv(folder / name, sep=separator, index=False)
    one = described(folder, BANK.replace("bank.csv", name) + SHOP)
    assert len(one.data.views["bank"]) == 60


@pytest.mark.parametrize("columns", ["", "columns = []\n"])
def test_a_party_with_labels_only(folder, columns):
    pd.DataFrame({"customer": range(20, 60), "default": [0, 1] * 20}).to_csv(folder / "court.csv", index=False)
    court = '[parties.court]\ndata = "court.csv"\nid = "customer"\nlabel = "default"\n' + columns
    one = described(folder, court + SHOP)
    assert one.data.active == "court" and list(one.data.views) == ["shop"] and len(one.data.labels) == 40


@pytest.mark.parametrize("index", [pd.RangeIndex(20, 65, name="customer"), pd.Index([*range(20, 65)], name="customer")])
def test_an_index_that_pandas_stored_is_an_id(folder, index):
    shop = pd.read_parquet(folder / "shop.parquet").drop(columns="customer").set_axis(index)
    shop.to_parquet(folder / "shop.parquet")
    assert described(folder, BANK + SHOP).data.views["shop"].columns == ("spent", "visits")


def test_an_unnamed_index_is_no_column(folder):
    shop = pd.read_parquet(folder / "shop.parquet").sample(frac=1, random_state=0)
    shop.to_parquet(folder / "shop.parquet")
    assert described(folder, BANK + SHOP).data.views["shop"].columns == ("spent", "visits")


def test_ids_are_numbers_or_text_at_all_parties(folder):
    shop = pd.read_parquet(folder / "shop.parquet")
    shop.assign(customer=shop["customer"].astype(str)).to_parquet(folder / "shop.parquet")
    assert described(folder, BANK + SHOP).data.aligned.dtype.kind == "i"
    shop.loc[len(shop)] = [7, 0.5, 1]
    text = shop["customer"].astype(int).astype(str)
    shop.assign(customer=text.where(text != "7", "K7")).to_parquet(folder / "shop.parquet")
    aligned = described(folder, BANK + SHOP).data.aligned
    assert aligned.dtype.kind == "U" and len(aligned) == 40


@pytest.mark.parametrize("dtype", ["string", "category", "object"])
def test_labels_of_text_with_gaps(folder, dtype):
    labels = pd.Series(["yes", "no", None] * 20).astype(dtype)
    pd.read_csv(folder / "bank.csv").assign(default=labels).to_parquet(folder / "bank.parquet")
    data = described(folder, BANK.replace("csv", "parquet") + SHOP).data
    assert data.classes.tolist() == ["no", "yes"] and len(data.labels) == 40


def test_leading_zeros_of_ids_stay(folder):
    for name in ("left", "right"):
        frame = pd.DataFrame({"customer": [f"{i:04}" for i in range(20)], name: range(20), "y": [0, 1] * 10})
        frame.to_csv(folder / f"{name}.csv", index=False)
    left = '[parties.left]\ndata = "left.csv"\nid = "customer"\nlabel = "y"\n'
    right = '[parties.right]\ndata = "right.csv"\nid = "customer"\ncolumns = ["right"]\n'
    assert described(folder, left + right).data.aligned[0] == "0000"


def test_the_file_itself(folder):
    with pytest.raises(DataError, match=r"none\.toml cannot be opened \(No such file or directory\)\. Check the path"):
        read_description(folder / "none.toml")
    assert re.search(
        r"own\.toml is not valid TOML: .*line 2, column \d+.*Correct that line", refused(folder, "a=1\nb=\n")
    )
    (folder / "latin.toml").write_bytes(b'a = "\xe4"')
    with pytest.raises(DataError, match=r"latin\.toml is not text in UTF-8 .* Save it as UTF-8\."):
        read_description(folder / "latin.toml")


ERRORS = {
    "nothing": ("", r"no party is described\. Add \[parties\.NAME\] with data and id"),
    "unknown section": (
        "[federatoin]\n" + BANK + SHOP,
        r"the file: unknown key 'federatoin'\. Did you mean 'federation'\?",
    ),
    "section as value": ("federation = 3\n" + BANK, r"federation = 3 is no section\. Write \[federation\] on a line"),
    "unknown key": (
        '[federation]\nactiv = "bank"\n' + BANK,
        r"\[federation\]: unknown key 'activ'\. Did you mean 'active'\?",
    ),
    "unknown party key": (
        BANK + 'colums = ["age"]\n',
        r"\[parties\.bank\]: unknown key 'colums'\. Did you mean 'columns'",
    ),
    "task": (
        '[federation]\ntask = "ranking"\n' + BANK,
        r"task must be 'binary' or 'multiclass' or 'regression'\. Got 'ranking'",
    ),
    "metric": ('[federation]\nmetric = "f1"\n' + BANK, r"metric must be 'accuracy' or 'auc' or 'rmse'\. Got 'f1'"),
    "metric and task": (
        '[federation]\nmetric = "rmse"\n' + BANK + SHOP,
        r"metric = 'rmse' does not fit a binary task\. Change",
    ),
    "active unknown": (
        '[federation]\nactive = "bnak"\n' + BANK,
        r"active = 'bnak' is not among the parties\. Did you mean 'bank'",
    ),
    "active without label": (
        '[federation]\nactive = "shop"\n' + BANK + SHOP,
        r"active = 'shop', but the label is at 'bank'\. Make that party active, or leave",
    ),
    "no label": (SHOP, r'no party has a label\. Add label = "COLUMN" to the active party'),
    "two labels": (
        BANK + SHOP + 'label = "visits"\n',
        r"parties 'bank', 'shop' have a label each\. Keep the label of one",
    ),
    "method without name": (BANK + "[method]\nepochs = 3\n", r"\[method\] does not say which method\. Add name"),
    "party as value": ("[parties]\nbank = 3\n", r"parties\.bank = 3 is no section\. Write \[parties\.bank\]"),
    "no data": (
        '[parties.bank]\nid = "customer"\n',
        r"\[parties\.bank\]: data is missing\. Add data = \"…\", the file",
    ),
    "no id": (
        '[parties.bank]\ndata = "bank.csv"\n',
        r"id is missing\. Add id = \"…\", the column that identifies a row",
    ),
    "id no text": ('[parties.bank]\ndata = "bank.csv"\nid = 3\n', r"id = 3 is no text\. Write id = \"…\""),
    "columns no list": (
        BANK + 'columns = "age"\n',
        r"columns = 'age' is no list of names\. Write columns = \[\"…\", \"…\"\]",
    ),
    "id is label": (BANK.replace("default", "customer"), r"'customer' is both id and label\. Name two columns"),
    "label as feature": (BANK + 'columns = ["age", "default"]\n', r"columns holds the label 'default'\. Take it out"),
    "id categorical": (BANK + 'categorical = ["customer"]\n', r"categorical holds the id 'customer'\. Take it out"),
    "column twice": (
        BANK + 'columns = ["age", "age"]\n',
        r"columns names 'age' more than once\. Name each column once",
    ),
    "categorical unused": (
        BANK + 'columns = ["age"]\ncategorical = ["job"]\n',
        r"categorical names 'job', which columns leaves out\. Add it there",
    ),
    "file type": (BANK.replace("csv", "xlsx"), r"bank\.xlsx: unknown type of file\. Use one of \.csv, .*\.parquet"),
    "no file": (
        BANK.replace("bank.csv", "bonk.csv"),
        r"party 'bank', .*bonk\.csv: there is no such file\. Paths are rel",
    ),
    "no id column": (BANK.replace("customer", "custmer"), r"column 'custmer' does not exist\. Did you mean 'customer'"),
    "no label column": (BANK.replace("default", "deflt"), r"column 'deflt' does not exist\. Did you mean 'default'"),
    "no column": (
        BANK + 'columns = ["agee"]\n',
        r"party 'bank', .*bank\.csv: column 'agee' does not exist\. Did you mean",
    ),
    "no categorical column": (BANK + 'categorical = ["jub"]\n', r"column 'jub' does not exist\. Did you mean 'job'"),
    "no feature": (BANK + "columns = []\n", r"no party has a column besides id and label\. Add a party that has some"),
    "no feature, no label": (BANK + SHOP + "columns = []\n", r"party 'shop': the table is empty .*Leave the party out"),
}


@pytest.mark.parametrize(("text", "expected"), ERRORS.values(), ids=ERRORS)
def test_error_texts(folder, text, expected):
    assert re.search(expected, refused(folder, text))


def test_all_problems_at_once(folder):
    text = refused(
        folder, '[federation]\ntask = "x"\n' + BANK.replace("customer", "client") + SHOP.replace("shop.", "s.")
    )
    assert text.startswith(f"{folder / 'own.toml'}: 3 problems.\n  1. [federation]: task must be")
    assert "2. party 'bank'" in text and "column 'client' does not exist" in text and "3. party 'shop'" in text


def test_empty_ids(folder):
    (folder / "bank.csv").write_text("customer,age,default\n1,30,0\n,40,1\n,50,1\n")
    assert "column 'customer' has 2 empty cells. Give each row an id" in refused(folder, BANK + SHOP)


def test_repeated_ids_and_constant_columns(folder):
    (folder / "bank.csv").write_text("customer,age,default\n21,30,0\n21,30,1\n22,30,1\n")
    text = refused(folder, BANK + SHOP)
    assert "party 'bank': 1 ids occur more than once, e.g. 21" in text and "column 'age' has one value" in text
    assert "In the description, columns = […] says which columns are used" in text


def test_rows_longer_than_the_header(folder):
    (folder / "bank.csv").write_text("customer,age,default\n21,30,0,9\n22,31,1,9\n")
    assert re.search(
        r"bank\.csv: it cannot be read \(Length of header .*Check that it is", refused(folder, BANK + SHOP)
    )


@pytest.mark.parametrize("content", [b"", b"customer,age,default\n1,\xff,0\n"])
def test_unreadable_csv(folder, content):
    (folder / "bank.csv").write_bytes(content)
    assert re.search(r"party 'bank', .*bank\.csv: it cannot be read \(.+\)\. Check that", refused(folder, BANK + SHOP))


def test_unreadable_parquet(folder):
    (folder / "shop.parquet").write_bytes(b"no parquet")
    assert re.search(r"party 'shop', .*shop\.parquet: it cannot be read", refused(folder, BANK + SHOP))
