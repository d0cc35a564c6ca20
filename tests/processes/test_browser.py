"""The control page and the report, as a person sees them in a browser."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_report import store, written  # noqa: F401 - fixtures
from test_status import NOW, enter, save

from scrapy_replica.commands.job import reading
from scrapy_replica.crawldb.contract import State
from scrapy_replica.crawldb.pages import Fetched
from scrapy_replica.records import Verdict
from scrapy_replica.report.figures import HOSTS, figures
from scrapy_replica.report.sections import update


def waiting(job, host):
    with contextlib.suppress(ValueError), reading(str(job)) as reader:  # not made yet
        found = reader.host(host)
        return found.urls.get(State.WAITING, 0) if found is not None else 0
    return 0


def wait_until(holds, seconds=120.0):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def running(tmp_path):
    """A running crawl and its control page: (job, address of the page, process that serves it)."""
    job = tmp_path / "job"
    target = Path(__file__).parents[1] / "control_target.py"
    crawl = subprocess.Popen([sys.executable, str(target), str(job)])
    serve = subprocess.Popen(
        [sys.executable, "-m", "scrapy", "replica", "serve", str(job), "--port", "0"], stdout=subprocess.PIPE, text=True
    )
    try:
        yield job, serve.stdout.readline().strip(), serve
    finally:
        crawl.kill()
        serve.kill()
        crawl.communicate()
        serve.communicate()


def test_a_person_decides_a_pair_and_the_running_crawl_obeys(running, browser):
    job, address, serve = running
    browser.get(address)
    wait_until(lambda: browser.find_elements("css selector", "[data-act=same]"))
    text = browser.find_element("id", "decide").text
    assert "a.example the same site as" in text or "b.example the same site as" in text
    assert "<img src=x onerror" in text
    assert browser.find_elements("tag name", "img") == []
    copy = browser.find_element("css selector", ".question b").text
    assert waiting(job, copy) > 100
    browser.find_element("css selector", "[data-act=same]").click()
    clicked = time.monotonic()
    wait_until(lambda: waiting(job, copy) == 0)
    assert time.monotonic() - clicked < 5
    wait_until(lambda: f"scrapy replica steer block {copy} --as" in browser.find_element("id", "orders").text)
    wait_until(lambda: copy in browser.find_element("id", "copies-rows").text)
    assert "No pair of hosts is uncertain" in browser.find_element("id", "decide").text
    wait_until(lambda: browser.find_elements("css selector", "#chart-course svg"))
    # The judge may have found another by now.
    wait_until(lambda: re.search(r"hosts? (was|were) found to be", browser.find_element("id", "report").text))
    assert browser.find_elements("tag name", "img") == []
    assert "broken" not in browser.title
    assert [line for line in browser.get_log("browser") if line["level"] == "SEVERE"] == []
    serve.send_signal(signal.SIGINT)
    assert serve.wait(5) == 130


def test_the_report(store, written, browser, tmp_path):  # noqa: F811 - fixtures
    """It draws under its own policy, its slider moves by keyboard, new figures come in, and it fits a phone."""
    keys = pytest.importorskip("selenium.webdriver").Keys
    for n in range(6):
        enter(store, f"http://a.example/{'long' * n}/{n}", "a.example", score=n / 10)
    save(store, 3)
    store.verdicts.enter(Verdict("b.example", "a.example", "", "", 0.9, 9, is_manual=True), NOW, NOW * 2)
    written()
    browser.get((tmp_path / "report.html").as_uri())
    charts = browser.find_elements("class name", "chart")
    wait_until(lambda: all(chart.find_elements("tag name", "svg") for chart in charts))
    assert len(charts) == 5  # directories of one host among them
    browser.find_element("id", "course-at").send_keys(keys.ARROW_LEFT)
    told = browser.find_element("tag name", "output")
    assert told.text == "After 9 URLs: 6 new pages, 1 repeats"
    browser.find_element("css selector", "#section-course summary").click()
    store.pages.enter(Fetched(enter(store, "http://a.example/new", "a.example"), NOW, 200, novelty="novel"))
    store.commit()
    with reading(tmp_path / "job") as job:
        browser.execute_script(
            "return replicaReport.update(arguments[0])", update(figures(job, job.status(NOW, HOSTS)))
        )
    told = browser.find_element("tag name", "output")
    assert told.text == "After 9 URLs: 6 new pages, 1 repeats"
    assert browser.find_element("css selector", "#section-course details").get_attribute("open")
    browser.find_element("id", "course-at").send_keys(keys.END)
    assert told.text == "After 11 URLs: 7 new pages, 1 repeats"
    phone = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    assert browser.execute_script("return document.documentElement.scrollWidth") == 390
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert browser.get_log("browser") == []
