
import annotation_service.inputs
import django.db.models.deletion
import django.db.models.manager
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Entity',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.CharField(max_length=100)),
                ('status', models.CharField(choices=[('suggested', 'Suggested'), ('accepted', 'Accepted'), ('rejected', 'Rejected')], default='accepted', max_length=9)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('start', models.PositiveIntegerField()),
                ('end', models.PositiveIntegerField()),
            ],
            options={
                'verbose_name_plural': 'entities',
            },
        ),
        migrations.CreateModel(
            name='Item',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveIntegerField()),
                ('removed_at', models.DateTimeField(blank=True, null=True)),
                ('external_id', models.CharField(blank=True, max_length=200)),
                ('search_text', models.TextField(editable=False)),
                ('original', models.TextField()),
                ('tokens', models.JSONField()),
                ('offsets', models.JSONField(null=True)),
                ('extra_fields', models.JSONField(blank=True, default=dict)),
            ],
            options={
                'ordering': ['dataset', 'position'],
                'base_manager_name': 'with_removed',
                'default_manager_name': 'objects',
            },
            managers=[
                ('with_removed', django.db.models.manager.Manager()),
                ('objects', django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name='Relation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.CharField(max_length=100)),
                ('status', models.CharField(choices=[('suggested', 'Suggested'), ('accepted', 'Accepted'), ('rejected', 'Rejected')], default='accepted', max_length=9)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name='Upload',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField(blank=True, null=True)),
                ('first_position', models.PositiveIntegerField(blank=True, null=True)),
                ('item_count', models.PositiveIntegerField(default=0)),
                ('name', models.CharField(max_length=250)),
                ('file', models.CharField(blank=True, max_length=250)),
                ('options', models.JSONField(default=dict)),
                ('report', models.JSONField(blank=True, default=dict)),
                ('state', models.CharField(choices=[('new', 'being checked'), ('checked', 'ready to be stored'), ('refused', 'has problems'), ('stored', 'stored'), ('discarded', 'discarded')], default='new', max_length=9)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('stored_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ['-pk'],
            },
        ),
        migrations.CreateModel(
            name='Annotation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('started_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('done_at', models.DateTimeField(blank=True, null=True)),
                ('annotator', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Dataset',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=200)),
                ('description', models.TextField(blank=True, validators=[annotation_service.inputs.clean_description])),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('kind', models.CharField(choices=[('standard', 'Standard dataset'), ('rich', 'Rich dataset'), ('preannotated_entity', 'Preannotated entity dataset'), ('preannotated_relation', 'Preannotated relation dataset')], max_length=21)),
                ('preprocessing', models.JSONField(blank=True, default=dict)),
                ('item_count', models.PositiveIntegerField(default=0, editable=False)),
                ('token_count', models.PositiveBigIntegerField(default=0, editable=False)),
                ('copied_from', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='copies', to='datasets.dataset')),
            ],
        ),
    ]
