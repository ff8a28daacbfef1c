import json

from judging import text

from qops.evidence.image import Compat, Images, KeptImage, Look
from qops.probes import images

ID, DIGEST = "sha256:" + "a" * 64, "sha256:" + "d" * 64
ROW = {
    "id": ID,
    "tags": ["acme/engine:1"],
    "digests": [f"acme/engine@{DIGEST}"],
    "size": 9_000_000_000,
    "architecture": "amd64",
    "environment": ["CUDA_VERSION=13.0.1", "NVIDIA_REQUIRE_CUDA=cuda>=13.0 driver>=535,driver<536", None],
}
RECORD = {
    "names": {"engine": [{"image": "acme/engine:1", "digest": DIGEST, "id": "", "local": ID}]},
    "looks": {
        ID: {
            "compat": [{"path": "/c/libcuda.so.580.65.06", "version": "580.65.06", "note": '{"driver":[535,550]}'}],
            "kernels": {"vllm": ["sm_90a"]},
        }
    },
}
SEEN = (
    "== images\nmachine x86_64\n"
    f"wanted engine acme/engine:1 {DIGEST} -\n"
    f"record {json.dumps(RECORD)}\n"
    "engine docker\n"
    f"image docker {json.dumps(ROW)}\n"
)


def _parsed(content: str) -> Images:
    found = images.parse([text(content)])
    assert found is not None
    return found


def test_a_host_with_an_image() -> None:
    seen = _parsed(SEEN)
    (one,) = seen.images
    assert (one.id, one.cuda, one.size) == (ID, "13.0.1", 9_000_000_000)
    assert one.requires.startswith("cuda>=13.0")
    assert (seen.engine, seen.machine) == ("docker", "x86_64")
    assert (seen.wanted[0].name, seen.wanted[0].digest, seen.wanted[0].id) == ("engine", DIGEST, "")
    assert seen.kept == {"engine": (KeptImage(ID, DIGEST),)}
    assert seen.looked == {
        ID: Look((Compat("/c/libcuda.so.580.65.06", "580.65.06", (535, 550)),), {"vllm": ("sm_90a",)})
    }


def test_podman_leaves_the_hash_out() -> None:
    row = {**ROW, "id": "a" * 64}
    seen = _parsed(f"== images\nengine podman /var/lib/containers/storage\nimage podman {json.dumps(row)}\n")
    assert (seen.engine, seen.images[0].id, seen.images[0].engine) == ("podman", ID, "podman")


def test_an_engine_that_does_not_answer() -> None:
    seen = _parsed("== images\nsilent docker Cannot connect to the Docker daemon\n")
    assert (seen.engine, seen.error) == ("", "docker: Cannot connect to the Docker daemon")


def test_no_engine() -> None:
    assert _parsed("== images\nmachine aarch64\n").engine == ""


def test_rows_that_cannot_be_read_are_left_out() -> None:
    seen = _parsed('== images\nrecord {"names": \nimage docker {"id": 7}\nimage docker {"id"\nwanted X y z -\n')
    assert (seen.images, seen.wanted, seen.kept) == ((), (), {})


def test_the_script_asks_for_no_other_variable_of_an_image() -> None:
    assert 'eq $name "CUDA_VERSION" "NVIDIA_REQUIRE_CUDA"' in images.SCRIPT
    assert ".Config.Env}}" not in images.SCRIPT
