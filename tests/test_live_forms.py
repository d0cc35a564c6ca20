from __future__ import annotations

import json
import warnings

import pytest
from command_line import replica
from lxml import html
from scrapy import FormRequest, Request, Spider
from web import REPLICA, crawl, page, redirect, text

from scrapy_replica import page_of
from scrapy_replica.crawl.pages.search_forms import MAX_FORMS_OF_SITE, Forms
from scrapy_replica.crawldb.sqlite.database import SqliteCrawlDB
from scrapy_replica.pages.hidden_web import hidden_web_text
from scrapy_replica.records import Form, FormField

HOST = "council.example"
SEARCH = """<html><title>Search</title><body><h1>Applications</h1><form action=/find method=post>
<label for=s>Street name</label><input id=s name=street><label>Suburb <input name=suburb></label>
<select name=kind><option>Dwelling<option>Carport</select><input type=hidden name=__VIEWSTATE value=dDwtMTQx>
<input type=submit name=go value=Search></form>
<form action=/quick>Number <input name=number></form>
<form action=/in method=post>User <input name=user> Password <input type=password name=word></form></body></html>"""
MENU = "".join(f"<li><a href=/m{n}>{word}</a></li>" for n, word in enumerate(text("menu", 12).split()))
RECORDS = "".join(
    f"<tr class=row><td class=ref><a href=/a/{n}>DA{n}/2019</a></td><td class=desc>{text(n, 12)}</td>"
    f"<td class=addr>{n} Oak Street, Bay</td><td>0{n}/03/2019</td></tr>"
    for n in range(1, 9)
)
RESULTS = f"""<html><title>Results</title><body><div class=menu><ul>{MENU}</ul></div>
<div class=main><table class=grid><tr><th>Reference<th>Description<th>Address<th>Lodged</tr>{RECORDS}</table></div>
<div class=footer><p>Copyright of the council</p></div></body></html>"""


class Searches(Spider):
    name = "searches"
    start_urls = (f"http://{HOST}/",)

    def parse(self, response):
        data = {"street": "Oak", "suburb": "Bay"}
        with warnings.catch_warnings():  # Scrapy is about to give it up; spiders use it all the same
            warnings.simplefilter("ignore")
            filled = FormRequest.from_response(response, formdata=data, callback=self.found, cb_kwargs={"how": "post"})
        yield filled
        moved = {"street": "Elm"}
        yield FormRequest(f"http://{HOST}/moved", formdata=moved, callback=self.found, cb_kwargs={"how": "moved"})
        yield Request(f"http://{HOST}/quick?number=77&x=", self.found, cb_kwargs={"how": "get"})
        yield Request(f"http://{HOST}/plain", self.found, cb_kwargs={"how": "link"})
        login = {"user": "maria", "word": "hunter2"}
        yield FormRequest(f"http://{HOST}/in", formdata=login, callback=self.found, cb_kwargs={"how": "login"})

    def found(self, response, how):
        yield {"how": how, "text": page_of(response).page.text, "is_form": "replica_form" in response.meta}
        if how == "post":
            yield Request(f"http://{HOST}/next", self.found, meta=response.meta, cb_kwargs={"how": "next"})


def web(request):
    path = request.url.removeprefix(f"http://{HOST}")
    if path == "/moved":
        return redirect(f"http://{HOST}/results")
    return {"/": SEARCH, "/in": page(seed="in")}.get(path, RESULTS)


async def searched(job):
    result = await crawl(Searches, web, REPLICA | {"JOBDIR": str(job)})
    return result, {item["how"]: item for item in result.items}


def told(*arguments):
    done = replica("explain", HOST, *arguments)
    assert done.code == 0
    return done.out


