#!/usr/bin/env python3
"""Makes the pictures of docs/explorer.md, in docs/explorer/.

    screenshots.py ADDRESS        (of a `mangrove serve` with the air-routes graph that `make demo` loads)

Needs the package `playwright`, and Chromium on PATH.
"""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

OUT = Path(__file__).resolve().parent.parent / "docs" / "explorer"


def main(address):
    OUT.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        light, dark = (visit(browser, address, scheme) for scheme in ("light", "dark"))
        graph(light)
        shot(light, "graph")
        profile(light)
        shot(light, "profile")
        light.get_by_role("tab", name="Schema").click()
        light.wait_for_timeout(1500)
        shot(light, "schema")
        graph(dark)
        ranks(dark)
        shot(dark, "analytics")
        browser.close()


def visit(browser, address, scheme):
    page = browser.new_context(viewport={"width": 1200, "height": 720}, color_scheme=scheme).new_page()
    page.goto(f"http://{address}/")
    return page


def run(page, query, button="Run"):
    page.get_by_role("textbox", name="Query").fill(query)
    page.get_by_role("button", name=button, exact=True).click()


def graph(page):
    """New Zealand and its airports, with one of them selected."""
    run(page, "g.V().has('country', 'code', 'NZ').union(identity(), out('contains'))")
    page.get_by_text("26 vertices").wait_for()
    page.get_by_role("button", name="Layout", exact=True).wait_for()
    page.get_by_label("Find a vertex").fill("AKL")
    page.get_by_label("Find a vertex").press("Enter")
    page.wait_for_timeout(500)
    page.get_by_role("button", name="Fit").click()
    page.wait_for_timeout(1000)


def profile(page):
    query = "g.V().has('airport', 'code', 'AUS').out('route')\n  .where(out('route').count().is(gt(100)))\n  .values('city')"
    run(page, query, "Profile")
    page.get_by_role("treegrid", name="Profile").wait_for()


def ranks(page):
    page.get_by_role("tab", name="Analytics").click()
    page.get_by_role("combobox", name="Algorithm").select_option("pagerank")
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_role("button", name="Show as colour").click()
    page.wait_for_timeout(1000)


def shot(page, name):
    page.mouse.move(0, 0)
    page.screenshot(path=OUT / f"{name}.png")


if __name__ == "__main__":
    main(sys.argv[1])
