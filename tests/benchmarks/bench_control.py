"""What the control page costs a crawl, and how soon it is painted.

A crawl of two hosts runs as fast as it can while a page is open: processor time of ``serve`` beside that of the crawl,
and the time to the first paint in Chromium.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

SECONDS = 30


def processor_seconds(process: subprocess.Popen[str]) -> float:
    """Processor time that a process has taken, as Linux tells it."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_share_of_the_crawl_and_first_paint(tmp_path, browser):
    job, target = tmp_path / "job", Path(__file__).parent.with_name("control_target.py")
    serve = subprocess.Popen(
        [sys.executable, "-m", "scrapy", "replica", "serve", str(job), "--port", "0"], stdout=subprocess.PIPE, text=True
    )
    browser.get(serve.stdout.readline().strip())
    crawl = subprocess.Popen([sys.executable, str(target), str(job), "0", "5000"], text=True)
    try:
        time.sleep(5)
        begun = processor_seconds(serve), processor_seconds(crawl)
        time.sleep(SECONDS)
        page, fetching = processor_seconds(serve) - begun[0], processor_seconds(crawl) - begun[1]
    finally:
        crawl.kill()
        crawl.communicate()
        serve.send_signal(signal.SIGINT)
        serve.communicate()
    paint = browser.execute_script("return performance.getEntriesByName('first-contentful-paint')[0].startTime")
    print(f"\nserve {page:.2f} s, crawl {fetching:.1f} s: {page / fetching:.1%}; first paint after {paint:.0f} ms")
