
import annotation_service.inputs
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('ontologies', '0001_initial'),
        ('projects', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='ConstraintSet',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=200)),
                ('description', models.TextField(blank=True, validators=[annotation_service.inputs.clean_description])),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('kind', models.CharField(choices=[('entity', 'Entities'), ('relation', 'Relations')], max_length=20)),
                ('copied_from', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='copies', to='resources.constraintset')),
                ('entity_ontology', models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='+', to='ontologies.ontology')),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.RESTRICT, to='projects.project')),
                ('relation_ontology', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='+', to='ontologies.ontology')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='EntityConstraint',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveIntegerField()),
                ('limits_contents', models.BooleanField(help_text='Whether only the types of can_contain can be nested within the domain.')),
                ('can_contain', models.ManyToManyField(related_name='+', to='ontologies.ontologyitem')),
                ('domain', models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='+', to='ontologies.ontologyitem')),
                ('excludes', models.ManyToManyField(related_name='+', to='ontologies.ontologyitem')),
                ('resource_set', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='resources.constraintset')),
            ],
            options={
                'ordering': ['resource_set', 'position'],
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='PreannotationSet',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=200)),
                ('description', models.TextField(blank=True, validators=[annotation_service.inputs.clean_description])),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('kind', models.CharField(choices=[('entity', 'Entities'), ('relation', 'Relations')], max_length=20)),
                ('copied_from', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='copies', to='resources.preannotationset')),
                ('entity_ontology', models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='+', to='ontologies.ontology')),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.RESTRICT, to='projects.project')),
                ('relation_ontology', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='+', to='ontologies.ontology')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='EntityPreannotation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveIntegerField()),
                ('surface_form', models.CharField(max_length=200)),
                ('label', models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='+', to='ontologies.ontologyitem')),
                ('resource_set', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='resources.preannotationset')),
            ],
            options={
                'ordering': ['resource_set', 'position'],
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='RelationConstraint',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveIntegerField()),
                ('domain', models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='+', to='ontologies.ontologyitem')),
                ('range', models.ManyToManyField(related_name='+', to='ontologies.ontologyitem')),
                ('relation', models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='+', to='ontologies.ontologyitem')),
                ('resource_set', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='resources.constraintset')),
            ],
            options={
                'ordering': ['resource_set', 'position'],
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='RelationPreannotation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveIntegerField()),
                ('source_surface_form', models.CharField(max_length=200)),
                ('target_surface_form', models.CharField(max_length=200)),
                ('offset', models.PositiveIntegerField()),
                ('label', models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='+', to='ontologies.ontologyitem')),
                ('resource_set', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='resources.preannotationset')),
                ('source_label', models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='+', to='ontologies.ontologyitem')),
                ('target_label', models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='+', to='ontologies.ontologyitem')),
            ],
            options={
                'ordering': ['resource_set', 'position'],
                'abstract': False,
            },
        ),
        migrations.AddConstraint(
            model_name='constraintset',
            constraint=models.UniqueConstraint(condition=models.Q(('project', None), _negated=True), fields=('project', 'kind'), name='constraintset_one_kind_a_project'),
        ),
        migrations.AddConstraint(
            model_name='entityconstraint',
            constraint=models.UniqueConstraint(fields=('resource_set', 'position'), name='entityconstraint_position'),
        ),
        migrations.AddConstraint(
            model_name='entityconstraint',
            constraint=models.UniqueConstraint(fields=('resource_set', 'domain'), name='entityconstraint_once'),
        ),
        migrations.AddConstraint(
            model_name='preannotationset',
            constraint=models.UniqueConstraint(condition=models.Q(('project', None), _negated=True), fields=('project', 'kind'), name='preannotationset_one_kind_a_project'),
        ),
        migrations.AddConstraint(
            model_name='entitypreannotation',
            constraint=models.UniqueConstraint(fields=('resource_set', 'position'), name='entitypreannotation_position'),
        ),
        migrations.AddConstraint(
            model_name='entitypreannotation',
            constraint=models.UniqueConstraint(fields=('resource_set', 'surface_form', 'label'), name='entitypreannotation_once'),
        ),
        migrations.AddConstraint(
            model_name='relationconstraint',
            constraint=models.UniqueConstraint(fields=('resource_set', 'position'), name='relationconstraint_position'),
        ),
        migrations.AddConstraint(
            model_name='relationconstraint',
            constraint=models.UniqueConstraint(fields=('resource_set', 'relation', 'domain'), name='relationconstraint_once'),
        ),
        migrations.AddConstraint(
            model_name='relationpreannotation',
            constraint=models.UniqueConstraint(fields=('resource_set', 'position'), name='relationpreannotation_position'),
        ),
        migrations.AddConstraint(
            model_name='relationpreannotation',
            constraint=models.UniqueConstraint(fields=('resource_set', 'source_surface_form', 'source_label', 'target_surface_form', 'target_label', 'offset', 'label'), name='relationpreannotation_once'),
        ),
    ]
