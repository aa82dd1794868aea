"""What only a setting enables: off, a direct address answers with a page that names it."""

import pytest
from django.http import HttpResponse

from annotation_service.http import PREANNOTATIONS
from annotation_service.inputs import Refused
from tests import factories


@PREANNOTATIONS.required
def view(request, pk):
    return HttpResponse(f"page {pk}")


def test_a_direct_address_says_what_is_disabled_and_which_setting_enables_it(db, rf, settings):
    request = rf.get("/somewhere/")
    request.user = factories.user()
    settings.PREANNOTATION_RESOURCES = False
    answer = view(request, pk=3)
    text = answer.text
    assert answer.status_code == 403
    assert "<h1>Preannotations are disabled in this release</h1>" in text
    assert "<code>PREANNOTATION_RESOURCES</code>" in text
    settings.PREANNOTATION_RESOURCES = True
    assert view(request, pk=3).content == b"page 3"


def test_what_needs_it_is_refused_with_the_name_of_the_setting(settings):
    settings.PREANNOTATION_RESOURCES = False
    with pytest.raises(Refused, match=r"Preannotations are disabled .* setting PREANNOTATION_RESOURCES enables them"):
        PREANNOTATIONS.check()
    settings.PREANNOTATION_RESOURCES = True
    PREANNOTATIONS.check()
