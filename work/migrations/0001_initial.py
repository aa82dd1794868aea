import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

MODELS = ("answer", "batch", "comment", "flag", "itemlabel", "itemwork", "removedentity", "removedrelation")


def move_content_types(apps, schema_editor, old="datasets", new="work"):
    """Permissions and the log of the administration stay with their models."""
    content_types = apps.get_model("contenttypes", "ContentType").objects.using(schema_editor.connection.alias)
    content_types.filter(app_label=old, model__in=MODELS).update(app_label=new)


def move_content_types_back(apps, schema_editor):
    move_content_types(apps, schema_editor, old="work", new="datasets")


class Migration(migrations.Migration):
    """The tables were made by migrations of `datasets`, and keep their names."""

    initial = True

    dependencies = [
        ("annotation_service", "0004_leaving_and_mails"),
        ("contenttypes", "0002_remove_content_type_name"),
        ("datasets", "0029_changed_with_item"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RunPython(move_content_types, move_content_types_back),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name='ItemWork',
                    fields=[
                        ('item', models.OneToOneField(on_delete=django.db.models.deletion.RESTRICT, primary_key=True, related_name='work', serialize=False, to='datasets.item')),
                        ('begun', models.PositiveIntegerField(default=0)),
                        ('done', models.PositiveIntegerField(default=0)),
                        ('marks', models.PositiveIntegerField(default=0)),
                        ('is_disputed', models.BooleanField(default=False)),
                        ('changed_at', models.DateTimeField(null=True)),
                    ],
                    options={
                        'db_table': 'datasets_itemwork',
                    },
                ),
                migrations.CreateModel(
                    name='Batch',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('verb', models.CharField(choices=[('propagate', 'marked'), ('accept', 'accepted'), ('reject', 'rejected'), ('remove', 'removed')], max_length=9)),
                        ('kind', models.CharField(choices=[('entity', 'entities'), ('relation', 'relations')], max_length=8)),
                        ('label', models.CharField(max_length=64)),
                        ('words', models.CharField(max_length=200)),
                        ('search_text', models.TextField(default='', editable=False)),
                        ('asked', models.JSONField(default=dict, editable=False)),
                        ('reached', models.PositiveIntegerField(default=0, editable=False)),
                        ('made', models.PositiveIntegerField(default=0)),
                        ('left_out', models.JSONField(blank=True, default=dict)),
                        ('kept', models.JSONField(blank=True, default=dict)),
                        ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                        ('stored_at', models.DateTimeField(blank=True, null=True)),
                        ('undone_at', models.DateTimeField(blank=True, null=True)),
                        ('dataset', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.RESTRICT, related_name='batches', to='datasets.dataset')),
                        ('job', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='annotation_service.job')),
                        ('person', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ],
                    options={
                        'verbose_name_plural': 'batches',
                        'db_table': 'datasets_batch',
                        'ordering': ['-pk'],
                    },
                ),
                migrations.CreateModel(
                    name='Comment',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('text', models.TextField()),
                        ('written_at', models.DateTimeField(default=django.utils.timezone.now)),
                        ('edited_at', models.DateTimeField(blank=True, null=True)),
                        ('kind', models.CharField(blank=True, max_length=8)),
                        ('uid', models.CharField(blank=True, max_length=100)),
                        ('words', models.CharField(blank=True, max_length=200)),
                        ('last_at', models.DateTimeField(default=django.utils.timezone.now)),
                        ('resolved_at', models.DateTimeField(blank=True, null=True)),
                        ('author', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                        ('item', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.RESTRICT, to='datasets.item')),
                        ('last_by', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                        ('person', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to=settings.AUTH_USER_MODEL)),
                        ('resolved_by', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ],
                    options={
                        'db_table': 'datasets_comment',
                    },
                ),
                migrations.CreateModel(
                    name='Answer',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('text', models.TextField()),
                        ('written_at', models.DateTimeField(default=django.utils.timezone.now)),
                        ('edited_at', models.DateTimeField(blank=True, null=True)),
                        ('author', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                        ('comment', models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, to='work.comment')),
                    ],
                    options={
                        'db_table': 'datasets_answer',
                    },
                ),
                migrations.CreateModel(
                    name='Flag',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('kind', models.CharField(choices=[('issue', 'Issue'), ('uncertain', 'Uncertain'), ('quality', 'Quality')], max_length=9)),
                        ('why', models.CharField(blank=True, max_length=200)),
                        ('set_at', models.DateTimeField(default=django.utils.timezone.now)),
                        ('item', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.RESTRICT, to='datasets.item')),
                        ('person', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to=settings.AUTH_USER_MODEL)),
                    ],
                    options={
                        'db_table': 'datasets_flag',
                    },
                ),
                migrations.CreateModel(
                    name='ItemLabel',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('label', models.BigIntegerField()),
                        ('item', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.RESTRICT, to='datasets.item')),
                    ],
                    options={
                        'db_table': 'datasets_itemlabel',
                    },
                ),
                migrations.CreateModel(
                    name='RemovedEntity',
                    fields=[
                        ('id', models.BigIntegerField(primary_key=True, serialize=False)),
                        ('is_noted', models.BooleanField(default=False)),
                        ('is_broken', models.BooleanField(default=False)),
                        ('label_id', models.BigIntegerField()),
                        ('uid', models.CharField(max_length=100)),
                        ('status', models.CharField(choices=[('suggested', 'Suggested'), ('accepted', 'Accepted'), ('rejected', 'Rejected')], max_length=9)),
                        ('origin', models.CharField(choices=[('given', 'the dataset'), ('person', 'a person'), ('preannotation', 'a preannotation'), ('propagation', 'a propagation'), ('history', 'what was marked before')], max_length=13)),
                        ('batch_id', models.BigIntegerField(null=True)),
                        ('created_at', models.DateTimeField()),
                        ('updated_at', models.DateTimeField()),
                        ('start', models.PositiveIntegerField()),
                        ('end', models.PositiveIntegerField()),
                        ('words_key', models.BigIntegerField()),
                        ('annotation', models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='+', to='datasets.annotation')),
                        ('removed_by', models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='+', to='work.batch')),
                    ],
                    options={
                        'verbose_name_plural': 'removed entities',
                        'db_table': 'datasets_removedentity',
                    },
                ),
                migrations.CreateModel(
                    name='RemovedRelation',
                    fields=[
                        ('id', models.BigIntegerField(primary_key=True, serialize=False)),
                        ('is_noted', models.BooleanField(default=False)),
                        ('is_broken', models.BooleanField(default=False)),
                        ('label_id', models.BigIntegerField()),
                        ('uid', models.CharField(max_length=100)),
                        ('status', models.CharField(choices=[('suggested', 'Suggested'), ('accepted', 'Accepted'), ('rejected', 'Rejected')], max_length=9)),
                        ('origin', models.CharField(choices=[('given', 'the dataset'), ('person', 'a person'), ('preannotation', 'a preannotation'), ('propagation', 'a propagation'), ('history', 'what was marked before')], max_length=13)),
                        ('batch_id', models.BigIntegerField(null=True)),
                        ('created_at', models.DateTimeField()),
                        ('updated_at', models.DateTimeField()),
                        ('source_id', models.BigIntegerField()),
                        ('target_id', models.BigIntegerField()),
                        ('annotation', models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='+', to='datasets.annotation')),
                        ('removed_by', models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='+', to='work.batch')),
                    ],
                    options={
                        'db_table': 'datasets_removedrelation',
                    },
                ),
                migrations.AddIndex(
                    model_name='batch',
                    index=models.Index(fields=['dataset', 'person', 'id'], name='batch_of_person'),
                ),
                migrations.AddIndex(
                    model_name='comment',
                    index=models.Index(fields=['item', 'person'], name='comment_item_person'),
                ),
                migrations.AddConstraint(
                    model_name='flag',
                    constraint=models.UniqueConstraint(fields=('item', 'person', 'kind'), name='flag_once'),
                ),
                migrations.AddIndex(
                    model_name='itemlabel',
                    index=models.Index(fields=['label', 'item'], name='item_label'),
                ),
                migrations.AddConstraint(
                    model_name='itemlabel',
                    constraint=models.UniqueConstraint(fields=('item', 'label'), name='item_label_once'),
                ),
            ],
        ),
    ]
