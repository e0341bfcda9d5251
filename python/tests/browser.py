"""A browser for tests: Chromium as the machine has it, and pages that may not speak to strangers."""

import os
import shutil
from contextlib import contextmanager
from urllib.parse import urlparse

import pytest

# Without this variable, a machine without a browser skips the tests.
NO_SKIPS = os.environ.get("MANGROVE_NO_SKIPS")
if NO_SKIPS:
    from playwright.sync_api import expect, sync_playwright
else:
    pytest.importorskip("playwright.sync_api")
    from playwright.sync_api import expect, sync_playwright

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
expect.set_options(timeout=20_000)


@pytest.fixture(scope="module")
def browser():
    """Ends with its module: while Playwright runs, its event loop is the one of this thread, and tests after it could start none."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        (pytest.fail if NO_SKIPS else pytest.skip)(f"no browser: none of {', '.join(BROWSERS)} is on PATH")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield opened
        opened.close()


def new_page(browser, **options):
    """A page without motion: so nothing has to be waited for. It forgets what it kept when it goes somewhere, but not when it
    loads again."""
    page = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce", **options}).new_page()
    page.set_default_timeout(20_000)
    page.add_init_script("""
        if (performance.getEntriesByType("navigation")[0].type !== "reload") {
            localStorage.clear();
            sessionStorage.clear();
        }
    """)
    return page


@contextmanager
def visiting(browser, address, errors_expected=(), **options):
    """The explorer of a server, in a page of its own."""
    page = new_page(browser, **options)
    with watching(page, address, errors_expected):
        page.goto(f"http://{address}/")
        yield page
        page.context.close()


@contextmanager
def visiting_again(page, address):
    """The explorer in a page that was there before. It opens in a fifth of the time."""
    with watching(page, address):
        page.goto(f"http://{address}/")
        yield page


@contextmanager
def watching(page, address, errors_expected=()):
    """Fails if the page reports an error, or asks another origin for something."""
    wrong = []
    watches = {
        "pageerror": lambda error: wrong.append(f"error: {error}"),
        "console": lambda message: message.type == "error" and wrong.append(message.text),
        "request": lambda request: is_strange(request.url, address) and wrong.append(f"a request to {request.url}"),
    }
    for event, watch in watches.items():
        page.on(event, watch)
    yield
    for event, watch in watches.items():
        page.remove_listener(event, watch)
    unexpected = [text for text in wrong if not any(part in text for part in errors_expected)]
    assert not unexpected, unexpected


def is_strange(url, address):
    parsed = urlparse(url)
    return parsed.scheme not in ("blob", "data") and parsed.netloc != address


def run(page, query, button="Run"):
    """Writes a query into the editor and runs it."""
    write(page, query)
    page.get_by_role("button", name=button, exact=True).click()


def write(page, query):
    page.get_by_role("textbox", name="Query").fill(query)


def tab(page, name):
    page.get_by_role("tab", name=name, exact=True).click()


def drawn(page):
    """Waits until the picture shows the last change: it is drawn in the next frame."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def rows(page, region="Results"):
    """The texts of the cells of a table, row by row, without its head."""
    lines = page.get_by_role("region", name=region).locator("tbody tr:not([aria-hidden])")
    return [line.locator("td").all_text_contents() for line in lines.all()]
