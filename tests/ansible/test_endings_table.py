"""The table of endings: what a run saw takes the place of what an older one saw, and nothing else changes."""

from endings import BEGIN, END, PAGE, merged, row

TABLE = "| ending | service | seconds | what comes of it |\n| --- | --- | --- | --- |\n"


def test_a_row_takes_the_place_of_its_older_one_and_a_new_one_comes_last() -> None:
    page = f"# Page\n\n{BEGIN}\n{TABLE}| a | bare | 9 | old |\n| b | bare | 2 | kept |\n{END}\nafter\n"
    once = merged(page, row("a", "bare", 3.4, "answers\nagain | and `more`"))
    assert once == page.replace("| a | bare | 9 | old |", "| a | bare | 3 | answers again and more |")
    twice = merged(once, row("a", "docker", 5.6, "answers"))
    assert twice == once.replace(f"{END}", f"| a | docker | 6 | answers |\n{END}")


def test_the_page_has_a_table_that_stays_as_it_is() -> None:
    page = PAGE.read_text(encoding="utf-8")
    first = page.partition(BEGIN)[2].strip().splitlines()[2]
    assert merged(page, tuple(cell.strip() for cell in first.strip("| ").split(" | "))) == page
