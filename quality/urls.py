from django.urls import URLPattern, URLResolver, include, path

from annotations.urls import mark_urls
from datasets.models import Layer

from . import agreement_pages, gold_views, lessons, views
from .gold_files import FORMATS

app_name = "quality"

item_urls = [
    path("", views.review, name="review"),
    path("decide/", views.decide, name="decide"),
    path("undo/", views.turn, {"verb": "undo"}, name="undo"),
    path("redo/", views.turn, {"verb": "redo"}, name="redo"),
    path("done/", views.finish, name="finish"),
    path("reopen/", views.reopen, name="reopen"),
    path("edit/", views.edit, name="edit"),
    path("edit/begin/", views.begin_edit, name="begin_edit"),
]
project_urls: list[URLPattern | URLResolver] = [
    path("review/", views.reviews, name="reviews"),
    path("review/next/", views.next_item, name="next"),
    path("review/rule/", views.rule, name="rule"),
    path("review/share/", views.share, name="share"),
    path("review/agreed/", views.take_over, {"what": "agreed"}, name="take_agreed"),
    path("review/given/", views.take_over, {"what": "given"}, name="take_given"),
    path("decided/", lessons.lessons, name="lessons"),
    path("review/<int:item_pk>/", include(item_urls)),
    *(
        path(f"gold/download/{format.name}/", gold_views.download, {"format": format}, name=f"download_{format.name}")
        for format in FORMATS
    ),
    path("gold/dataset/", gold_views.dataset, name="gold_dataset"),
    path("agreement/", agreement_pages.page, name="agreement"),
    path("agreement/changed/", agreement_pages.changed, name="agreement_changed"),
    path("agreement/count/", agreement_pages.count, name="count_agreement"),
    path("agreement/places/", agreement_pages.places, name="agreement_places"),
    path("agreement/agreement.json", agreement_pages.as_json, name="agreement_json"),
    path("agreement/<str:table>.csv", agreement_pages.as_csv, name="agreement_csv"),
    path("agreement/<str:part>/", agreement_pages.page, name="agreement_part"),
    path("gold/<int:item_pk>/", include(mark_urls), {"layer": Layer.GOLD}),
]
urlpatterns = [path("projects/<int:pk>/", include(project_urls))]
