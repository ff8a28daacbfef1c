"""Words and settings as systemd reads them: systemd.syntax(7), and systemd-escape where it is there."""

import pytest

from qops.flags import systemd


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a b  c", ["a", "b", "c"]),
        ("'a b' \"c d\"", ["a b", "c d"]),
        ("a'b c'd", ["ab cd"]),
        ('\'it\\\'s\' "say \\"x\\""', ["it's", 'say "x"']),
        ("'C:\\\\x' \\x41\\u00e9 \\s", ["C:\\x", "Aé", " "]),
        ('\'{"method":"mtp"}\'', ['{"method":"mtp"}']),
        ("'' a", ["", "a"]),
        ("'not closed", ["not closed"]),
        ("", []),
        ("\\", ["\\"]),
    ],
)
def test_words(value: str, expected: list[str]) -> None:
    assert [word.text for word in systemd.words(value, 1)] == expected


def test_settings_keep_their_lines_through_comments_and_continuations() -> None:
    text = "[Service]\n# said\nExecStart=/a \\\n  # not said\n  'b \\\nc' d\n\nUser = x\n[Install]\nWantedBy=y\n"
    start, user, wanted = systemd.settings(text, "u")
    assert (start.name, start.line, user.value, user.line, wanted.section) == ("ExecStart", 3, "x", 8, "Install")
    assert [(word.text, word.line) for word in systemd.words(start.value, start.line)] == [
        ("/a", 3), ("b  c", 5), ("d", 6),
    ]  # fmt: skip
