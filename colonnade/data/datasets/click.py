"""Clicks and ratings: advertising and films. Row numbers are the ids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from colonnade.data.datasets.columns import numeric
from colonnade.data.datasets.dataset import Dataset
from colonnade.data.vertical import VerticalData
from colonnade.data.view import View

_SITE_APP = ["banner_pos", "site_id", "site_domain", "site_category", "app_id", "app_domain", "app_category"]
_DEVICE = ["C1", "device_id", "device_ip", "device_model", "device_type", "device_conn_type"]
_CONTEXT = [f"C{i}" for i in range(14, 22)]
_USER = ["gender", "age", "occupation", "zip"]  # all four are codes, the age a bracket


def read_criteo(parties: int, path: Path) -> VerticalData:
    """20,000 advertisements; parties categorical (26 columns, active) and numeric (13). Criteo Labs."""
    import pandas as pd

    with np.load(path) as z:
        codes = pd.DataFrame(z["cat"], columns=[f"C{i}" for i in range(1, 27)])
        numbers = numeric(z["num"], prefix="I")
        y = z["y"].astype(np.int64)
    codes = codes.loc[:, codes.nunique() > 1]
    categorical = {"categorical": [str(c) for c in codes.columns]}
    return VerticalData({"categorical": codes, "numeric": numbers}, y, categorical=categorical, join="position")


def read_avazu(parties: int, path: Path) -> VerticalData:
    """8,999 advertisements of one hour; parties site_app (7 columns, active) and device (14). Avazu.

    With three parties, the eight anonymous fields of the device's are a party of their own, context.
    Everything is categorical. The impression's id and the hour, which is the same in all rows, are left out.
    """
    import pandas as pd

    frame = pd.read_csv(path, dtype={"id": str})
    shares = {"site_app": _SITE_APP, "device": _DEVICE + _CONTEXT}
    if parties == 3:
        shares |= {"device": _DEVICE, "context": _CONTEXT}
    views = {name: frame[columns] for name, columns in shares.items()}
    return VerticalData(views, frame["click"].to_numpy(), categorical=shares, join="position")


def read_movielens1m(parties: int, ratings: Path, users: Path, movies: Path) -> VerticalData:
    """1,000,209 ratings; parties users (4 categorical columns, active) and movies (18 genres, year). GroupLens.

    The rating r becomes the target (r - 1) / 4. Of the zip code the first digit is kept; who rated and what was rated
    is no column.
    """
    import pandas as pd

    rating = pd.read_csv(ratings, dtype={"user": np.int32, "movie": np.int32, "rating": np.int8})
    options: dict[str, Any] = {"sep": "::", "engine": "python", "encoding": "latin1", "header": None}
    people = pd.read_csv(users, names=["user", *_USER], dtype={"zip": str}, **options)
    films = pd.read_csv(movies, names=["movie", "title", "genres"], **options)
    views = {
        "users": _users(people, pd.Index(people["user"]).get_indexer(rating["user"])),
        "movies": _movies(films, pd.Index(films["movie"]).get_indexer(rating["movie"])),
    }
    target = (rating["rating"].to_numpy(dtype=np.float64) - 1) / 4
    return VerticalData(views, target, task="regression")


def _users(people: Any, at: npt.NDArray[np.intp]) -> View:
    """Codes of the users at positions `at`; they are made once per user, then gathered per rating."""
    people = people.assign(zip=people["zip"].str[0])
    coded = [np.unique(people[name].to_numpy().astype(str), return_inverse=True) for name in _USER]
    codes = np.stack([inverse for _, inverse in coded], axis=1).astype(np.int32)  # (users, 4)
    return View(
        ids=np.arange(len(at)),
        x=np.zeros((len(at), 0), dtype=np.float32),
        columns=(),
        codes=codes[at],
        fields=tuple(_USER),
        vocabularies=tuple(tuple(values.tolist()) for values, _ in coded),
    )


def _movies(films: Any, at: npt.NDArray[np.intp]) -> View:
    """Genres (0 or 1) and release year of the films at positions `at`."""
    genres = films["genres"].str.get_dummies("|")  # (films, 18)
    year = films["title"].str.extract(r"\((\d{4})\)\s*$")[0].astype(np.float32)
    table = np.column_stack([genres.to_numpy(dtype=np.float32), year.to_numpy()])
    return numeric(table[at], [*(str(c) for c in genres.columns), "year"])


CRITEO = Dataset(
    name="criteo",
    title="clicks on advertisements (Criteo), 20,000 encoded rows",
    parties="categorical: 26 fields, active; numeric: 13 counts",
    task="binary",
    metric="auc",
    source="Criteo Display Advertising Challenge (Criteo Labs, Kaggle); 20,000 rows as arrays num, cat, y",
    terms="non-commercial research, share-alike; not to be passed on",
    read=read_criteo,
    files=("criteo_sample/criteo20k_encoded.npz",),
    party_numbers=(2,),
)

AVAZU = Dataset(
    name="avazu",
    title="clicks on mobile advertisements (Avazu), one hour",
    parties="site_app: where the advertisement was shown, active; device: who saw it, and anonymous fields "
    "(with 3 parties those are context's)",
    task="binary",
    metric="auc",
    source="Avazu Click-Through Rate Prediction (Kaggle): 8,999 consecutive rows of the training file's first hour",
    terms="bound to the rules of the competition; not to be passed on",
    read=read_avazu,
    files=("avazu_sample/avazu_sample.csv.gz",),
    party_numbers=(2, 3),
)

MOVIELENS1M = Dataset(
    name="movielens1m",
    title="ratings of films, 1 to 5 stars as 0 to 1",
    parties="users: gender, age bracket, occupation, region, active; movies: 18 genres and the year",
    task="regression",
    metric="rmse",
    source="GroupLens MovieLens 1M (Harper, Konstan 2015): users.dat, movies.dat, ratings as user, movie, rating",
    terms="research use; no redistribution, no commercial use without permission of GroupLens",
    read=read_movielens1m,
    files=("movielens1m/ratings.csv.gz", "movielens1m/users.dat.gz", "movielens1m/movies.dat.gz"),
    party_numbers=(2,),
)
