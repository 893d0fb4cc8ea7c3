"""Own data, described in a TOML file.

    [federation]
    active = "bank"                  # optional: the party with the label
    task = "binary"                  # optional: inferred from the labels
    metric = "auc"                   # optional: accuracy, auc or rmse
    labels_drawn = "random"          # optional: stratified (each class its share of few labels) or random
    labelled_rows = "aligned"        # optional: any, or aligned (no labels on other rows)
    [parties.bank]
    data = "bank.csv"                # .csv, .csv.gz, .tsv, .tsv.gz or .parquet, relative to the TOML file
    id = "customer"                  # rows of different parties are joined by it
    label = "default"                # at one party; an empty cell is an unlabelled row
    columns = ["age", "job"]         # optional: all others
    group = "household"              # optional, at one party: rows that a split keeps together; no feature
    categorical = ["job"]            # optional: columns of text are categorical anyway
    [parties.shop]
    data = "shop.parquet"
    id = "customer"
    [method]
    name = "splitnn"                 # everything else here is an option of the method

A party with a label and no other column takes part with its labels alone. All that is wrong with a description is
reported in one error.
"""

from __future__ import annotations

import itertools
import tomllib
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colonnade.data.ids import shown
from colonnade.data.labelling import LABELLED_ROWS, LABELS_DRAWN
from colonnade.data.splits import Split, split
from colonnade.data.vertical import VerticalData
from colonnade.errors import DataError, did_you_mean, raise_all

if TYPE_CHECKING:
    import pandas as pd

SECTIONS = ("federation", "parties", "method")
FEDERATION: dict[str, tuple[str, ...]] = {
    "active": (),
    "task": ("binary", "multiclass", "regression"),
    "metric": ("accuracy", "auc", "rmse"),
    "labels_drawn": LABELS_DRAWN,
    "labelled_rows": LABELLED_ROWS,
}
PARTY = ("data", "id", "label", "group", "columns", "categorical")
SEPARATORS = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t"}
KINDS = (*SEPARATORS, ".parquet")

_NUMBER = r"-?[1-9]\d{0,17}|0"  # an id that stays the same when it is read as a number


@dataclass(frozen=True, eq=False)
class Description:
    """What a TOML file describes."""

    path: Path
    data: VerticalData
    metric: str | None
    method: str | None
    options: dict[str, Any]  # of the method
    labels_drawn: str = "stratified"
    labelled_rows: str = "any"

    def split(
        self,
        labels: float | None = None,
        aligned: float = 1.0,
        seed: int = 0,
        *,
        labels_drawn: str | None = None,
        labelled_rows: str | None = None,
    ) -> Split:
        """Training, validation and test rows; see `colonnade.data.splits.split`. None: as the description says."""
        return split(
            self.data, labels=labels, aligned=aligned, seed=seed,
            labels_drawn=labels_drawn or self.labels_drawn, labelled_rows=labelled_rows or self.labelled_rows,
        )  # fmt: skip


@dataclass(frozen=True)
class _Party:
    """The entry of one party, its keys checked, its file not yet read."""

    name: str
    file: Path
    id: str
    label: str | None = None
    columns: list[str] | None = None
    categorical: list[str] = field(default_factory=list)
    group: str | None = None

    @property
    def special(self) -> dict[str, str]:
        """The columns that are no features, by the part that they play."""
        named = {"id": self.id, "label": self.label, "group": self.group}
        return {part: column for part, column in named.items() if column is not None}

    def chosen(self, present: Iterable[str]) -> list[str]:
        """The columns that are used, given those that are present."""
        return [c for c in present if c not in self.special.values()] if self.columns is None else self.columns


@dataclass(frozen=True, eq=False)
class OwnTable:
    """One party's table, by ids that are text."""

    frame: pd.DataFrame
    label: str | None
    categorical: list[str]
    whole: bool  # whether all its ids are whole numbers


