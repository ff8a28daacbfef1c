"""The registry's images and what a host is told of it, without Docker."""

import gzip
import hashlib
import io
import json
import tarfile

from qops.lab.registry import images, server

BUILT = images.build(b"\x7fELF busybox")


def digest(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


def test_equal_contents_have_equal_digests_and_other_contents_others():
    assert images.build(b"\x7fELF busybox") == BUILT
    assert len({one.digest for one in BUILT}) == len(BUILT)
    assert images.build(b"another")[0].digest != BUILT[0].digest


def test_an_image_declares_what_the_vendors_do_and_fits_together():
    image = next(one for one in BUILT if one.name == "lab/cuda")
    config = json.loads(image.config)
    assert "NVIDIA_REQUIRE_CUDA=cuda>=13.0" in config["config"]["Env"]
    assert config["config"]["Labels"]["org.opencontainers.image.title"] == "lab/cuda"
    assert config["rootfs"]["diff_ids"] == [digest(gzip.decompress(image.layer))]
    manifest = json.loads(image.manifest)
    assert manifest["config"]["digest"] == digest(image.config)
    assert manifest["layers"][0] == {
        "mediaType": "application/vnd.oci.image.layer.v1.tar+gzip",
        "size": len(image.layer),
        "digest": digest(image.layer),
    }


def test_a_layer_has_the_files_of_the_definition():
    image = next(one for one in BUILT if one.name == "lab/inference")
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(image.layer))) as layer:
        assert layer.getmember("bin/httpd").linkname == "busybox"
        models = layer.extractfile("srv/v1/models")
        assert models is not None
        assert json.load(models)["data"][0]["id"] == "lab"


def test_it_is_stored_where_the_registry_looks():
    files = images.stored(BUILT)
    image = BUILT[0]
    hexadecimal = image.digest.removeprefix("sha256:")
    top = "docker/registry/v2"
    assert files[f"{top}/blobs/sha256/{hexadecimal[:2]}/{hexadecimal}/data"] == image.manifest
    tag = f"{top}/repositories/{image.name}/_manifests/tags/{image.tag}/current/link"
    assert files[tag] == image.digest.encode()


def test_the_registry_is_merged_into_dockers_configuration():
    merged = server.daemon_json(b'{"log-driver": "journald", "insecure-registries": ["other:5000"]}')
    assert json.loads(merged) == {
        "log-driver": "journald",
        "insecure-registries": ["other:5000", "registry.lab.internal:5000"],
    }
    assert server.daemon_json(merged) == merged
