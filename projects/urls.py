from django.urls import include, path

from . import comments, preannotations, upkeep, views
from .assignment_page import change
from .creation import views as creation
from .items import by_hand
from .items import views as items
from .people import invited, inviting
from .people import views as people

app_name = "projects"

project_urls = [
    path("", views.page, name="page"),
    path("items/", items.items, name="items"),
    path("items/give/", by_hand.give, name="give_items"),
    path("items/take/", by_hand.take, name="take_items"),
    path("items/undo/", by_hand.undo, name="undo_by_hand"),
    path("items/<int:item_pk>/", items.details, name="item"),
    path("figures/", views.marks, name="figures"),
    path("violations/", views.violations, name="violations"),
    path("violations/count/", views.violations_count, name="violations_count"),
    path("violations/<int:constraints_pk>/", views.violations_of_rules, name="violations_of_rules"),
    path("edit/", views.edit, name="edit"),
    path("settings/", upkeep.settings_page, name="settings"),
    path("archive/", upkeep.archive, name="archive"),
    path("restore/", upkeep.restore, name="restore"),
    path("duplicate/", upkeep.duplicate_project, name="duplicate"),
    path("delete/", upkeep.delete, name="delete"),
    path("download/", views.download, name="download"),
    path("people/", people.page, name="people"),
    path("people/add/", people.add, name="add_members"),
    path("people/invitations/", inviting.invitations, name="invitations"),
    path("people/invitations/mail/", inviting.by_mail, name="invite"),
    path("people/invitations/link/", inviting.by_link, name="invite_by_link"),
    path("people/invitations/<int:invitation_pk>/revoke/", inviting.revoke, name="revoke_invitation"),
    path("people/hand-over/", people.hand_over, name="hand_over"),
    path("people/<int:member_pk>/role/", people.change_role, name="change_role"),
    path("people/<int:member_pk>/remove/", people.remove, name="remove_member"),
    path("leave/", people.leave, name="leave"),
    path("assignment/", change, name="assignment"),
    path("constraints/<str:kind>/", views.constraints, name="constraints"),
    path("constraints/<str:kind>/remove/", views.remove_constraints, name="remove_constraints"),
    path("preannotations/match/", preannotations.match, name="match_preannotations"),
    path("preannotations/<str:kind>/", preannotations.choose, name="preannotations"),
    path("preannotations/<str:kind>/remove/", preannotations.take_away, name="remove_preannotations"),
    path("preannotations/<str:kind>/figures/", preannotations.figures, name="preannotation_figures"),
    path("comments/", comments.comment_list, name="comments"),
    path("comments/<int:comment_pk>/answer/", comments.answer, name="answer_comment"),
    path("comments/<int:comment_pk>/edit/", comments.edit, name="edit_comment"),
    path("comments/<int:comment_pk>/delete/", comments.take_back, name="delete_comment"),
    path("comments/<int:comment_pk>/reopen/", comments.reopen, name="reopen_comment"),
    path("ontologies/add/", views.add_ontology, name="add_ontology"),
]

urlpatterns = [
    path("", views.project_list, name="list"),
    path("new/", creation.create, name="create"),
    path("new/ontologies/", creation.ontologies, name="ontologies"),
    path("new/check/", creation.check, name="check"),
    path("use/", views.use, name="use"),
    path("people/", people.find, name="find_people"),
    path("bin/", upkeep.bin_page, name="bin"),
    path("bin/<int:pk>/restore/", upkeep.take_out_of_bin, name="take_out_of_bin"),
    path("bin/<int:pk>/delete/", upkeep.delete_for_good, name="delete_for_good"),
    path("invitations/<int:pk>/answer/", invited.answer, name="answer_invitation"),
    path("invitations/<str:token>/", invited.invitation, name="invitation"),
    path("<int:pk>/", include(project_urls)),
]
