"""The arguments that an engine prints at its start, as (name, value) pairs: a dict or the repr of a dataclass."""

MOST_ARGUMENTS = 1000
LONGEST_VALUE = 500  # characters kept
LONGEST_TEXT = 200_000  # characters read

_OPENING, _CLOSING = "([{<", ")]}>"


def pairs(printed: str) -> tuple[tuple[str, str], ...]:
    """Return the pairs of `{'a': 1, 'b': 'x'}` or `Name(a=1, b='x')`, outer quotes of names and texts removed.

    A cut line gives the pairs that are whole. One pass, no evaluation: values may be the repr of anything.
    """
    begin = next((i for i, c in enumerate(printed[:200]) if c in "({"), None)
    if begin is None:
        return ()
    found: list[tuple[str, str]] = []
    for item in _items(printed[begin : begin + LONGEST_TEXT], ":" if printed[begin] == "{" else "="):
        if len(found) == MOST_ARGUMENTS:
            break
        found.append(item)
    return tuple(found)


def _items(body: str, sign: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    depth, quote, start, middle = 0, "", 1, -1
    escaped = False
    for i, c in enumerate(body):
        if quote:
            if escaped:
                escaped = False
            elif c == "\\":
                escaped = True
            elif c == quote:
                quote = ""
        elif c in "'\"":
            quote = c
        elif c in _OPENING:
            depth += 1
        elif c in _CLOSING and not (c == ">" and body[i - 1] in "-="):
            depth -= 1
        elif depth == 1 and c == sign and middle < 0:
            middle = i
        at_end = depth == 0 and i > 0
        if (at_end or (depth == 1 and c == "," and not quote)) and i >= start:
            if middle > 0:
                found.append((_bare(body[start:middle]), _bare(body[middle + 1 : i])))
            start, middle = i + 1, -1
        if at_end:
            break
    return [(name, value) for name, value in found if name]


def _bare(printed: str) -> str:
    text = printed.strip()
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    return text[:LONGEST_VALUE]
