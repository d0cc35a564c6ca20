from __future__ import annotations

from lxml import html

from scrapy_replica.pages.forms import MAX_TERMS, DomainQuery, form_fields


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


class TestDomainQuery:
    def test_takes_parameters_of_urls_and_bodies_case_folded_once(self):
        query = DomainQuery()
        query.add_url("http://www.drinkgenius.com/search.php?item_name=Chocolate&description=cherry")
        query.add_encoded("item_name=CHOCOLATE&taste=very+sweet")
        assert list(query.terms) == ["item", "name", "chocolate", "description", "cherry", "taste", "very", "sweet"]

    def test_a_bad_url_adds_nothing(self):
        query = DomainQuery()
        query.add_url("http://[broken?x=y")
        assert not query.terms

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
