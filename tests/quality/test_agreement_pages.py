"""The pages about agreement: what they show to whom, where they lead, their files, and how many queries they take."""

import csv
import html
import io
import re

import pytest
from django.urls import reverse

from annotation_service.models import Job
from quality.agreement import make_report
from quality.models import AgreementReport
from tests import factories
from tests.quality.conftest import label, say
from tests.queries import queries_of

PAGES = ("", "labels/", "confusion/", "weeks/")


@pytest.fixture
def marked(project, items, carol, dave, erin):
    first, second, _ = items
    say(first, carol, "Thermostat 0", "State 2")
    say(first, dave, "SensingObject 0", "State 1-2")
    say(second, carol, "Thermostat 1-3", "State 4-5", "hasPart: State 4-5 > Thermostat 1-3")
    say(second, dave, "Thermostat 1-3", "State 4-5", "hasPart: State 4-5 > Thermostat 1-3", "Activity 0")
    say(second, erin, "State 4-5", "hasPart: State 4-5 > Thermostat 1-3")
    return project


def get(client, project, page="", **query):
    return client.get(f"/projects/{project.pk}/agreement/{page}", query)


def text(response):
    assert response.status_code == 200, response.status_code
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", response.content.decode())))


def links(response):
    return [html.unescape(link) for link in re.findall(r'href="([^"]*)"', response.getvalue().decode())]


def test_a_small_project_is_counted_when_somebody_looks(marked, items, as_alice, dave):
    assert "2 items were done by several people." in text(get(as_alice, marked))
    assert "carol dave 2 0.40 0.50 0.44" in text(get(as_alice, marked))
    say(items[0], dave, "Thermostat 0", "State 2")
    assert "carol dave 2 0.80 1.00 0.89" in text(get(as_alice, marked))
    assert "carol dave 2 1.00" in text(get(as_alice, marked, measure="relations"))


@pytest.mark.parametrize("page", PAGES)
def test_every_link_of_a_page_leads_somewhere(marked, as_alice, page):
    found = [link for link in links(get(as_alice, marked, page)) if link.startswith(("?", "/projects/"))]
    assert f"/projects/{marked.pk}/settings/" in found
    for link in set(found):
        address = link if link.startswith("/") else f"/projects/{marked.pk}/agreement/{page}{link}"
        assert as_alice.get(address).status_code == 200, address


def test_cells_lead_to_the_places_that_they_count(marked, items, as_alice):
    confused = get(as_alice, marked, "confusion/")
    thermostat, sensing = (label(marked, name).pk for name in ("Thermostat", "SensingObject"))
    [address] = {
        link for link in links(confused) if {f"{thermostat}", f"{sensing}"} <= set(re.findall(r"label=(\d+)", link))
    } and {link for link in links(confused) if f"label={sensing}&other_label={thermostat}" in link}
    places = text(as_alice.get(address))
    assert "carol: replace Thermostat dave: replace SensingObject" in places
    assert "left air" not in places
    links_there = links(as_alice.get(address))
    assert reverse("quality:review", args=[marked.pk, items[0].pk]) in links_there
    assert "no mark" in text(get(as_alice, marked, "places/", kind="only"))
    week = re.search(r"\d{4}-W\d\d", text(get(as_alice, marked, "weeks/")))[0]
    assert "replace" in text(get(as_alice, marked, "places/", week=week))
    for nowhere in (
        {"one": "nobody"},
        {"label": "99999999"},
        {"week": "2001-W01"},
        {"week": "x-W99"},
        {"kind": "same"},
    ):
        assert "No such differences" in text(get(as_alice, marked, "places/", **nowhere))


def test_places_of_two_people_are_told_from_the_first(marked, as_alice):
    found = text(get(as_alice, marked, "places/", one="dave", other="carol", kind="label"))
    assert "dave: replace SensingObject carol: replace Thermostat" in found


def test_gold_is_another_side(marked, items, as_alice):
    assert "With gold" not in text(get(as_alice, marked))
    gold = [(label(marked, "Thermostat"), 1, 3), (label(marked, "State"), 4, 5)]
    factories.gold(items[1], *gold).finish()
    assert "With gold" in text(get(as_alice, marked))
    shown = text(get(as_alice, marked, **{"with": "gold"}))
    assert "the gold dave 1 0.67 1.00 0.80" in shown
    for page in PAGES:
        found = get(as_alice, marked, page, **{"with": "gold"})
        for link in links(found):
            if "places" in link:
                assert "one=the+gold" in link and as_alice.get(link).status_code == 200


def test_branches_open_and_close(marked, as_alice):
    page = get(as_alice, marked, "labels/")
    assert "PhysicalObject/SensingObject/Thermostat" in text(page)
    [closing] = [
        link for link in links(page) if link.startswith("?open") and str(label(marked, "PhysicalObject").pk) not in link
    ]
    closed = as_alice.get(f"/projects/{marked.pk}/agreement/labels/{closing}")
    assert "PhysicalObject/SensingObject" not in text(closed) and "PhysicalObject" in text(closed)


