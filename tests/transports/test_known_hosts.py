"""The lines of known_hosts files that are about one host, beside what paramiko's own reader finds."""

import base64
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from paramiko.hostkeys import HostKeys

from qops.transports import known_hosts

BLOBS = [b"\0\0\0\x0bssh-ed25519\0\0\0 " + bytes([n]) * 32 for n in range(4)]
KEYS = [f"ssh-ed25519 {base64.b64encode(blob).decode()}" for blob in BLOBS]


def test_names_ports_hashes_and_comments(tmp_path: Path) -> None:
    hashed = HostKeys.hash_host("[gpu-2]:2222")
    file = tmp_path / "known"
    file.write_text(
        f"# gpu-1 {KEYS[3]}\n\ngpu-1,192.0.2.1 {KEYS[0]}\n{hashed} {KEYS[1]}\n[gpu-1]:2222 {KEYS[2]}\n|1|bad {KEYS[3]}\n"
    )
    found = {
        name: [KEYS.index(line.split(" ", 1)[1]) for line in known_hosts.lines([str(file)], name)]
        for name in ("gpu-1", "192.0.2.1", "[gpu-1]:2222", "[gpu-2]:2222", "gpu-2", "#")
    }
    assert found == {"gpu-1": [0], "192.0.2.1": [0], "[gpu-1]:2222": [2], "[gpu-2]:2222": [1], "gpu-2": [], "#": []}
    assert known_hosts.name("gpu-2", 2222) == "[gpu-2]:2222"


def test_a_file_that_changes_is_read_again_and_one_that_cannot_be_read_has_no_lines(tmp_path: Path) -> None:
    file = tmp_path / "known"
    file.write_text(f"a {KEYS[0]}\n")
    assert known_hosts.lines([str(file)], "a") == (f"a {KEYS[0]}",)
    file.write_text(f"a {KEYS[0]}\na {KEYS[1]}\n")
    assert len(known_hosts.lines([str(file)], "a")) == 2
    file.write_bytes(b"a \xff\xfe")
    for unreadable in (str(file), str(tmp_path / "none"), str(tmp_path), "~no-such-user-here/known"):
        assert known_hosts.lines([unreadable], "a") == ()


@given(st.lists(st.sampled_from(["a", "b", "a,b", "|1|", "#", " ", "@revoked"]), max_size=6), st.integers(0, 3))
def test_it_finds_what_paramiko_finds(names: list[str], first: int) -> None:
    written = [f"{HostKeys.hash_host('a') if n == '|1|' else n} {KEYS[(first + i) % 4]}" for i, n in enumerate(names)]
    with tempfile.NamedTemporaryFile("w", suffix=".known") as file:
        file.write("\n".join(written) + "\n")
        file.flush()
        theirs = HostKeys(file.name).lookup("a")
        ours = known_hosts.lines([file.name], "a")
    assert (theirs is None) == (not ours)
    if theirs is not None:
        assert theirs["ssh-ed25519"].get_base64() == ours[0].split()[2]
