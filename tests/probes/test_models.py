import json

from judging import text

from qops.evidence.model import Models
from qops.probes import models

FOLDER = "/srv/models/acme--whale/" + "c" * 40
MANIFEST = {
    "schema": 1,
    "repo": "acme/whale",
    "revision": "c" * 40,
    "include": [],
    "exclude": ["*.pth"],
    "files": [
        {"path": "config.json", "size": 700, "git_sha1": "1" * 40},
        {"path": "model-1.safetensors", "size": 5_000_000_000, "sha256": "2" * 64},
        {"path": "sub/model-2.safetensors", "size": 4_000_000_000, "sha256": "3" * 64},
    ],
}
HEAD = f"== models\n== model {FOLDER}\nfree 900000000000\n"
WHOLE = (
    HEAD
    + f"manifest {json.dumps(MANIFEST)}\n"
    + "file 700 1796068061.6868750620 1796068061.6868750620 config.json\n"
    + "file 5000000000 1796068061.7000000000 1796068061.7000000000 model-1.safetensors\n"
    + "file 4000000000 1796068061.8000000000 1796068061.8000000000 sub/model-2.safetensors\n"
    + "file 35 1796068062.0000000000 1796068062.0000000000 .qops-verified\n"
)


def _parsed(content: str) -> Models:
    found = models.parse([text(content)])
    assert found is not None
    return found


def test_a_model_that_is_whole() -> None:
    (model,) = _parsed(WHOLE).models
    assert (model.repo, model.files, model.size) == ("acme/whale", 3, 9_000_000_700)
    assert (model.missing, model.wrong_size, model.touched, model.proved) == ((), (), (), True)
    assert model.exclude == ("*.pth",)
    assert model.free == 900_000_000_000


def test_what_is_missing_cut_short_or_touched() -> None:
    seen = WHOLE.replace("file 700 1796068061.6868750620", "file 700 1796068062.0000000010")
    seen = seen.replace("file 5000000000", "file 4999999999")
    seen = "".join(line for line in seen.splitlines(True) if not line.endswith("sub/model-2.safetensors\n"))
    (model,) = _parsed(seen).models
    assert model.missing == ("sub/model-2.safetensors",)
    assert model.wrong_size == ("model-1.safetensors",)
    assert model.touched == ("config.json",)


def test_a_download_under_way() -> None:
    (model,) = _parsed(HEAD + "arrived 1234567\n").models
    assert (model.repo, model.arrived, model.proved) == ("", 1_234_567, False)


def test_an_overlay() -> None:
    overlay = (
        f"== overlay d1 {FOLDER}--served\n"
        'manifest {"schema": 1, "definition": "d1"}\nbroken 2\n'
        "file 90 1796068063.0000000000 1796068063.0000000000 qops-overlay.json\n"
        "file 70 1796068064.0000000000 1796068064.0000000000 config.json\n"
    )
    (model,) = _parsed(WHOLE + overlay).models
    assert model.overlay is not None
    assert (model.overlay.wanted, model.overlay.definition, model.overlay.broken) == ("d1", "d1", 2)
    assert model.overlay.touched == ("config.json",)


def test_nothing_is_to_be_kept() -> None:
    assert _parsed("== models\n").models == ()


def test_a_manifest_that_cannot_be_read_is_none() -> None:
    (model,) = _parsed(HEAD + 'manifest {"repo": \n' + "file 1 1.0 1.0 a\n").models
    assert (model.repo, model.files) == ("", 0)


def test_other_texts_are_left_alone() -> None:
    assert models.parse([text("models\n== modelling\n")]) is None