def read_description(path: str | Path) -> Description:
    """Read a TOML file and the files that it names; a `DataError` lists all that is wrong with them."""
    path = Path(path)
    content = _toml(path)
    problems: list[str] = []
    _check_keys(content, SECTIONS, "the file", problems)
    federation, entries, method = (_section(content, name, problems) for name in SECTIONS)
    _check_federation(federation, entries, problems)
    _check_method(method, problems)
    parties = [p for name, entry in entries.items() if (p := _party(path.parent, name, entry, problems))]
    frames = {p.name: frame for p in parties if (frame := _table(p, problems)) is not None}
    raise_all(problems, DataError, str(path))
    data = _vertical(path, parties, _joined(frames, parties), federation.get("task"))
    metric = federation.get("metric")
    if metric is not None and (metric == "rmse") != (data.task == "regression"):
        raise DataError(f"{path}: metric = {metric!r} does not fit a {data.task} task. Change metric or set task.")
    draw = {key: federation[key] for key in ("labels_drawn", "labelled_rows") if key in federation}
    return Description(path, data, metric, method.pop("name", None), method, **draw)


def read_method(path: str | Path) -> tuple[str | None, dict[str, Any]]:
    """The method that a TOML file names and its options, without reading the tables."""
    method = dict(_toml(Path(path)).get("method", {}))
    return method.pop("name", None), {key: tuple(v) if isinstance(v, list) else v for key, v in method.items()}


