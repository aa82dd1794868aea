from django.urls import URLPattern, URLResolver, include, path

from . import batches, own_lists, requests, views

app_name = "annotations"

# What changes marks, whosever they are (see `requests.Desk`).
mark_urls = [
    path("entities/add/", requests.add, {"kind": "entity"}, name="add_entity"),
    path("entities/label/", requests.relabel, {"kind": "entity"}, name="relabel_entity"),
    path("entities/resize/", requests.resize, name="resize_entity"),
    path("entities/remove/", requests.remove, {"kind": "entity"}, name="remove_entity"),
    path("relations/add/", requests.add, {"kind": "relation"}, name="add_relation"),
    path("relations/label/", requests.relabel, {"kind": "relation"}, name="relabel_relation"),
    path("relations/reverse/", requests.reverse, name="reverse_relation"),
    path("relations/remove/", requests.remove, {"kind": "relation"}, name="remove_relation"),
    path("operations/", requests.operations, name="operations"),
    path("marks/", requests.current, name="marks"),
    path("text/", requests.text, name="text"),
]

item_urls = [
    *mark_urls,
    path("entities/suggest/", requests.suggest, {"kind": "entity"}, name="suggest_entity"),
    path("relations/suggest/", requests.suggest, {"kind": "relation"}, name="suggest_relation"),
    path("done/", requests.done, name="done"),
    path("history/", requests.suggest_history, name="suggest_history"),
    path("flags/", requests.flag, name="flag"),
    path("comments/", requests.comment, name="comment"),
    path("place/", own_lists.place, name="place"),
    path("skip/", own_lists.skip, name="skip"),
    path("skip/take-back/", own_lists.take_up, name="take_up"),
]

project_urls: list[URLPattern | URLResolver] = [
    path("annotate/", views.start, name="start"),
    path("annotate/<int:item_pk>/", views.item, name="item"),
    path("annotate/batches/", batches.page, name="batches"),
    path("annotate/batches/<int:batch_pk>/undo/", batches.confirm_undo, name="confirm_undo"),
    path("annotate/items/", own_lists.items, name="items"),
    path("annotate/marks/", own_lists.marks, name="own_marks"),
    path("annotate/work/", own_lists.work, name="work"),
    path("annotate/progress/", views.progress, name="progress"),
    path("labels/<str:version>/", views.offered, {"what": "labels"}, name="labels"),
    path("rules/<str:version>/", views.offered, {"what": "rules"}, name="rules"),
    path("words/", requests.words, name="words"),
    path("shortcuts/", requests.set_shortcut, name="shortcuts"),
    path("alike/preview/", batches.preview, name="alike_preview"),
    path("alike/places/", batches.places, name="alike_places"),
    path("alike/apply/", batches.apply, name="alike_apply"),
    path("batches/<int:batch_pk>/", batches.batch, name="batch"),
    path("batches/<int:batch_pk>/undo/", batches.undo, name="undo_batch"),
    path("batches/<int:batch_pk>/redo/", batches.redo, name="redo_batch"),
    path("marks/<str:who>/", views.read_start, name="read_start"),
    path("marks/<str:who>/<int:item_pk>/", views.read, name="read"),
    path("marks/<str:who>/<int:item_pk>/comments/", requests.comment_on, name="comment_on"),
    path("items/<int:item_pk>/", include(item_urls)),
]

urlpatterns = [
    path("projects/<int:pk>/", include(project_urls)),
    path("annotate/comfort/", requests.choose_comfort, name="comfort"),
]
