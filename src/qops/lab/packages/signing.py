"""The key that signs a lab's repository: made for the lab, thrown away with it, and good for nothing else."""

import os
import secrets
import tempfile
import time
from pathlib import Path

from qops.lab.packages import openpgp
from qops.lab.packages.openpgp import Key
from qops.lab.place import Place

OWNER = "qops lab, throw-away key of one lab <lab@qops.invalid>"


def public_key(place: Place) -> bytes:
    """Return the lab's public key in armour, making the pair if there is none."""
    return openpgp.public(_key(place))


def clear_sign(place: Place, text: str) -> bytes:
    """Return `text` signed, as InRelease is."""
    return openpgp.clear_sign(_key(place), text, int(time.time()))


def forget(place: Place) -> None:
    """Remove the key, and what a killed run has left of one."""
    for path in place.folder.glob(f"{_file(place).name}*"):
        path.unlink()


def _file(place: Place) -> Path:
    return place.folder / "repository-key"


def _key(place: Place) -> Key:
    path = _file(place)
    if not path.exists():
        place.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, fresh = tempfile.mkstemp(dir=place.folder, prefix="repository-key.")
        with os.fdopen(handle, "w", encoding="ascii") as stream:
            stream.write(f"{int(time.time())} {secrets.token_hex(32)}\n")
        Path(fresh).replace(path)
    created, seed = path.read_text(encoding="ascii").split()
    return Key(bytes.fromhex(seed), int(created), OWNER)