def read_table(folder: Path, name: str, entry: Any, problems: list[str]) -> OwnTable | None:
    """One party's own table, described as under [parties.NAME], for a party that sees no other's."""
    party = _party(folder, name, entry, problems)
    if party is not None and party.group is not None:
        problems.append(
            f"[parties.{name}]: group is read in one process alone. Leave group = {party.group!r} out here."
        )
        return None
    frame = None if party is None else _table(party, problems)
    if party is None or frame is None:
        return None
    ids = frame[party.id].convert_dtypes().astype("string")
    whole = bool(ids.str.fullmatch(_NUMBER).all())
    return OwnTable(frame.drop(columns=party.id).set_axis(ids.astype(object)), party.label, party.categorical, whole)


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file; what is wrong with it is a `DataError`."""
    return _toml(path)


def check_keys(table: Mapping[str, Any], known: Iterable[str], where: str, problems: list[str]) -> None:
    """Append a problem for each key that nothing reads."""
    _check_keys(table, known, where, problems)


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{path} is not valid TOML: {error}. Correct that line; text needs quotation marks.") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not text in UTF-8 ({error.reason}). Save it as UTF-8.") from error
    except OSError as error:
        raise DataError(f"{path} cannot be opened ({error.strerror}). Check the path of the description.") from error


def _check_keys(table: Mapping[str, Any], known: Iterable[str], where: str, problems: list[str]) -> None:
    for key in table:
        if key not in known:
            problems.append(f"{where}: unknown key {key!r}. {did_you_mean(key, known)}")


def _section(content: Mapping[str, Any], name: str, problems: list[str]) -> dict[str, Any]:
    section = content.get(name, {})
    if isinstance(section, dict):
        return dict(section)
    problems.append(f"{name} = {section!r} is no section. Write [{name}] on a line of its own.")
    return {}


def _check_federation(federation: Mapping[str, Any], parties: Mapping[str, Any], problems: list[str]) -> None:
    """Keys and values of [federation], and one party with the label, which is the active one."""
    _check_keys(federation, FEDERATION, "[federation]", problems)
    for key, allowed in FEDERATION.items():
        value = federation.get(key)
        if value is not None and allowed and value not in allowed:
            problems.append(f"[federation]: {key} must be {' or '.join(map(repr, allowed))}. Got {value!r}.")
    if not parties:
        problems.append("no party is described. Add [parties.NAME] with data and id for each party.")
        return
    grouping = [name for name, entry in parties.items() if isinstance(entry, dict) and "group" in entry]
    if len(grouping) > 1:
        problems.append(f"parties {shown(grouping)} have a group each. Keep the group of one.")
    holders = [name for name, entry in parties.items() if isinstance(entry, dict) and "label" in entry]
    active = federation.get("active")
    if active is not None and active not in parties:
        hint = did_you_mean(str(active), parties)
        problems.append(f"[federation]: active = {active!r} is not among the parties. {hint}")
    elif not holders:
        problems.append('no party has a label. Add label = "COLUMN" to the active party.')
    elif len(holders) > 1:
        problems.append(f"parties {shown(holders)} have a label each. Keep the label of one, the active party.")
    elif active is not None and active != holders[0]:
        problems.append(
            f"[federation]: active = {active!r}, but the label is at {holders[0]!r}. Make that party active, or leave "
            f"active out."
        )


def _check_method(method: Mapping[str, Any], problems: list[str]) -> None:
    if method and not isinstance(method.get("name"), str):
        problems.append('[method] does not say which method. Add name = "METHOD" to it.')


def _party(folder: Path, name: str, entry: Any, problems: list[str]) -> _Party | None:
    """The entry with its keys checked; None when the file cannot be told from it."""
    where = f"[parties.{name}]"
    if not isinstance(entry, dict):
        problems.append(f"parties.{name} = {entry!r} is no section. Write {where} and below it data and id.")
        return None
    _check_keys(entry, PARTY, where, problems)
    before = len(problems)
    for key in ("data", "id", "label", "group"):
        value = entry.get(key)
        if value is None and key in ("data", "id"):
            what = "file" if key == "data" else "column that identifies a row"
            problems.append(f'{where}: {key} is missing. Add {key} = "…", the {what}.')
        elif value is not None and (not isinstance(value, str) or not value):
            problems.append(f'{where}: {key} = {value!r} is no text. Write {key} = "…".')
    for key in ("columns", "categorical"):
        value = entry.get(key, [])
        if not isinstance(value, list) or not all(isinstance(column, str) for column in value):
            problems.append(f'{where}: {key} = {value!r} is no list of names. Write {key} = ["…", "…"].')
    if len(problems) > before:
        return None
    columns, categorical = entry.get("columns"), entry.get("categorical", [])
    party = _Party(
        name, folder / entry["data"], entry["id"], entry.get("label"), columns, categorical, entry.get("group")
    )
    _check_columns(party, where, problems)
    return party if len(problems) == before else None


def _check_columns(party: _Party, where: str, problems: list[str]) -> None:
    """A column plays one part only, and categorical columns are used."""
    named = party.columns or []
    special = list(party.special.items())
    for (part, column), (other, same) in itertools.combinations(special, 2):
        if column == same:
            problems.append(f"{where}: {column!r} is both {part} and {other}. Name two columns.")
    for part, column in special:
        if column in named:
            problems.append(f"{where}: columns holds the {part} {column!r}. Take it out, it is no feature.")
        if column in party.categorical:
            problems.append(f"{where}: categorical holds the {part} {column!r}. Take it out, it is no feature.")
    repeated = sorted({c for c in named if named.count(c) > 1})
    if repeated:
        problems.append(f"{where}: columns names {shown(repeated)} more than once. Name each column once.")
    unused = [c for c in party.categorical if c not in named and c not in party.special.values()]
    if party.columns is not None and unused:
        problems.append(f"{where}: categorical names {shown(unused)}, which columns leaves out. Add it there.")


def _table(party: _Party, problems: list[str]) -> pd.DataFrame | None:
    """The party's file with the columns that are used; None when there is a problem."""
    where = f"party {party.name!r}, {party.file}"
    if not party.file.name.lower().endswith(KINDS):
        problems.append(f"{where}: unknown type of file. Use one of {', '.join(KINDS)}.")
        return None
    if not party.file.is_file():
        problems.append(f"{where}: there is no such file. Paths are relative to the TOML file.")
        return None
    try:
        present = _header(party.file)
        wanted = [*party.special.values(), *party.chosen(present)]
        absent = [c for c in dict.fromkeys([*wanted, *party.categorical]) if c not in present]
        for column in absent:
            problems.append(f"{where}: column {column!r} does not exist. {did_you_mean(column, present)}")
        frame = None if absent else _read(party.file, wanted, [party.id, *party.categorical])
    except (OSError, EOFError, ValueError, Warning) as error:
        problems.append(f"{where}: it cannot be read ({str(error).strip()}). Check that it is what its name says.")
        return None
    if frame is not None and (empty := int(frame[party.id].isna().sum())):
        problems.append(f"{where}: column {party.id!r} has {empty} empty cells. Give each row an id or leave it out.")
    return frame