def test_tables_are_files(marked, as_alice):
    rows = {
        name: list(csv.DictReader(io.StringIO(get(as_alice, marked, f"{name}.csv").getvalue().decode())))
        for name in ("totals", "pairs", "labels", "confusion", "weeks")
    }
    assert rows["pairs"][0]["second"] == "dave" and rows["pairs"][0]["F1"] == "0.4444"
    assert rows["pairs"][0]["F1 from"] == ""
    assert {row["label"] for row in rows["labels"]} >= {
        "PhysicalObject",
        "PhysicalObject/SensingObject itself",
        "hasPart",
    }
    assert [row["measure"] for row in rows["totals"]][-2:] == ["kappa", "alpha"]
    assert ("PhysicalObject/SensingObject", "PhysicalObject/SensingObject/Thermostat", "1") in [
        tuple(row.values()) for row in rows["confusion"]
    ]
    assert get(as_alice, marked, "other.csv").status_code == 404
    assert get(as_alice, marked, "agreement.json").json()["pairs"][0]["people"] == ["carol", "dave"]


def test_undefined_figures_are_dashes_that_say_why(project, items, carol, dave, as_alice):
    say(items[0], carol)
    say(items[0], dave)
    page = get(as_alice, project)
    assert "1 item was done by several people, and nothing is marked there." in text(page)
    assert (
        "Neither has marked anything." in page.content.decode() and "There are too few items" in page.content.decode()
    )


def test_nothing_to_compare(project, as_alice):
    assert "Nothing can be compared yet" in text(get(as_alice, project))
    assert "There is no calibration set" in text(get(as_alice, project, "calibration/"))
    assert "No such differences" in text(get(as_alice, project, "places/"))


def test_a_large_project_is_counted_by_a_job(marked, items, as_alice, dave, monkeypatch):
    monkeypatch.setattr("quality.counting.ITEMS_AT_ONCE", 1)
    for page in PAGES:
        assert "Not counted yet" in text(get(as_alice, marked, page))
    assert get(as_alice, marked, "pairs.csv").status_code == 404
    address = f"/projects/{marked.pk}/agreement/count/"
    first, second = as_alice.post(address).url, as_alice.post(address).url
    assert first == second == f"/jobs/{Job.objects.get().pk}/"
    make_report(marked)
    assert "changed since" not in text(get(as_alice, marked, "changed/"))
    say(items[0], dave, "State 2")
    assert "1 item changed since" in text(get(as_alice, marked, "changed/"))
    assert "carol dave 2 0.40" in text(get(as_alice, marked))


@pytest.mark.parametrize("page", [*PAGES, "changed/", "places/", "calibration/", "agreement.json", "pairs.csv"])
def test_queries_do_not_grow(marked, items, as_alice, page, carol, dave, erin):
    marked.calibration = 3
    marked.save(update_fields=["calibration"])
    get(as_alice, marked)
    before = queries_of(get, as_alice, marked, page)
    people = [factories.user(f"person{n}") for n in range(4)]
    marked.add_members(people)
    for person in people:
        for item in items:
            say(item, person, "State 0", "Activity 1", "hasPart: State 0 > Activity 1")
    get(as_alice, marked)
    assert len(queries_of(get, as_alice, marked, page)) <= len(before) + 1


# --- Who sees what --------------------------------------------------------------------------------------------------------

ALL_PAGES = (*PAGES, "changed/", "places/", "calibration/", "agreement.json", "totals.csv", "pairs.csv", "labels.csv")


def test_only_who_manages_a_blind_project_sees_who_agrees_with_whom(marked, as_alice, client):
    rita = factories.user("rita")
    marked.add_members([rita], "reviewer")
    marked.is_blind = True
    marked.save(update_fields=["is_blind"])
    client.force_login(rita)
    assert {get(client, marked, page).status_code for page in ALL_PAGES} == {403}
    assert "carol" in text(get(as_alice, marked))


# --- The calibration set ----------------------------------------------------------------------------------------------------


def test_who_may_go_on_after_the_calibration_set(project, items, carol, dave, erin, as_alice):
    project.calibration = 2
    project.save(update_fields=["calibration"])
    for item in items[:2]:
        say(item, carol, "State 0", "Activity 1")
        say(item, dave, "State 0", "Activity 1" if item == items[0] else "PhysicalObject 1")
    say(items[0], erin, "State 0", "Activity 1")
    say(items[2], erin, "Activity 0")
    page = get(as_alice, project, "calibration/")
    shown = text(page)
    # carol and dave: 3 of 4 marks; each with erin 2 of 2 in the one that she has done.
    assert "carol 0 0.88 – yes" in shown and "erin 1 1.00 – not yet" in shown
    assert "carol 0 0.88 – not yet" in text(get(as_alice, project, "calibration/", at_least="90"))
    assert "PhysicalObject Activity 1" in shown
    assert as_alice.get(next(link for link in links(page) if "other_label" in link)).status_code == 200
    factories.gold(items[1], (label(project, "State"), 0, 0)).finish()
    assert "carol 0 0.88 0.67 not yet" in text(get(as_alice, project, "calibration/"))


def test_a_report_goes_with_its_project(marked, as_alice):
    get(as_alice, marked)
    marked.erase()
    assert not AgreementReport.objects.exists()
