"""The table of Django's cache, which is no model."""

from typing import Any

from django.core.management import call_command
from django.db import migrations


def create(_apps: Any, schema_editor: Any) -> None:
    call_command("createcachetable", database=schema_editor.connection.alias, verbosity=0)


class Migration(migrations.Migration):
    dependencies = [("limits", "0001_initial")]

    operations = [migrations.RunPython(create, migrations.RunPython.noop)]