def _separator(file: Path) -> str | None:
    """What stands between the columns of a text file; None for Parquet."""
    return next((s for ending, s in SEPARATORS.items() if file.name.lower().endswith(ending)), None)


def _header(file: Path) -> list[str]:
    """Names of the columns; a row that is longer than the header is an error, not a shift of the columns."""
    import pandas as pd

    separator = _separator(file)
    if separator is None:
        import pyarrow.parquet as pq

        schema = pq.read_schema(file)
        ranges = [i for i in (schema.pandas_metadata or {}).get("index_columns", []) if isinstance(i, dict)]
        names = [*schema.names, *(index["name"] for index in ranges)]  # pandas stores 0, 1, 2, … without a column
        return [name for name in names if name and not name.startswith("__index_level_")]
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        head = pd.read_csv(file, sep=separator, index_col=False, nrows=5, encoding="utf-8-sig")
    return [str(name) for name in head.columns]


def _read(file: Path, columns: list[str], text: list[str]) -> pd.DataFrame:
    """These columns; those in `text` are not read as numbers, so that '007' stays what it is."""
    import pandas as pd

    separator = _separator(file)
    if separator is None:
        import pyarrow.parquet as pq

        stored = set(pq.read_schema(file).names)
        frame = pd.read_parquet(file, columns=[c for c in columns if c in stored])
        return frame.reset_index()[columns] if frame.index.name in columns else frame[columns]
    types: dict[str, Any] = dict.fromkeys(text, "str")
    options: dict[str, Any] = {"index_col": False, "encoding": "utf-8-sig", "low_memory": False}
    rows: pd.DataFrame = pd.read_csv(file, sep=separator, usecols=columns, dtype=types, **options)
    return rows[columns]


def _joined(frames: Mapping[str, pd.DataFrame], parties: Iterable[_Party]) -> dict[str, pd.DataFrame]:
    """The tables indexed by id: whole numbers if all parties' ids are, text at all parties otherwise."""
    ids = {p.name: frames[p.name][p.id].convert_dtypes().astype("string") for p in parties}
    numbers = all(bool(column.str.fullmatch(_NUMBER).all()) for column in ids.values())
    indexes = {name: (column.astype("int64") if numbers else column.astype(object)) for name, column in ids.items()}
    return {p.name: frames[p.name].drop(columns=p.id).set_axis(indexes[p.name].to_numpy()) for p in parties}


def _vertical(path: Path, parties: Iterable[_Party], frames: Mapping[str, pd.DataFrame], task: Any) -> VerticalData:
    views: dict[str, pd.DataFrame] = {}
    categorical: dict[str, list[str]] = {}
    labels, active, groups = None, None, None
    for party in parties:
        frame = frames[party.name]
        if party.group is not None:
            groups = frame[party.group].dropna()
            frame = frame.drop(columns=party.group)
        if party.label is not None:
            active, labels = party.name, frame[party.label].dropna()
            frame = frame.drop(columns=party.label)
        if (party.label is None and party.group is None) or len(frame.columns):
            views[party.name], categorical[party.name] = frame, party.categorical
    if not views:
        raise DataError(f"{path}: no party has a column besides id and label. Add a party that has some.")
    try:
        return VerticalData(
            views, labels, active, task=task, categorical=categorical, join="id", label_only=active not in views,
            groups=groups,
        )  # fmt: skip
    except DataError as error:
        raise DataError(
            f"{path}: {error}\nIn the description, columns = […] says which columns are used, and categorical = […] "
            f"which of them hold categories."
        ) from error
