from django.urls import URLPattern, URLResolver, include, path

from . import views

app_name = "quality"

item_urls = [
    path("", views.review, name="review"),
    path("decide/", views.decide, name="decide"),
    path("undo/", views.turn, {"verb": "undo"}, name="undo"),
    path("redo/", views.turn, {"verb": "redo"}, name="redo"),
    path("done/", views.finish, name="finish"),
    path("reopen/", views.reopen, name="reopen"),
]
project_urls: list[URLPattern | URLResolver] = [
    path("review/", views.reviews, name="reviews"),
    path("review/next/", views.next_item, name="next"),
    path("review/rule/", views.rule, name="rule"),
    path("review/share/", views.share, name="share"),
    path("review/agreed/", views.take_over, {"what": "agreed"}, name="take_agreed"),
    path("review/given/", views.take_over, {"what": "given"}, name="take_given"),
    path("review/<int:item_pk>/", include(item_urls)),
]
urlpatterns = [path("projects/<int:pk>/", include(project_urls))]
