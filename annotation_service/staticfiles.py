from django.contrib.staticfiles.storage import HashedFilesMixin
from whitenoise.storage import CompressedManifestStaticFilesStorage


class StaticFiles(CompressedManifestStaticFilesStorage):
    """Compressed files with a hash in their name, those that our JavaScript modules import included.

    Django can do that for all JavaScript files (``support_js_module_import_aggregation``); in those of other packages it
    stumbles over examples in comments.
    """

    patterns = (
        *HashedFilesMixin.patterns,
        ("js/*", HashedFilesMixin._js_module_import_aggregation_patterns[1]),  # type: ignore[attr-defined]
    )
    # Each pass follows the imports one step further, and stops early where nothing changes any more.
    max_post_process_passes = 50
