from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('datasets', '0038_fill_sources'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='entity',
            index=models.Index(condition=models.Q(('suggested_by__isnull', False)), fields=['suggested_by', 'annotation'], name='entity_source'),
        ),
        migrations.AddIndex(
            model_name='relation',
            index=models.Index(condition=models.Q(('suggested_by__isnull', False)), fields=['suggested_by', 'annotation'], name='relation_source'),
        ),
    ]
