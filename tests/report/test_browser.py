"""The page in a real browser: plots are drawn, controls work, nothing fails and nothing is blocked."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from colonnade.report import write_report

from .conftest import make_record, write_comparison, write_run
from .test_page import hostile_records

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium, chromium-browser or google-chrome on PATH"),
]
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--virtual-time-budget=10000",
]


def dom_of(page: Path, tmp_path: Path, *more: str) -> str:
    """The document after its scripts have run, without what the scripts themselves say."""
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", *more, "--dump-dom", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return re.sub(r"<script.*?</script>", "", done.stdout, flags=re.S)


def body_of(dom: str) -> str:
    return re.search(r"<body[^>]*>", dom)[0]


def with_driver(page: Path, script: str) -> Path:
    """A copy of the page in which `script` acts as the reader."""
    driven = page.with_name("driven.html")
    text = page.read_text(encoding="utf-8")
    driven.write_text(text.replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8")
    return driven


def test_draws_a_run(tmp_path):
    dom = dom_of(write_report(write_run(tmp_path / "run", make_record("fedhssl"))), tmp_path)
    assert "data-error" not in body_of(dom)
    drawn = dom.count('data-drawn="yes"')
    assert drawn == dom.count('role="img"') == 7  # validation twice, loss twice, traffic twice, map
    assert dom.count('class="main-svg"') >= drawn and dom.count('class="trace ') + dom.count('class="trace"') >= drawn


def test_draws_a_comparison_switches_setting_and_sorts(comparison, tmp_path):
    driver = """
      const select = document.getElementById("setting");
      select.value = "2"; select.dispatchEvent(new Event("change"));
      document.querySelectorAll("thead button")[5].click();
      document.body.dataset.first = document.querySelector("tbody th").dataset.value;
      document.querySelectorAll("thead button")[5].click();
      document.body.dataset.last = document.querySelector("tbody th").dataset.value;
      const widths = () => Array.from(document.querySelectorAll("svg.main-svg"), (drawn) => drawn.clientWidth);
      setTimeout(function () {
        document.body.dataset.wide = document.documentElement.scrollWidth > window.innerWidth ? "too wide" : "fits";
        window.dispatchEvent(new Event("beforeprint"));
        setTimeout(function () {
          document.body.dataset.print = Math.max(...widths());
          window.dispatchEvent(new Event("afterprint"));
          setTimeout(function () { document.body.dataset.after = Math.max(...widths()); }, 500);
        }, 500);
      }, 500);
    """
    dom = dom_of(with_driver(write_report(comparison), driver), tmp_path, "--window-size=1200,900")
    body = body_of(dom)
    assert "data-error" not in body
    assert 'data-first="local"' in body and 'data-last="splitnn"' in body and 'data-wide="fits"' in body
    assert 'data-print="680"' in body and 'data-after="680"' not in body
    assert re.search(r'<div data-setting="2">.{0,400}data-plot', dom, re.S) and '<div data-setting="0" hidden' in dom
    shown = dom[dom.index('<div data-setting="2">') : dom.index("<h2>Configuration")]
    assert shown.count('data-drawn="yes"') == shown.count('role="img"') > 5
    assert 'aria-sort="descending"' in dom


def test_hostile_names_do_nothing(tmp_path):
    dom = dom_of(write_report(write_comparison(tmp_path / "cells", hostile_records())), tmp_path)
    assert "data-hacked" not in body_of(dom) and "data-error" not in body_of(dom)
    assert not re.search(r"<img|<a [^>]*href|onerror=[^&]*>", re.sub(r'="[^"]*"', "", dom))
    assert dom.count('data-drawn="yes"') == dom.count('role="img"') > 3
