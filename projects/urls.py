from django.urls import include, path

from annotation_service.http import PREANNOTATIONS
from resources.models import ConstraintSet, PreannotationSet

from . import (
    bundle_views,
    comment_list,
    creation,
    item_views,
    people,
    resource_views,
    source_pages,
    views,
    work_export,
)
from .assignment_page import change, even_pairs

app_name = "projects"

rules, lexicon = {"model": ConstraintSet}, {"model": PreannotationSet}
choose_lexicon = PREANNOTATIONS.required(resource_views.choose)
take_lexicon_away = PREANNOTATIONS.required(resource_views.take_away)

project_urls = [
    path("", views.page, name="page"),
    path("items/", item_views.items, name="items"),
    path("items/give/", item_views.by_hand, {"verb": "give"}, name="give_items"),
    path("items/take/", item_views.by_hand, {"verb": "take"}, name="take_items"),
    path("items/undo/", item_views.undo, name="undo_by_hand"),
    path("items/<int:item_pk>/", item_views.details, name="item"),
    path("figures/", views.marks, name="figures"),
    path("violations/", views.violations, name="violations"),
    path("violations/count/", views.violations_count, name="violations_count"),
    path("violations/<int:constraints_pk>/", views.violations_of_rules, name="violations_of_rules"),
    path("edit/", views.edit, name="edit"),
    path("settings/", views.settings_page, name="settings"),
    path("archive/", views.archive, name="archive"),
    path("restore/", views.restore, name="restore"),
    path("duplicate/", views.duplicate_project, name="duplicate"),
    path("delete/", views.delete, name="delete"),
    path("download/", views.download, name="download"),
    path("export/", work_export.export_work, name="export"),
    path("people/", people.people_page, name="people"),
    path("people/add/", people.add, name="add_members"),
    path("people/invitations/", people.invitations, name="invitations"),
    path("people/invitations/mail/", people.invite_by_mail, name="invite"),
    path("people/invitations/link/", people.invite_by_link, name="invite_by_link"),
    path("people/invitations/<int:invitation_pk>/revoke/", people.revoke_invitation, name="revoke_invitation"),
    path("people/invitations/<int:invitation_pk>/answer/", people.answer_request, name="answer_request"),
    path("people/hand-over/", people.hand_over, name="hand_over"),
    path("people/<int:member_pk>/role/", people.change_role, name="change_role"),
    path("people/<int:member_pk>/remove/", people.remove, name="remove_member"),
    path("leave/", people.leave, name="leave"),
    path("assignment/", change, name="assignment"),
    path("assignment/pairs/", even_pairs, name="even_pairs"),
    path("constraints/<str:kind>/", resource_views.choose, rules, name="constraints"),
    path("constraints/<str:kind>/remove/", resource_views.take_away, rules, name="remove_constraints"),
    path("preannotations/match/", resource_views.match, name="match_preannotations"),
    path("preannotations/<str:kind>/", choose_lexicon, lexicon, name="preannotations"),
    path("preannotations/<str:kind>/remove/", take_lexicon_away, lexicon, name="remove_preannotations"),
    path("preannotations/<str:kind>/figures/", resource_views.figures, name="preannotation_figures"),
    path("sources/<int:source_pk>/", source_pages.source_page, name="source"),
    path("sources/<int:source_pk>/switch/", source_pages.switch_source, name="switch_source"),
    path("comments/", comment_list.comment_list, name="comments"),
    path("comments/<int:comment_pk>/answer/", comment_list.answer, name="answer_comment"),
    path("comments/<int:comment_pk>/edit/", comment_list.edit, name="edit_comment"),
    path("comments/<int:comment_pk>/delete/", comment_list.take_back, name="delete_comment"),
    path("comments/<int:comment_pk>/reopen/", comment_list.reopen, name="reopen_comment"),
    path("ontologies/<str:kind>/", resource_views.put_labels, name="put_labels"),
    path("items/copy/", resource_views.copy_items, name="copy_items"),
]

urlpatterns = [
    path("", views.project_list, name="list"),
    path("new/", creation.create, name="create"),
    path("new/ontologies/", creation.ontologies, name="ontologies"),
    path("new/check/", creation.check, name="check"),
    path("import/", bundle_views.upload, name="upload_bundle"),
    path("import/<str:token>/", bundle_views.import_page, name="import_bundle"),
    path("use/", views.use, name="use"),
    path("people/", people.find, name="find_people"),
    path("bin/", views.bin_page, name="bin"),
    path("bin/<int:pk>/restore/", views.take_out_of_bin, name="take_out_of_bin"),
    path("bin/<int:pk>/delete/", views.delete_for_good, name="delete_for_good"),
    path("invitations/<int:pk>/answer/", people.answer_invitation, name="answer_invitation"),
    path("invitations/<str:token>/", people.invitation, name="invitation"),
    path("<int:pk>/", include(project_urls)),
]
