"""The page in a real browser: plots are drawn, controls work, nothing fails and nothing is blocked."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from colonnade.lab.report import write_report

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
    assert dom.count('class="chart"') == 4 and dom.count('class="pieces"') == 2 and dom.count('class="map"') == 1


def test_switches_setting_and_sorts(comparison, tmp_path):
    driver = """
      const select = document.getElementById("setting");
      select.value = "2"; select.dispatchEvent(new Event("change"));
      const seconds = () => document.querySelectorAll(".sortable thead button")[7];
      seconds().click();
      document.body.dataset.first = document.querySelector(".sortable tbody th").dataset.value;
      seconds().click();
      document.body.dataset.last = document.querySelector(".sortable tbody th").dataset.value;
    """
    dom = dom_of(with_driver(write_report(comparison), driver), tmp_path, "--window-size=1200,900")
    body = body_of(dom)
    assert "data-error" not in body and 'data-first="local"' in body and 'data-last="fedhssl"' in body
    assert '<div data-setting="2">' in dom and '<div data-setting="0" hidden' in dom
    assert 'aria-sort="descending"' in dom


MEASURE = """
  const frame = document.createElement("iframe");
  frame.style = "width:WIDTHpx;height:800px;border:0";
  frame.onload = function () {
    const page = frame.contentDocument, wide = page.documentElement.clientWidth;
    page.querySelectorAll("details").forEach(function (node) { node.open = true; });
    const parts = "h1, p, .tiles > div, .matrix td, .matrix th, .chart text, .legend li";
    const shown = Array.from(page.querySelectorAll(parts));
    const cut = shown.filter(function (node) {
      const box = node.getBoundingClientRect();
      return box.width && (box.right > wide + 1 || box.left < -1);
    });
    document.body.dataset.shown = shown.length;
    document.body.dataset.cut = cut.map((node) => node.textContent).join("|");
    document.body.dataset.wide = page.documentElement.scrollWidth - wide;
  };
  frame.src = "PAGE";
  document.body.append(frame);
"""


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_cut_on_a_telephone_or_a_desk(comparison, tmp_path, width):
    page = write_report(comparison)
    outer = tmp_path / "outer.html"
    script = MEASURE.replace("WIDTH", str(width)).replace("PAGE", page.as_uri())
    outer.write_text(f"<!doctype html><body><script>{script}</script></body>", encoding="utf-8")
    body = body_of(dom_of(outer, tmp_path, "--window-size=1400,900", "--allow-file-access-from-files"))
    assert int(re.search(r'data-shown="(\d+)"', body)[1]) > 100
    assert 'data-cut=""' in body and 'data-wide="0"' in body, body


def test_hostile_names_do_nothing(tmp_path):
    dom = dom_of(write_report(write_comparison(tmp_path / "cells", hostile_records())), tmp_path)
    assert "data-hacked" not in body_of(dom) and "data-error" not in body_of(dom)
    assert not re.search(r"<img|<a [^>]*href|onerror=[^&]*>", re.sub(r'="[^"]*"', "", dom))
    assert dom.count('class="chart"') > 3
