from django.urls import URLPattern, URLResolver, include, path

from . import batch_list, batches, comments, finding, own_work, requests, views

app_name = "annotations"

item_urls = [
    path("entities/add/", requests.add, {"kind": "entity"}, name="add_entity"),
    path("entities/label/", requests.relabel, {"kind": "entity"}, name="relabel_entity"),
    path("entities/resize/", requests.resize, name="resize_entity"),
    path("entities/remove/", requests.remove, {"kind": "entity"}, name="remove_entity"),
    path("entities/suggest/", requests.suggest, {"kind": "entity"}, name="suggest_entity"),
    path("relations/add/", requests.add, {"kind": "relation"}, name="add_relation"),
    path("relations/label/", requests.relabel, {"kind": "relation"}, name="relabel_relation"),
    path("relations/reverse/", requests.reverse, name="reverse_relation"),
    path("relations/remove/", requests.remove, {"kind": "relation"}, name="remove_relation"),
    path("relations/suggest/", requests.suggest, {"kind": "relation"}, name="suggest_relation"),
    path("done/", requests.done, name="done"),
    path("marks/", requests.current, name="marks"),
    path("history/", requests.suggest_history, name="suggest_history"),
    path("flags/", comments.flag, name="flag"),
    path("comments/", comments.comment, name="comment"),
    path("place/", finding.place, name="place"),
    path("skip/", finding.skip, name="skip"),
    path("skip/take-back/", finding.take_up, name="take_up"),
]

project_urls: list[URLPattern | URLResolver] = [
    path("annotate/", views.start, name="start"),
    path("annotate/<int:item_pk>/", views.item, name="item"),
    path("annotate/batches/", batch_list.batches, name="batches"),
    path("annotate/batches/<int:batch_pk>/undo/", batch_list.confirm_undo, name="confirm_undo"),
    path("annotate/items/", finding.items, name="items"),
    path("annotate/marks/", own_work.marks, name="own_marks"),
    path("annotate/work/", own_work.work, name="work"),
    path("annotate/progress/", views.progress, name="progress"),
    path("labels/<str:version>/", views.labels, name="labels"),
    path("rules/<str:version>/", views.rules, name="rules"),
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
    path("marks/<str:who>/<int:item_pk>/comments/", comments.comment_on, name="comment_on"),
    path("items/<int:item_pk>/", include(item_urls)),
]

urlpatterns = [
    path("projects/<int:pk>/", include(project_urls)),
    path("annotate/comfort/", requests.choose_comfort, name="comfort"),
]
