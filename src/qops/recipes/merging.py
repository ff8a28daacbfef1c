"""What a recipe becomes that extends another one: what it says goes over what that one says."""

from dataclasses import replace

from qops.flags.document import Item

_BY_KEY = ("model", "engine", "image", "hardware", "environment", "by_hand", "chat_template")
_OWN = ("figures", "retired", "extends", "name")  # another recipe's measurements and end are not this one's


def merged(base: Item, over: Item) -> Item:
    """Return `over` on `base`: mappings key by key, flags by their names, anything else whole.

    A flag or variable with the value null is taken out. Figures are not inherited: they were measured otherwise.
    """
    found = {key: value for key, value in base.keys if key not in _OWN}
    for key, value in over.keys:
        below = found.get(key)
        if below and key in _BY_KEY and below.kind == value.kind == "map":
            found[key] = replace(value, keys=tuple({**below.mapping, **value.mapping}.items()))
        elif below and key == "flags" and below.kind == value.kind == "seq":
            found[key] = replace(value, items=tuple(_flags(below, value)))
        else:
            found[key] = value
    return replace(over, keys=tuple(found.items()))


def _flags(base: Item, over: Item) -> list[Item]:
    by_name = {_name(one): one for one in base.items}
    for one in over.items:
        by_name[_name(one)] = one
    return [one for one in by_name.values() if not _removed(one)]


def _name(flag: Item) -> str:
    return flag.keys[0][0] if flag.keys else flag.text


def _removed(flag: Item) -> bool:
    return bool(flag.keys) and flag.keys[0][1].kind == "null"
