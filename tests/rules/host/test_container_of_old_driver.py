import pytest
from judging import causes, outcomes

from qops.rules.host.container_of_old_driver import container_of_old_driver

TAIL = "OCI runtime attempted to invoke a command that was not found"


@pytest.mark.parametrize(
    "text",
    [
        f"Error: crun: cannot stat `/lib64/libEGL_nvidia.so.550.54.14`: No such file or directory: {TAIL}\n",
        f"crun: error stat'ing file /lib/x86_64-linux-gnu/libEGL_nvidia.so.535.161.07: No such file or directory: {TAIL}\n",
        "runc create failed: error mounting: open /usr/lib64/libcuda.so.570.86.15: no such file or directory: unknown\n",
    ],
)
def test_a_file_of_a_driver_that_has_gone(text: str) -> None:
    assert causes({"podman.log": text}) == ["container-of-old-driver"]


@pytest.mark.parametrize(
    "text",
    [
        f"Error: crun: cannot stat `/srv/models/config.json`: No such file or directory: {TAIL}\n",
        "ImportError: libcuda.so.1: cannot open shared object file: No such file or directory\n",
    ],
)
def test_other_files_are_another_matter(text: str) -> None:
    assert "container-of-old-driver" not in causes({"podman.log": text})


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(container_of_old_driver, {}) is None
