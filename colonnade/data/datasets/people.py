"""Tables about people: credit and income. Row numbers are the ids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from colonnade.data.datasets.columns import apart
from colonnade.data.datasets.dataset import Dataset
from colonnade.data.vertical import VerticalData

_ADULT = ["age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship"]
_ADULT += ["race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income"]
_WORK = ["workclass", "occupation", "capital-gain", "capital-loss", "hours-per-week"]
_ADULT_CATEGORIES = {
    "person": ["education", "marital-status", "relationship", "race", "sex", "native-country"],
    "work": ["workclass", "occupation"],
}


def read_credit_default(parties: int, path: Path) -> VerticalData:
    """30,000 clients; parties profile (limit, sex, education, marriage, age) and payments (18 columns). UCI 350."""
    import pandas as pd

    frame = pd.read_csv(path).drop(columns="ID")
    y = frame.pop("default.payment.next.month").to_numpy()
    profile = ["LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE"]
    views = {"profile": frame[profile], "payments": frame.drop(columns=profile)}
    return VerticalData(views, y, categorical={"profile": ["SEX", "EDUCATION", "MARRIAGE"]}, join="position")


def read_adult(parties: int, train: Path, test: Path) -> tuple[VerticalData, VerticalData]:
    """32,561 people and 16,281 official test rows; parties person (9 columns) and work (5). UCI 2."""
    import pandas as pd

    options: dict[str, Any] = {"names": _ADULT, "skipinitialspace": True, "na_values": "?"}
    first = pd.read_csv(train, **options)
    frame = pd.concat([first, pd.read_csv(test, skiprows=1, **options)], ignore_index=True)
    y = frame["income"].str.startswith(">50K").to_numpy(dtype=np.int64)  # the test file ends its labels with a point
    views = {"person": frame.drop(columns=["income", *_WORK]), "work": frame[_WORK]}
    return apart(VerticalData(views, y, categorical=_ADULT_CATEGORIES, join="position"), len(first))


CREDIT_DEFAULT = Dataset(
    name="credit_default",
    title="clients of a Taiwanese bank who do not pay their credit card next month",
    parties="profile: credit limit and demographics; payments: status, bills and payments of six months",
    task="binary",
    metric="auc",
    source="UCI 350, Default of Credit Card Clients (Yeh, Lien 2009), as UCI_Credit_Card.csv",
    terms="CC BY 4.0",
    read=read_credit_default,
    files=("credit_default/UCI_Credit_Card.csv.gz",),
    party_numbers=(2,),
)

ADULT = Dataset(
    name="adult",
    title="people who earn more than 50,000 dollars a year",
    parties="person: age, schooling, family, origin; work: occupation, hours, capital gains and losses",
    task="binary",
    metric="auc",
    source="UCI 2, Adult (Census Income): adult.data and adult.test",
    terms="CC BY 4.0",
    read=read_adult,
    files=("adult/adult.data.gz", "adult/adult.test.gz"),
    party_numbers=(2,),
)
