"""The page of a project's people, and the dialogs on it."""

import re

import pytest

from annotation_service.leaving import set_active
from datasets.models import Annotation
from projects import all_alike
from projects.models import Membership, Project
from tests import factories
from tests.answers import text_of
from tests.queries import queries_of


def rows(response):
    body = response.text.split("<tbody>")[1].split("</tbody>")[0]
    return [
        re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", row)).split(" Role… ")[0].strip()
        for row in body.split("</tr>")[:-1]
    ]


@pytest.fixture
def project(alice, carol, dave):
    return factories.project(by=alice, annotators=[carol, dave], annotators_per_item=1, text="a\nb\nc\nd\n")


@pytest.fixture
def address(project):
    return f"/projects/{project.pk}/people/"


def member(project, person):
    return project.membership_set.get(user=person)


def test_the_table_says_what_everybody_has_been_given_begun_and_done(as_alice, carol, project, address):
    first, second = project.items_for(carol)
    Annotation.start(first, carol).finish()
    Annotation.start(second, carol)
    page = as_alice.get(address)
    assert rows(page) == [
        "alice you Manager just now never",
        "carol Annotator just now 2 1 1 just now Read",
        "dave Annotator just now 2 0 0 never",
    ]
    bars = re.findall(r'max="(\d+)" value="(\d+)" aria-label="Progress of (\w+)"', page.text)
    assert bars == [("2", "1", "carol"), ("2", "0", "dave")]


def test_it_is_sorted_and_searched_by_names_and_roles(as_alice, project, address):
    project.add_members([factories.user("Élise")], "reviewer")

    def names(query):
        return [row.split()[0] for row in rows(as_alice.get(f"{address}?{query}"))]

    assert names("sort=name") == ["alice", "carol", "dave", "Élise"]
    assert names("sort=-name") == ["Élise", "dave", "carol", "alice"]
    assert names("sort=role") == names("sort=what") == ["alice", "carol", "dave", "Élise"]
    assert names("q=ÉLIS") == names("q=viewer") == ["Élise"]
    assert "Nobody is found" in text_of(as_alice.get(f"{address}?q=zzz"))


def test_of_many_a_page_is_shown_and_queries_do_not_grow(as_alice, project, address):
    few = queries_of(as_alice.get, address)
    project.add_members([factories.user(f"person{n:02}") for n in range(60)])
    assert len(queries_of(as_alice.get, address)) == len(few)
    found = as_alice.get(address)
    assert len(rows(found)) == 50 and "1 to 50 of 63 members" in text_of(found)
    assert "All 63 people" in text_of(as_alice.get(f"/projects/{project.pk}/"))


def test_a_role_is_changed_and_counts_from_the_next_request_on(as_alice, as_carol, project, address):
    carols, work = member(project, as_carol.user), f"/projects/{project.pk}/annotate/"
    dialog = text_of(as_alice.get(f"{address}{carols.pk}/role/"))
    assert "2 items that carol has not begun would go to the others" in dialog
    assert as_carol.get(work).status_code == 302 and as_carol.get(address).status_code == 403
    assert as_alice.post(f"{address}{carols.pk}/role/", {"role": "reviewer"})["HX-Redirect"] == address
    assert as_carol.get(work).status_code == 403 and as_carol.get(address).status_code == 200
    wrong = as_alice.post(f"{address}{carols.pk}/role/", {"role": "owner"})
    assert wrong.status_code == 422 and "Select a valid choice" in text_of(wrong)
    own = as_alice.post(f"{address}{member(project, as_alice.user).pk}/role/", {"role": "observer"})
    assert own.status_code == 422 and "A project needs a manager" in text_of(own)


def test_a_project_is_handed_over_in_one_step(as_alice, carol, project, address):
    assert "dave, annotator" in text_of(as_alice.get(f"{address}hand-over/"))
    data = {"to": member(project, carol).pk, "role": "annotator"}
    answer = as_alice.post(f"{address}hand-over/", data)
    assert answer["HX-Redirect"] == f"/projects/{project.pk}/"  # where annotators may be
    assert member(project, carol).role == "manager" and member(project, as_alice.user).role == "annotator"
    assert as_alice.post(f"{address}hand-over/", data).status_code == 403


