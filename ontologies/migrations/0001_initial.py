
import annotation_service.inputs
import django.db.models.deletion
import django.utils.timezone
import mptt.fields
import ontologies.models.item
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('projects', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Ontology',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=200)),
                ('description', models.TextField(blank=True, validators=[annotation_service.inputs.clean_description])),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('kind', models.CharField(choices=[('entity', 'Entity ontology'), ('relation', 'Relation ontology')], max_length=8)),
                ('version', models.PositiveIntegerField(default=0, editable=False)),
                ('copied_from', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='copies', to='ontologies.ontology')),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.RESTRICT, to='projects.project')),
            ],
            options={
                'verbose_name_plural': 'ontologies',
            },
        ),
        migrations.CreateModel(
            name='OntologyChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveIntegerField()),
                ('kind', models.CharField(choices=[('operation', 'Operation'), ('undo', 'Undo'), ('redo', 'Redo'), ('revert', 'Revert')], default='operation', max_length=9)),
                ('verb', models.CharField(max_length=30)),
                ('stands', models.BooleanField(default=True)),
                ('at', models.DateTimeField()),
                ('count', models.PositiveIntegerField(default=0)),
                ('items', models.JSONField(default=dict)),
                ('ontology', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.RESTRICT, related_name='changes', to='ontologies.ontology')),
                ('operation', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='followed_by', to='ontologies.ontologychange')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-version'],
            },
        ),
        migrations.CreateModel(
            name='OntologyItem',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.CharField(editable=False, max_length=8)),
                ('name', models.CharField(max_length=200)),
                ('description', models.TextField(blank=True)),
                ('example_terms', models.JSONField(blank=True, default=list)),
                ('color', models.CharField(max_length=7)),
                ('active', models.BooleanField(default=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('tree_id', models.PositiveBigIntegerField(editable=False)),
                ('lft', models.PositiveIntegerField(editable=False)),
                ('rght', models.PositiveIntegerField(editable=False)),
                ('level', models.PositiveIntegerField(editable=False)),
                ('ontology', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.RESTRICT, to='ontologies.ontology')),
                ('parent', mptt.fields.TreeForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='children', to='ontologies.ontologyitem')),
            ],
            options={
                'ordering': ['tree_id', 'lft'],
            },
        ),
        migrations.AddConstraint(
            model_name='ontology',
            constraint=models.UniqueConstraint(condition=models.Q(('project', None), _negated=True), fields=('project', 'kind'), name='ontology_one_kind_a_project'),
        ),
        migrations.AddConstraint(
            model_name='ontologychange',
            constraint=models.UniqueConstraint(fields=('ontology', 'version'), name='ontologychange_version'),
        ),
        migrations.AddIndex(
            model_name='ontologyitem',
            index=ontologies.models.item.TreeOrderIndex(fields=['tree_id', 'lft'], name='ontologyitem_tree_order'),
        ),
        migrations.AddConstraint(
            model_name='ontologyitem',
            constraint=models.UniqueConstraint(fields=('ontology', 'uid'), name='ontologyitem_uid'),
        ),
        migrations.AddConstraint(
            model_name='ontologyitem',
            constraint=models.UniqueConstraint(fields=('parent', 'name'), name='ontologyitem_sibling_name'),
        ),
        migrations.AddConstraint(
            model_name='ontologyitem',
            constraint=models.UniqueConstraint(condition=models.Q(('parent', None)), fields=('tree_id',), name='ontologyitem_one_root'),
        ),
        migrations.AddConstraint(
            model_name='ontologyitem',
            constraint=models.CheckConstraint(condition=models.Q(('tree_id', models.F('ontology_id'))), name='ontologyitem_own_tree'),
        ),
        migrations.AddConstraint(
            model_name='ontologyitem',
            constraint=models.CheckConstraint(condition=models.Q(('lft__lt', models.F('rght'))), name='ontologyitem_lft_rght'),
        ),
    ]
