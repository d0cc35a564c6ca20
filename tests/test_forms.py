from __future__ import annotations

import time

from lxml import html

from scrapy_replica.pages.forms import (
    MAX_FIELDS,
    MAX_FORMS,
    MAX_TERMS,
    DomainQuery,
    form_fields,
    page_forms,
    sent_fields,
)
from scrapy_replica.pages.links import Base


def fields_of(markup: str):
    return {field.name: field.label for field in form_fields(html.document_fromstring(markup))}


class TestFormFields:
    def test_label_by_for_then_around_then_attribute_then_text_before(self):
        assert fields_of(
            "<form><label for=i>Street <b>name</b></label><input name=a id=i><label>Suburb <input name=b></label>"
            "<input name=c placeholder=Postcode><p>Date from:</p><input name=d><td>Council</td><select name=e>"
            "<option>One</select></form>"
        ) == {"a": "Street name", "b": "Suburb", "c": "Postcode", "d": "Date from:", "e": "Council"}

    def test_hidden_and_unnamed_fields_are_left_out(self):
        assert fields_of("<form>x<input type=hidden name=state value=1><input value=2></form>") == {}

    def test_values_of_text_fields_and_choices(self):
        fields = form_fields(
            html.document_fromstring("<form>x<input name=q value=oak><select name=s><option>A<option>B")
        )
        assert [field.values for field in fields] == [("oak",), ("A", "B")]

    def test_the_label_of_a_table_layout_is_in_the_cell_before(self):
        assert fields_of(
            "<form><table><tr><td>Council<td><select name=a><option>One</select><tr><th><b>Lodged</b> from<td>"
            "<span><input name=b></span> to <input name=c></table></form>"
        ) == {"a": "Council", "b": "Lodged from", "c": "to"}

    def test_choices_and_scripts_beside_a_field_are_no_label(self):
        assert fields_of("<form>Sort <select name=a><option>Up</select><script>f()</script><input name=b></form>") == {
            "a": "Sort",
            "b": "Sort",
        }


class TestPageForms:
    def forms(self, markup):
        return page_forms(html.document_fromstring(markup), Base("http://a.example/x/").absolute)

    def test_action_method_and_fields(self):
        (get, post) = self.forms(
            "<form action='/find?lang=en'>Word <input name=q></form><form method=POST><textarea name=t></textarea>"
        )
        assert (get.action, get.method, get.fields[0].label) == ("http://a.example/find?lang=en", "get", "Word")
        assert (post.action, post.method, post.is_login) == ("http://a.example/x/", "post", False)

    def test_without_a_field_or_a_url_there_is_none(self):
        assert (
            self.forms("<form><input type=submit></form><form action='mailto:a@a.example'><input name=q></form>") == ()
        )

    def test_a_password_makes_a_login(self):
        (login,) = self.forms("<form><input name=user><input type=PASSWORD name=p></form>")
        assert login.is_login

    def test_a_hostile_page_is_bounded_in_forms_fields_and_time(self):
        field = "<input name=n{}>"
        many = "".join(f"<form>{''.join(field.format(n) for n in range(300))}</form>" for _ in range(100))
        nested = "<div>" * 20_000 + "<form>" + "<label>" * 5_000 + many
        start = time.process_time()
        forms = self.forms(nested)
        assert time.process_time() - start < 5
        assert len(forms) <= MAX_FORMS
        assert all(len(form.fields) <= MAX_FIELDS for form in forms)


class TestDomainQuery:
    def test_takes_parameters_of_urls_and_bodies_case_folded_once(self):
        query = DomainQuery()
        url = "http://www.drinkgenius.com/search.php?item_name=Chocolate&description=cherry"
        query.add(text for pair in sent_fields(url, "item_name=CHOCOLATE&taste=very+sweet") for text in pair)
        assert list(query.terms) == ["item", "name", "chocolate", "description", "cherry", "taste", "very", "sweet"]

    def test_a_bad_url_sends_nothing(self):
        assert sent_fields("http://[broken?x=y") == []

    def test_adding_returns_what_is_new(self):
        query = DomainQuery()
        assert query.add(["Oak tree"]) == ["oak", "tree"]
        assert query.add(["oak leaf", "x" * 41]) == ["leaf"]

    def test_is_bounded(self):
        query = DomainQuery()
        query.add(f"t{number}" for number in range(2 * MAX_TERMS))
        assert len(query.terms) == MAX_TERMS

    def test_a_list_of_choices_adds_its_label_only(self):
        query = DomainQuery()
        query.add_fields(
            form_fields(html.document_fromstring("<form>Kind<select name=k><option>Oak<option>Ash</select>"))
        )
        assert list(query.terms) == ["k", "kind"]