def test_who_loses_the_right_a_moment_before_changes_nobody(as_alice, alice, carol, bob, project, address, monkeypatch):
    carols, before = f"{address}{member(project, carol).pk}/", rows(as_alice.get(address))
    members = set(project.members().values_list("user", "role"))
    locked = Project.locked

    def too_late(self):
        self.members().filter(user=alice).update(role="observer")
        return locked(self)

    for path, data in (
        (f"{address}add/", {"people": "bob", "role": "manager"}),
        (f"{carols}role/", {"role": "manager"}),
        (f"{carols}remove/", {"marks": "keep"}),
        (f"{address}hand-over/", {"to": member(project, carol).pk, "role": "annotator"}),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(Project, "locked", too_late)
            answer = as_alice.post(path, data)
        assert answer.status_code == 422 and "You do not manage the project" in text_of(answer), path
        project.members().filter(user=alice).update(role="manager")
        assert set(project.members().values_list("user", "role")) == members
    assert rows(as_alice.get(address)) == before


def test_nobody_is_left_to_manage_who_cannot_sign_in(as_alice, alice, carol, dave, bob, project, address):
    project.add_members([bob], "manager")
    set_active(bob, False)
    set_active(carol, False)
    dialog = as_alice.get(f"{address}hand-over/")
    assert "dave, annotator" in text_of(dialog) and "bob, manager" not in text_of(dialog)
    wrong = as_alice.post(f"{address}hand-over/", {"to": member(project, carol).pk, "role": "observer"})
    assert wrong.status_code == 422
    leaving = as_alice.post(f"/projects/{project.pk}/leave/")
    assert leaving.status_code == 422 and "A project needs a manager" in text_of(leaving)
    project.remove_member(member(project, bob))
    assert member(project, alice).role == "manager"
    set_active(alice, False)
    project.remove_member(member(project, dave))  # who leaves a project that nobody manages any more
    assert not project.membership_set.filter(user=dave).exists()


def test_who_annotates_no_more_is_given_nothing(as_alice, alice, carol):
    project = factories.project(by=alice, annotators=[carol], text="a\nb\n")
    Annotation.start(project.items_for(carol)[0], carol).finish()
    project.change_role(member(project, carol), "reviewer")
    assert "carol Reviewer just now 0 0 1 just now" in " ".join(rows(as_alice.get(f"/projects/{project.pk}/people/")))


def test_members_leave_by_themselves_unless_nobody_else_manages(as_carol, as_alice, project):
    leave = f"/projects/{project.pk}/leave/"
    assert "2 items that you have not begun go to the others" in text_of(as_carol.get(leave))
    assert as_carol.post(leave)["HX-Redirect"] == "/"
    assert as_carol.get(leave).status_code == 404
    assert as_alice.post(leave).status_code == 422 and Membership.objects.filter(user=as_alice.user).exists()


def test_what_a_batch_put_on_items_not_begun_is_told_to_go(as_alice, as_carol, carol, project, address):
    uid = project.entity_ontology.items().get(name="State").uid
    token = project.items_for(carol)[0].tokens[0]
    all_alike.apply(project, carol, {"verb": "propagate", "kind": "entity", "form": {"tokens": [token], "label": uid}})
    carols = f"{address}{member(project, carol).pk}/"
    assert "If carol gets no items in the new role, 1 mark put on all alike" in text_of(as_alice.get(f"{carols}role/"))
    assert "Deleted in any case: 1 mark that carol put on all alike" in text_of(as_alice.get(f"{carols}remove/"))
    assert "Deleted: 1 mark that you put on all alike" in text_of(as_carol.get(f"/projects/{project.pk}/leave/"))
    as_alice.post(f"{carols}remove/", {"marks": "keep"})
    assert "The marks on items that were begun are still there" in text_of(as_alice.get(address))
    assert not Annotation.objects.filter(annotator=carol)


def test_what_goes_with_items_that_somebody_new_gets_is_told(as_alice, alice, carol, dave):
    project = factories.project(by=alice, annotators=[carol], annotators_per_item=1, text="pump\n" * 8)
    form = {"tokens": ["pump"], "label": project.entity_ontology.items().get(name="State").uid}
    all_alike.apply(project, carol, {"verb": "propagate", "kind": "entity", "form": form})
    add = f"/projects/{project.pk}/people/add/"
    told = text_of(as_alice.post(add, {"people": "dave", "role": "annotator"}))
    assert "Added: dave. Deleted: 4 marks that others had put on all alike" in told
    factories.user("erin")
    told = text_of(as_alice.post(add, {"people": "erin", "role": "observer"}))
    assert "Added: erin." in told and "Deleted" not in told
    assert project.count_unbegun_marks(carol) == 4


def test_who_hands_a_project_over_is_told_of_such_marks_too(as_alice, alice, carol):
    project = factories.project(by=alice, annotators=[carol], text="pump\n")
    form = {"tokens": ["pump"], "label": project.entity_ontology.items().get(name="State").uid}
    all_alike.apply(project, alice, {"verb": "propagate", "kind": "entity", "form": form})
    dialog = text_of(as_alice.get(f"/projects/{project.pk}/people/hand-over/"))
    assert "If you do not annotate from then on, 1 mark that you put on all alike" in dialog
    project.hand_over(member(project, alice), member(project, carol), "observer")
    assert not Annotation.objects.filter(annotator=alice)


def test_former_members_are_listed_with_their_work_and_come_back_to_it(as_alice, carol, dave, project, address):
    item = project.items_for(carol).first()
    Annotation.start(item, carol)
    for person in (carol, dave):
        project.remove_member(member(project, person))
    page = text_of(as_alice.get(address))
    assert "Former members" in page and "carol 1 0 just now Read Add again" in page and "dave" not in page
    as_alice.post(f"{address}add/", {"people": "carol", "role": "annotator"})
    assert item in project.items_for(carol) and "Former members" not in text_of(as_alice.get(address))


def test_marks_are_deleted_only_with_the_typed_name(as_alice, carol, project, address):
    Annotation.start(project.items_for(carol).first(), carol)
    dialog = f"{address}{member(project, carol).pk}/remove/"
    shown = text_of(as_alice.get(dialog))
    assert "carol has begun 1 item here and made 0 marks" in shown and "1 item that they have not begun" in shown
    wrong = as_alice.post(dialog, {"marks": "delete", "name": "Carol"})
    assert wrong.status_code == 422 and "This is not the user name" in text_of(wrong)
    assert project.count_work(carol)["begun"] == 1
    assert as_alice.post(dialog, {"marks": "delete", "name": "carol"})["HX-Redirect"] == address
    assert project.count_work(carol)["begun"] == 0 and not project.rights_of(carol)


def test_the_field_for_new_members_completes_no_names_of_members(as_alice, project, address, carol, dave):
    found = re.search(r'data-complete="([^"]+)"', as_alice.get(address).text)[1]
    factories.user("carola")
    assert as_alice.get(f"{found}&q=carol").json() == {"names": ["carola"]}


def test_names_are_completed_and_nothing_else_is_told(as_alice, as_bob, as_carol, project):
    for name in ("caroline", "oscar", "Ökonom"):
        factories.user(name)
    factories.user("cara", is_active=False)

    def names(client, text, **more):
        return client.get("/projects/people/", {"q": text, **more}).json()["names"]

    assert names(as_bob, "CAR") == ["carol", "caroline", "oscar"]
    assert names(as_alice, "car", project=project.pk) == ["caroline", "oscar"]
    assert names(as_alice, "öko") == ["Ökonom"]
    assert names(as_alice, "") == names(as_alice, "example.org") == []
    for number in range(20):
        factories.user(f"zoe{number:02}")
    assert names(as_alice, "zoe") == [f"zoe{number:02}" for number in range(8)]
    assert as_carol.get("/projects/people/?q=car").status_code == 403
    project.change_role(member(project, as_carol.user), "manager")
    assert names(as_carol, "caro") == ["carol", "caroline"]


def test_adding_says_who_is_added_and_who_cannot_be(as_alice, project, address):
    for name in ("erin", "frank"):
        factories.user(name)

    def add(names):
        return text_of(as_alice.post(f"{address}add/", {"people": names, "role": "annotator"}))

    assert "Added: erin and frank." in add("erin, frank")
    assert "carol and dave are members of this project already." in add("dave carol")
    assert "carol is a member of this project already." in add("carol")
    assert f"“{'x' * 59}…”" in add("x" * 5000)


def test_all_pages_of_a_project_lead_to_each_other_for_those_who_read_it(as_alice, as_carol, as_dave, project, dave):
    project.change_role(member(project, dave), "observer")
    page = f"/projects/{project.pk}/"
    for name in ("", "items/", "people/", "comments/", "settings/"):
        shown = as_alice.get(page + name).text
        assert f'href="{page}{name}" aria-current="page"' in shown
        assert all(f'href="{page}{other}"' in shown for other in ("items/", "people/", "comments/", "settings/"))
    broken_rules = as_alice.get(f"{page}violations/").text
    assert all(f'href="{page}{other}"' in broken_rules for other in ("items/", "people/", "comments/", "settings/"))
    for name in ("", "items/", "people/", "comments/", "violations/"):
        shown = as_dave.get(page + name).text
        assert 'aria-label="Project"' in shown and "settings/" not in shown
    assert 'aria-label="Project"' not in as_carol.get(page).text


def test_roles_are_told_with_their_article(as_alice, as_carol, carol, dave, project, address):
    page = f"{address}{member(project, dave).pk}/role/"
    as_alice.post(page, {"role": "reviewer"})
    assert "dave is now a reviewer." in text_of(as_alice.get(address))
    as_alice.post(f"{address}hand-over/", {"to": member(project, carol).pk, "role": "observer"})
    assert "carol is now a manager of this project, and you are an observer." in text_of(as_alice.get(address))
