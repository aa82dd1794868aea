from django.urls import include, path

from . import views

app_name = "graph"

project_urls = [
    path("", views.page, name="page"),
    path("nodes/<str:node>/neighbours/", views.neighbours, name="neighbours"),
    path("nodes/<str:node>/name/", views.name_node, name="name_node"),
    path("count/", views.count, name="count"),
    path("merge/", views.merge, name="merge"),
    path("split/", views.split, name="split"),
    path("suggestions/", views.suggested, name="suggestions"),
    path("suggestions/apart/", views.keep_apart, name="keep_apart"),
    path("figures/", views.figures, name="figures"),
    path("edit/", views.edit, name="edit"),
    path("export/", views.export, name="export"),
    *views.HISTORY,
]
urlpatterns = [path("projects/<int:pk>/graph/", include(project_urls))]
