"""One self-contained HTML page for a run or a comparison, and the summary behind it."""

from colonnade.lab.report.page import render, write_report
from colonnade.lab.report.records import read_records
from colonnade.lab.report.summary import Row, best_first, higher_is_better, summarise

__all__ = ["Row", "best_first", "higher_is_better", "read_records", "render", "summarise", "write_report"]
