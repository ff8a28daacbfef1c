"""Tables that tests write: what a run saw takes the place of what an older one saw, and nothing else changes."""

import re

import pytest
from measured import PAGE, Table

TABLE = Table("endings", "tests/ansible/endings.py", ("ending", "service", "seconds", "what comes of it"), 2)
HEAD = "| ending | service | seconds | what comes of it |\n| --- | --- | --- | --- |\n"
MARKS = re.findall(r"<!-- (\w+): begin \(([^)]+)\) -->\n\| (.*) \|", PAGE.read_text(encoding="utf-8"))


def test_a_row_takes_the_place_of_its_older_one_and_a_new_one_comes_last() -> None:
    page = f"# Page\n\n{TABLE.begin}\n{HEAD}| a | bare | 9 | old |\n| b | bare | 2 | kept |\n{TABLE.end}\nafter\n"
    once = TABLE.merged(page, ("a", "bare", "3", "answers\nagain | and more"))
    assert once == page.replace("| a | bare | 9 | old |", "| a | bare | 3 | answers again and more |")
    twice = TABLE.merged(once, ("a", "docker", "6", "answers"))
    assert twice == once.replace(f"{TABLE.end}", f"| a | docker | 6 | answers |\n{TABLE.end}")


@pytest.mark.parametrize(("name", "by", "head"), MARKS)
def test_the_page_has_tables_that_stay_as_they_are(name: str, by: str, head: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    table = Table(name, by, tuple(head.split(" | ")), 1)
    first = page.partition(table.begin)[2].strip().splitlines()[2]
    same = Table(name, by, table.head, len(table.head)).merged(page, first.strip("| ").split(" | "))
    assert same == page