class TestCrawl:
    pytestmark = pytest.mark.asyncio

    async def test_pages_that_a_form_returned_are_known_by_body_redirect_and_parameters(self, tmp_path):
        result, items = await searched(tmp_path)
        assert {how: item["is_form"] for how, item in items.items()} == {
            "post": True, "moved": True, "get": True, "link": False, "login": False, "next": False,
        }  # fmt: skip
        assert result.stats["replica/form/pages"] == 3
        assert result.stats["replica/form/found"] == 3

    async def test_their_main_text_is_what_the_tree_calls_content(self, tmp_path):
        _, items = await searched(tmp_path)
        expected = hidden_web_text(html.document_fromstring(RESULTS), {"oak", "street", "bay"})
        assert items["post"]["text"] == items["moved"]["text"] == expected
        assert "DA3/2019" in expected
        assert "Copyright" not in expected

    async def test_the_domain_query_holds_labels_and_what_was_sent_but_no_secret(self, tmp_path):
        await searched(tmp_path)
        site = json.loads(told("--job", tmp_path, "--json"))
        assert len(site["forms"]) == 3
        assert site["host"] == HOST
        assert {"street", "name", "suburb", "kind", "number", "oak", "bay", "elm", "77"} <= set(site["query"])
        assert not {"maria", "hunter2", "user", "ddwtmtqx", "search", "carport"} & set(site["query"])
        labels = {field["name"]: field["label"] for form in site["forms"] for field in form["fields"]}
        assert labels["street"] == "Street name"
        assert labels["number"] == "Number"
        assert [form["is_login"] for form in site["forms"]] == [False, False, True]

    async def test_the_command_tells_a_person(self, tmp_path):
        await searched(tmp_path)
        out = told("--job", tmp_path)
        assert f"  post http://{HOST}/find\n    street (Street name)\n" in out
        assert "    kind (Street name): Dwelling, Carport\n" in out
        assert "(a login)" in out
        assert "  terms sent to them: 77 bay " in out

    async def test_without_noise_removal_the_whole_page_is_kept(self):
        result = await crawl(Searches, web, REPLICA | {"REPLICA_NOISE": "none"})
        assert all("Copyright" in item["text"] for item in result.items if item["how"] != "login")


def search_form(name="q", *, is_login=False, method="get", label="Word"):
    return Form(f"http://{HOST}/find", method, (FormField(name, label, ()),), is_login)


class TestForms:
    def forms(self, db):
        return Forms(db.forms)

    @pytest.fixture
    def db(self):
        db = SqliteCrawlDB(None)
        yield db
        db.close()

    def test_a_form_is_taken_once_and_a_site_holds_so_many(self, db):
        forms = self.forms(db)
        assert forms.add([search_form()]) == 1
        assert forms.add([search_form()]) == 0
        assert forms.add(search_form(f"q{n}") for n in range(2 * MAX_FORMS_OF_SITE)) == MAX_FORMS_OF_SITE - 1
        assert len(db.forms.of_host(HOST)) == MAX_FORMS_OF_SITE

    def test_is_read_again_from_the_database(self, db):
        first = self.forms(db)
        first.add([search_form()])
        first.sent(f"http://{HOST}/find?q=oak&page=2")
        second = self.forms(db)
        assert set(second.query(HOST).terms) == {"q", "word", "oak"}
        assert second.sent(f"http://{HOST}/find?q=elm")
        assert second.add([search_form()]) == 0

    def test_parameters_that_no_form_asks_for_are_no_search(self, db):
        forms = self.forms(db)
        forms.add([search_form(), Form(f"http://{HOST}/list", "get", (FormField("sort", "", ("Up", "Down")),), False)])
        assert not forms.sent(f"http://{HOST}/other?q=oak")
        assert not forms.sent(f"http://{HOST}/find?page=2")
        assert not forms.sent(f"http://{HOST}/list?sort=Up")
        assert "oak" not in forms.query(HOST).terms

    @pytest.mark.parametrize(
        "body", ["user=maria&password=hunter2", "login=maria&pwd=x", "utilizador=maria&senha=x", "mail=maria@a.example"]
    )
    def test_what_is_sent_to_a_login_leaves_no_trace(self, db, body):
        forms = self.forms(db)
        forms.add([search_form("mail", is_login=True, method="post")])
        assert not forms.sent(f"http://{HOST}/in", body)
        assert list(forms.query(HOST).terms) == []

    def test_passengers_are_no_password(self, db):
        assert self.forms(db).sent(f"http://{HOST}/flights", "passengers=2&to=Lisboa")

    def test_of_a_form_never_seen_state_and_tokens_are_left_out(self, db):
        forms = self.forms(db)
        assert forms.sent(f"http://{HOST}/x", f"__VIEWSTATE=abc&csrf_token=def&q=oak&blob={'z ' * 500}")
        assert set(forms.query(HOST).terms) == {"q", "oak"}

    @pytest.mark.parametrize("url", ["", "http://[", "http://a.example:x/?q=1", "data:text/html,x?y=1"])
    def test_a_bad_url_is_sent_to_no_form(self, db, url):
        assert not self.forms(db).sent(url)
