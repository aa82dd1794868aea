from django.urls import reverse

from ontologies.models import Ontology
from tests import factories, resource_sets

POSITIONS = ("lft", "rght", "tree_id", "level", "parent")


def change_url(thing):
    return reverse(f"admin:{thing._meta.app_label}_{thing._meta.model_name}_change", args=[thing.pk])


def test_only_staff_get_in(as_alice, ontology):
    assert as_alice.get(change_url(ontology)).status_code == 302


def test_only_name_description_and_owner_can_be_changed(as_sam, bob, ontology):
    before = Ontology.objects.filter(pk=ontology.pk).values("kind", "version", "project").get()
    fields = {"name": "Renamed", "description": "x", "owner": bob.pk, "kind": "relation", "version": 99, "project": 1}
    assert as_sam.post(change_url(ontology), fields).status_code == 302
    ontology.refresh_from_db()
    assert (ontology.name, ontology.description, ontology.owner) == ("Renamed", "x", bob)
    assert Ontology.objects.filter(pk=ontology.pk).values("kind", "version", "project").get() == before


def test_names_keep_their_rules(as_sam, alice, ontology):
    answer = as_sam.post(change_url(ontology), {"name": "a\x07b", "description": "", "owner": alice.pk})
    assert answer.status_code == 200 and "cannot contain" in answer.text


def test_items_and_journal_are_read_only_and_show_no_positions(as_sam, ontology):
    for thing in (ontology.items()[1], ontology.changes.get()):
        page = as_sam.get(change_url(thing))
        assert page.status_code == 200 and 'name="_save"' not in page.text
        assert not [n for n in POSITIONS if f"field-{n}" in page.text]
        assert as_sam.post(change_url(thing), {"name": "x", "lft": 1}).status_code == 403
        delete = reverse(f"admin:{thing._meta.app_label}_{thing._meta.model_name}_delete", args=[thing.pk])
        assert as_sam.post(delete, {"post": "yes"}).status_code == 403
    assert ontology.items()[1].name == "SensingObject"


def test_the_hidden_root_is_hidden(as_sam, ontology):
    assert as_sam.get(change_url(ontology.root)).status_code == 302
    answer = as_sam.get(reverse("admin:ontologies_ontologyitem_changelist"))
    assert answer.context["cl"].result_count == 7


def test_deleting_is_an_action_that_reports_refusals(as_sam, alice, ontology):
    copy = factories.project(by=alice).entity_ontology
    chosen = [ontology.pk, copy.pk]
    answer = as_sam.post(
        reverse("admin:ontologies_ontology_changelist"), {"action": "erase", "_selected_action": chosen}, follow=True
    )
    words = [str(message) for message in answer.context["messages"]]
    assert not Ontology.objects.filter(pk=ontology.pk).exists() and Ontology.objects.filter(pk=copy.pk).exists()
    assert any("“Maintenance” was deleted with 7 items" in w for w in words)
    assert any("was not deleted. It belongs to the project" in w for w in words)
    assert as_sam.post(reverse("admin:ontologies_ontology_delete", args=[copy.pk])).status_code == 403


def test_only_what_has_a_page_leads_to_it(as_sam, alice, ontology, settings):
    settings.PREANNOTATION_RESOURCES = True
    makes = {"owner": alice, "entities": ontology, "relations": factories.ontology(owner=alice, kind="relation")}
    constraints = resource_sets.make("entity_constraints", **makes)
    preannotations = resource_sets.make("entity_preannotations", **makes)
    for thing in (ontology, constraints, preannotations):
        assert "View on site" in as_sam.get(change_url(thing)).text
