from django.urls import URLPattern, URLResolver, include, path

from .views import marks, pages

app_name = "annotations"

item_urls = [
    path("entities/add/", marks.add_entity, name="add_entity"),
    path("entities/label/", marks.relabel_entity, name="relabel_entity"),
    path("entities/remove/", marks.remove_entity, name="remove_entity"),
    path("relations/add/", marks.add_relation, name="add_relation"),
    path("relations/label/", marks.relabel_relation, name="relabel_relation"),
    path("relations/remove/", marks.remove_relation, name="remove_relation"),
    path("done/", marks.done, name="done"),
    path("marks/", marks.current, name="marks"),
]

project_urls: list[URLPattern | URLResolver] = [
    path("annotate/", pages.start, name="start"),
    path("annotate/<int:item_pk>/", pages.item, name="item"),
    path("annotate/progress/", pages.progress, name="progress"),
    path("labels/<str:version>/", pages.labels, name="labels"),
    path("marks/<str:who>/", pages.read_start, name="read_start"),
    path("marks/<str:who>/<int:item_pk>/", pages.read, name="read"),
    path("items/<int:item_pk>/", include(item_urls)),
]

urlpatterns = [path("<int:pk>/", include(project_urls))]
