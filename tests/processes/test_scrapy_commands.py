"""The commands of Scrapy itself in a project with the line in ``ADDONS``, run as a person runs them."""

from __future__ import annotations

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import forked
import pytest
from web import page

PAGES = {"/": ["/1", "/2"], "/1": ["/2"], "/2": ["/3"], "/3": []}
REACTORLESS = ("-s", "TWISTED_REACTOR_ENABLED=False")

SPIDER = '''
from scrapy import Spider

class Pages(Spider):
    name = "pages"
    start_urls = ["{url}"]

    def parse(self, response):
        """A page.

        @url {url}
        @returns items 1 1
        @returns requests 2 2
        """
        yield {{"url": response.url}}
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link)
'''
SETTINGS = """
BOT_NAME = "project"
SPIDER_MODULES = ["project.spiders"]
NEWSPIDER_MODULE = "project.spiders"
ADDONS = {"scrapy_replica.Addon": 500}
JOBDIR = "job"
"""


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        links = PAGES.get(self.path)
        body = b"" if links is None else page(links, seed=self.path, title=f"Page {self.path}").encode()
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def url():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def project(url, tmp_path):
    """A Scrapy project with one spider of the local web and one JOBDIR."""
    (tmp_path / "project" / "spiders").mkdir(parents=True)
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = project.settings\n")
    for package in ("project", "project/spiders"):
        (tmp_path / package / "__init__.py").touch()
    (tmp_path / "project" / "settings.py").write_text(SETTINGS)
    (tmp_path / "project" / "spiders" / "pages.py").write_text(SPIDER.format(url=url))
    return tmp_path


def scrapy(project, *arguments, fails=False):
    env = {k: v for k, v in os.environ.items() if k != "SCRAPY_SETTINGS_MODULE"} | {"BROWSER": "true"}
    done = forked.run("scrapy", *arguments, cwd=project, env=env)
    assert (done.returncode != 0) is fails, done.stderr
    return done


def crawled(project, *arguments):
    """Return the paths of the items that ``scrapy crawl`` yields."""
    (project / "items.jsonl").unlink(missing_ok=True)
    scrapy(project, "crawl", "pages", "-o", "items.jsonl", *arguments)
    lines = (project / "items.jsonl").read_text().splitlines()
    return sorted("/" + json.loads(line)["url"].partition("//")[2].partition("/")[2] for line in lines)


class TestCommandsThatLookAtPages:
    """None of them knows of the job, and the job does not know of them."""

    def test_before_a_crawl(self, project, url):
        assert "<title>Page /</title>" in scrapy(project, "fetch", url).stdout
        scrapy(project, "view", url)
        parsed = scrapy(project, "parse", "--spider=pages", url, "--nocolour").stdout
        assert f"{{'url': '{url}'}}" in parsed
        assert f"<GET {url}2>" in parsed
        assert "Ran 2 contracts" in scrapy(project, "check").stderr
        assert not (project / "job").exists()
        assert crawled(project) == sorted(PAGES)

    def test_after_a_crawl(self, project, url):
        assert crawled(project, "-s", "CLOSESPIDER_PAGECOUNT=1", "-s", "CONCURRENT_REQUESTS=1") == ["/"]
        before = {path: path.read_bytes() for path in (project / "job").rglob("*") if path.is_file()}
        assert "<title>Page /2</title>" in scrapy(project, "fetch", url + "2").stdout
        assert f"<GET {url}3>" in scrapy(project, "parse", "--spider=pages", url + "2", "--nocolour").stdout
        assert "Page /3" in scrapy(project, "shell", url + "3", "-c", "response.css('title::text').get()").stdout
        assert before == {path: path.read_bytes() for path in (project / "job").rglob("*") if path.is_file()}
        assert crawled(project) == ["/1", "/2", "/3"]

    @pytest.mark.parametrize("options", [(), REACTORLESS], ids=["reactor", "reactorless"])
    def test_shell_fetches_again_and_again(self, project, options):
        (project / "page.html").write_text(page(title="a file"))
        url = (project / "page.html").as_uri()
        code = f"(fetch({url!r}), fetch({url!r}), response.css('title::text').get())"
        assert "(None, None, 'a file')" in scrapy(project, "shell", url, "-c", code, *options).stdout
        assert not (project / "job").exists()


def test_commands_that_crawl_nothing(project):
    assert scrapy(project, "list").stdout == "pages\n"
    assert "Created spider" in scrapy(project, "genspider", "other", "example.org").stdout
    assert scrapy(project, "version").stdout.startswith("Scrapy ")
    assert "project" in scrapy(project, "settings", "--get", "BOT_NAME").stdout
    scrapy(project, "bench", "-s", "CLOSESPIDER_TIMEOUT=1")
    assert not (project / "job").exists()


class TestOneLine:
    """What stops a crawl at its start is told in one line."""

    @pytest.mark.parametrize(
        ("setting", "says"),
        [
            ("REPLICA_MODE=loud", "REPLICA_MODE is 'loud': it takes one of "),
            ("REPLICA_MOD=drop", "REPLICA_MOD is not a setting of scrapy-replica: did you mean REPLICA_MODE?"),
            ("REPLICA_EXPLORE=7", "REPLICA_EXPLORE is 7.0: it must be at most 1"),
            ("REPLICA_TOPIC=nowhere", "REPLICA_TOPIC: nowhere: no such file or folder"),
            ("REPLICA_STRATEGY=worst", "there is no strategy 'worst'; choose one of "),
            ("REPLICA_ALIASES=nowhere", "REPLICA_ALIASES: cannot read nowhere: "),
            ("REPLICA_LEDGER=no/where", "REPLICA_LEDGER: no/where: No such file or directory"),
            ("JOBDIR=scrapy.cfg", "JOBDIR: cannot write to scrapy.cfg: Not a directory"),
            ("JOBDIR=scrapy.cfg/job", "JOBDIR: cannot write to scrapy.cfg/job: Not a directory"),
        ],
    )
    def test_wrong_setting(self, project, setting, says):
        done = scrapy(project, "crawl", "pages", "-L", "WARNING", "-s", setting, fails=True)
        assert done.stderr.count("\n") == 1
        assert says in done.stderr

    @pytest.mark.parametrize("setting", ["REPLICA_MODE=loud", "REPLICA_STRATEGY=worst"])
    def test_without_a_reactor(self, project, setting):
        done = scrapy(project, "crawl", "pages", "-L", "WARNING", "-s", setting, *REACTORLESS, fails=True)
        assert done.stderr.count("\n") == 1
        assert setting.partition("=")[2] in done.stderr

    def test_at_every_log_level(self, project):
        done = scrapy(project, "crawl", "pages", "-L", "DEBUG", "-s", "REPLICA_MODE=loud", fails=True)
        assert "Traceback" not in done.stderr
        assert done.stderr.count("REPLICA_MODE") == 1

    @pytest.mark.parametrize("content", [b"something else", b"SQLite format 3\0" + b"x" * 5000])
    def test_file_that_is_no_crawl_database(self, project, content):
        (project / "job").mkdir()
        (project / "job" / "replica.sqlite").write_bytes(content)
        done = scrapy(project, "crawl", "pages", "-L", "WARNING", fails=True)
        assert done.stderr.count("\n") == 1
        assert "replica.sqlite is not a crawl database" in done.stderr
