from django.urls import include, path

from . import preannotations, views

app_name = "projects"

project_urls = [
    path("", views.page, name="page"),
    path("figures/", views.marks, name="figures"),
    path("violations/", views.violations, name="violations"),
    path("violations/count/", views.violations_count, name="violations_count"),
    path("violations/<int:constraints_pk>/", views.violations_of_rules, name="violations_of_rules"),
    path("edit/", views.edit, name="edit"),
    path("delete/", views.delete, name="delete"),
    path("download/", views.download, name="download"),
    path("members/add/", views.add_members, name="add_members"),
    path("members/<int:member_pk>/remove/", views.remove_member, name="remove_member"),
    path("constraints/<str:kind>/", views.constraints, name="constraints"),
    path("constraints/<str:kind>/remove/", views.remove_constraints, name="remove_constraints"),
    path("preannotations/match/", preannotations.match, name="match_preannotations"),
    path("preannotations/<str:kind>/", preannotations.choose, name="preannotations"),
    path("preannotations/<str:kind>/remove/", preannotations.take_away, name="remove_preannotations"),
    path("preannotations/<str:kind>/figures/", preannotations.figures, name="preannotation_figures"),
    path("ontologies/add/", views.add_ontology, name="add_ontology"),
]

urlpatterns = [
    path("", views.project_list, name="list"),
    path("new/", views.create, name="create"),
    path("new/ontologies/", views.ontologies, name="ontologies"),
    path("use/", views.use, name="use"),
    path("<int:pk>/", include(project_urls)),
]
