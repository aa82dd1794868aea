
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('annotation_service', '0001_initial'),
        ('datasets', '0001_initial'),
        ('ontologies', '0001_initial'),
        ('projects', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='dataset',
            name='entity_ontology',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='entity_datasets', to='ontologies.ontology'),
        ),
        migrations.AddField(
            model_name='dataset',
            name='owner',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='dataset',
            name='project',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.RESTRICT, to='projects.project'),
        ),
        migrations.AddField(
            model_name='dataset',
            name='relation_ontology',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='relation_datasets', to='ontologies.ontology'),
        ),
        migrations.AddField(
            model_name='entity',
            name='annotation',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.RESTRICT, to='datasets.annotation'),
        ),
        migrations.AddField(
            model_name='entity',
            name='label',
            field=models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='%(class)s_marks', to='ontologies.ontologyitem'),
        ),
        migrations.AddField(
            model_name='item',
            name='dataset',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.RESTRICT, to='datasets.dataset'),
        ),
        migrations.AddField(
            model_name='item',
            name='removed_by',
            field=models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='annotation',
            name='item',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.RESTRICT, to='datasets.item'),
        ),
        migrations.AddField(
            model_name='relation',
            name='annotation',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.RESTRICT, to='datasets.annotation'),
        ),
        migrations.AddField(
            model_name='relation',
            name='label',
            field=models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='%(class)s_marks', to='ontologies.ontologyitem'),
        ),
        migrations.AddField(
            model_name='relation',
            name='source',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.RESTRICT, related_name='outgoing', to='datasets.entity'),
        ),
        migrations.AddField(
            model_name='relation',
            name='target',
            field=models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='incoming', to='datasets.entity'),
        ),
        migrations.AddField(
            model_name='upload',
            name='by',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='upload',
            name='dataset',
            field=models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='uploads', to='datasets.dataset'),
        ),
        migrations.AddField(
            model_name='upload',
            name='job',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='annotation_service.job'),
        ),
        migrations.AddConstraint(
            model_name='dataset',
            constraint=models.UniqueConstraint(condition=models.Q(('project', None), _negated=True), fields=('project',), name='dataset_one_a_project'),
        ),
        migrations.AddConstraint(
            model_name='entity',
            constraint=models.UniqueConstraint(fields=('annotation', 'uid'), name='entity_uid'),
        ),
        migrations.AddConstraint(
            model_name='entity',
            constraint=models.UniqueConstraint(fields=('annotation', 'label', 'start', 'end'), name='entity_span'),
        ),
        migrations.AddConstraint(
            model_name='entity',
            constraint=models.CheckConstraint(condition=models.Q(('start__lte', models.F('end'))), name='entity_start_end'),
        ),
        migrations.AddIndex(
            model_name='item',
            index=models.Index(condition=models.Q(('removed_at', None)), fields=['dataset', 'position'], name='item_live'),
        ),
        migrations.AddIndex(
            model_name='item',
            index=models.Index(condition=models.Q(('removed_at__isnull', False)), fields=['dataset', 'removed_at'], name='item_removed'),
        ),
        migrations.AddConstraint(
            model_name='item',
            constraint=models.UniqueConstraint(fields=('dataset', 'position'), name='item_position'),
        ),
        migrations.AddConstraint(
            model_name='annotation',
            constraint=models.UniqueConstraint(fields=('item', 'annotator'), name='annotation_one_a_person'),
        ),
        migrations.AddConstraint(
            model_name='annotation',
            constraint=models.UniqueConstraint(condition=models.Q(('annotator', None)), fields=('item',), name='annotation_one_given'),
        ),
        migrations.AddConstraint(
            model_name='relation',
            constraint=models.UniqueConstraint(fields=('annotation', 'uid'), name='relation_uid'),
        ),
        migrations.AddConstraint(
            model_name='relation',
            constraint=models.UniqueConstraint(fields=('source', 'target', 'label'), name='relation_ends'),
        ),
        migrations.AddConstraint(
            model_name='relation',
            constraint=models.CheckConstraint(condition=models.Q(('source', models.F('target')), _negated=True), name='relation_two_ends'),
        ),
        migrations.AddConstraint(
            model_name='upload',
            constraint=models.UniqueConstraint(fields=('dataset', 'number'), name='upload_number'),
        ),
    ]
