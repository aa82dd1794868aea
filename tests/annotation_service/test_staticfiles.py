"""The files that browsers load."""

from django.core.files.base import ContentFile

from annotation_service.http import StaticFiles


def test_modules_may_import_one_another_over_many_steps(tmp_path):
    storage = StaticFiles(location=tmp_path, base_url="/static/")
    names = [f"js/{n}.js" for n in range(20)]
    for n, name in enumerate(names):
        storage.save(name, ContentFile(f'import {{ x }} from "./{n + 1}.js";\n' if n < 19 else "export const x = 1;\n"))
    processed = list(storage.post_process({name: (storage, name) for name in names}))
    assert not [problem for *_, problem in processed if isinstance(problem, Exception)]
    assert storage.stored_name("js/1.js").rpartition("/")[2] in (tmp_path / storage.stored_name("js/0.js")).read_text()
