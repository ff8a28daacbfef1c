"""What of a page reads, what changes, where it runs, and how its placeholders are filled."""

from qops.runbook import filling
from qops.runbook.page import parse

PAGE = """# Title of it

## Diagnosis

```bash
unit=small
systemctl status "$unit"
qops diagnose serve --select "$unit"
```

```bash changes
touch /run/x
```

```text
rm -rf not-a-command
```

## Mitigation

```bash reads
uname -r
```

```bash
NAME=a
docker restart "$NAME"
```

```bash by hand
sudoedit /etc/x
```
"""


def test_the_heading_decides_and_the_fence_can_say_otherwise() -> None:
    page = parse("it", "host", PAGE)
    assert page.title == "Title of it"
    assert page.headings == ("Diagnosis", "Mitigation")
    assert [(step.script.splitlines()[0], step.changes, step.by_hand) for step in page.steps] == [
        ('systemctl status "$unit"', False, False),
        ('qops diagnose serve --select "$unit"', False, False),
        ("touch /run/x", True, False),
        ("uname -r", False, False),
        ('docker restart "$NAME"', True, False),
        ("sudoedit /etc/x", True, True),
    ]


def test_a_block_is_cut_where_the_machine_changes_and_keeps_what_it_uses_of_what_was_assigned_above() -> None:
    page = parse("it", "host", PAGE)
    assert [step.here for step in page.steps[:2]] == [False, True]
    assert page.steps[1].given == ("unit=small",)
    assert page.steps[4].given == ("NAME=a",)


def test_what_measures_the_hosts_gpus_is_run_on_the_host() -> None:
    page = parse("it", "nccl", "## Diagnosis\n\n```bash\nqops probe p2p --predict\nsudo qops diagnose nccl\n```\n")
    assert [step.here for step in page.steps] == [False, True]


def test_a_page_that_ends_in_the_middle_is_read_as_far_as_it_goes() -> None:
    assert parse("it", "host", "## Diagnosis\n\n```bash\nuname").steps == ()
    assert parse("it", "host", "\x00```\n```bash\n").title == "it"


def test_values_fill_assignments_and_words_and_are_quoted() -> None:
    script = 'pid=1\nkill -0 "$pid"; cat /proc/PID/status; docker logs NAME; echo PIDS'
    assert filling.fill(script, {"PID": "7", "NAME": "a b"}) == (
        "pid=7\nkill -0 \"$pid\"; cat /proc/7/status; docker logs 'a b'; echo PIDS"
    )
    assert filling.fill("gpu=0", {"GPU": "1; rm -rf /"}) == "gpu='1; rm -rf /'"


def test_what_is_not_known_is_named() -> None:
    assert filling.missing('run IMAGE "$NAME" --limit HOST IMAGE') == ("IMAGE", "HOST")


def test_prose_is_left_as_it_is() -> None:
    text = "Replace PID. `kill PID`\n\n```bash\nls /proc/PID\n```\n"
    assert filling.fill_page(text, {"PID": "9"}) == "Replace PID. `kill 9`\n\n```bash\nls /proc/9\n```\n"
