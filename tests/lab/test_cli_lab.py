import json
import subprocess
import sys

from click.testing import CliRunner

from qops.cli.lab import lab


def test_list_shows_scenarios_and_faults():
    shown = CliRunner().invoke(lab, ["list"])
    assert shown.exit_code == 0
    assert "shm-too-small" in shown.stdout
    read = json.loads(CliRunner().invoke(lab, ["list", "--format", "json"]).stdout)
    assert read["schema"] == 1
    assert "port-in-use" in [fault["cause"] for fault in read["faults"]]


def test_help_names_every_command():
    shown = CliRunner().invoke(lab, ["-h"]).stdout
    for name in ("up", "down", "status", "ssh", "inventory", "break", "mend", "list"):
        assert f"  {name} " in shown


def test_the_group_imports_nothing_heavy():
    code = (
        "import sys, qops.cli.lab; "
        "print([m for m in ('yaml','rich','jinja2','fabric','tarfile','qops.lab.lifecycle') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
