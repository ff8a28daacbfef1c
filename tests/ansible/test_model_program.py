"""qops-model, the program that model_store places on a host, against a hub of our own."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest
from model_hub import COMMIT, REPO, Hub, tiny_model
from playing import ROOT

PROGRAM = ROOT / "roles/model_store/files/qops-model"
BIG = "model-00001-of-00002.safetensors"
MANIFEST = "qops-manifest.json"


def _spec(hub: Hub, root: Path, **more: Any) -> dict[str, Any]:
    model = {"repo": REPO, "revision": COMMIT, **more.pop("model", {})}
    return {"root": str(root), "endpoint": hub.url, "jobs": 2, "keep_free": 0, "models": [model], **more}


def _run(*arguments: str, given: object = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-IB", str(PROGRAM), *arguments],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def _fetch(spec: dict[str, Any]) -> dict[str, Any]:
    done = _run("fetch", given=spec)
    assert done.stdout, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == (1 if answer["errors"] else 0)
    return answer


def _folder(root: Path) -> Path:
    return root / "lab--tiny" / COMMIT


def _files(root: Path) -> dict[str, bytes]:
    folder = _folder(root)
    return {
        p.relative_to(folder).as_posix(): p.read_bytes()
        for p in folder.rglob("*")
        if p.is_file() and p.name not in (MANIFEST, ".qops-verified")
    }


def test_a_model_comes_whole_and_the_second_run_asks_nothing(tmp_path: Path) -> None:
    with Hub() as hub:
        answer = _fetch(_spec(hub, tmp_path))
        assert (answer["errors"], answer["changed"]) == ([], True)
        assert _files(tmp_path) == hub.files
        hub.asked.clear()
        answer = _fetch(_spec(hub, tmp_path))
        assert (answer["errors"], answer["changed"], dict(hub.asked)) == ([], False, {})
    assert not list(tmp_path.rglob("*.incoming*"))


def test_the_manifest_has_a_hash_of_each_file(tmp_path: Path) -> None:
    with Hub() as hub:
        _fetch(_spec(hub, tmp_path))
    rows = {f["path"]: f for f in json.loads((_folder(tmp_path) / MANIFEST).read_text())["files"]}
    assert rows[BIG]["sha256"] == hashlib.sha256(tiny_model()[BIG]).hexdigest()
    assert len(rows["config.json"]["git_sha1"]) == 40 and "sha256" not in rows["config.json"]


def test_patterns_choose_the_files(tmp_path: Path) -> None:
    with Hub() as hub:
        _fetch(_spec(hub, tmp_path, model={"exclude": ["original/*", "*.md"]}))
    assert set(_files(tmp_path)) == set(tiny_model()) - {"original/consolidated.pth", "README.md"}


def test_a_connection_that_breaks_goes_on_where_it_was(tmp_path: Path) -> None:
    with Hub(truncate={BIG: 100_000}) as hub:
        answer = _fetch(_spec(hub, tmp_path))
        assert answer["errors"] == []
        assert f"{BIG} bytes=100000-" in hub.ranged
        assert _files(tmp_path) == hub.files


def test_without_ranges_it_starts_again(tmp_path: Path) -> None:
    with Hub(truncate={BIG: 100_000}, ranges=False) as hub:
        assert _fetch(_spec(hub, tmp_path))["errors"] == []
        assert _files(tmp_path) == hub.files


def test_a_killed_download_resumes(tmp_path: Path) -> None:
    with Hub(rate=400_000) as hub:
        spec = _spec(hub, tmp_path)
        process = subprocess.Popen(
            [sys.executable, "-IB", str(PROGRAM), "fetch"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        assert process.stdin
        process.stdin.write(json.dumps(spec).encode())
        process.stdin.close()
        part = tmp_path / "lab--tiny" / f"{COMMIT}.incoming" / BIG
        deadline = time.monotonic() + 20
        while not (part.exists() and part.stat().st_size > 100_000) and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert not _folder(tmp_path).exists()
        had = part.stat().st_size
        hub.rate = 0
        assert _fetch(spec)["errors"] == []
        assert any(one.startswith(BIG) and int(one.split("=")[1].rstrip("-")) >= had for one in hub.ranged)
        assert _files(tmp_path) == hub.files


def test_content_that_is_wrong_and_as_long_is_fetched_again(tmp_path: Path) -> None:
    with Hub(corrupt={BIG: 1}) as hub:
        assert _fetch(_spec(hub, tmp_path))["errors"] == []
        assert _files(tmp_path) == hub.files


def test_content_that_stays_wrong_is_refused_and_not_kept(tmp_path: Path) -> None:
    with Hub(corrupt={BIG: 9}) as hub:
        (error,) = _fetch(_spec(hub, tmp_path))["errors"]
        assert "came twice with a content that is not what the manifest says" in error
        assert not _folder(tmp_path).exists()
        assert not (tmp_path / "lab--tiny" / f"{COMMIT}.incoming" / BIG).exists()


def test_a_file_that_was_damaged_later_is_found_and_fetched_again(tmp_path: Path) -> None:
    with Hub() as hub:
        _fetch(_spec(hub, tmp_path))
        time.sleep(0.02)
        file = _folder(tmp_path) / BIG
        seen = file.stat()
        with file.open("r+b") as out:
            out.seek(1000)
            out.write(b"damage")
        os.utime(file, ns=(seen.st_atime_ns, seen.st_mtime_ns))  # as a restored backup would have it
        assert _run("verify", str(_folder(tmp_path))).stdout == (f"{file}: missing, or not what the manifest says\n")
        answer = _fetch(_spec(hub, tmp_path))
        assert answer["models"][0]["damaged"] == [BIG] and answer["models"][0]["fetched"] == [BIG]
        assert _files(tmp_path) == hub.files
        assert _run("verify", str(_folder(tmp_path))).returncode == 0
        assert _fetch(_spec(hub, tmp_path))["changed"] is False


def test_a_missing_file_alone_is_fetched(tmp_path: Path) -> None:
    with Hub() as hub:
        _fetch(_spec(hub, tmp_path))
        (_folder(tmp_path) / BIG).unlink()
        hub.asked.clear()
        assert _fetch(_spec(hub, tmp_path))["models"][0]["fetched"] == [BIG]
        assert set(hub.asked) == {f"/{REPO}/resolve/{COMMIT}/{BIG}", f"/storage/{BIG}"}


def test_a_branch_is_resolved_and_refused(tmp_path: Path) -> None:
    with Hub() as hub:
        (error,) = _fetch(_spec(hub, tmp_path, model={"revision": "main"}))["errors"]
    assert f"main moves, and is commit {COMMIT} now; to have it, say revision: {COMMIT}" in error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("hub", "more", "words"),
    [
        (Hub(token="hf_right"), {}, "is gated and there is no token: accept the terms at"),
        (Hub(token="hf_right"), {"token": "hf_wrong"}, "the hub refuses the token for lab/tiny (Invalid credentials"),
        (Hub(token="hf_right", gated=True), {"token": "hf_right"}, "this token's account has no access: accept"),
        (Hub(), {"model": {"repo": "lab/other"}}, "lab/other does not exist or is private"),
        (Hub(), {"model": {"revision": "f" * 40}}, f"has no revision {'f' * 40}"),
    ],
)
def test_a_refusal_says_what_to_do(tmp_path: Path, hub: Hub, more: dict[str, Any], words: str) -> None:
    with hub:
        done = _run("fetch", given=_spec(hub, tmp_path, **more))
    assert words in done.stdout
    assert "hf_" not in done.stdout + done.stderr


def test_the_token_opens_and_does_not_reach_the_storage(tmp_path: Path) -> None:
    with Hub(token="hf_right") as hub:
        assert _fetch(_spec(hub, tmp_path, token="hf_right"))["errors"] == []
        assert set(hub.tokens_at_storage) == {""}


def test_a_token_file_must_be_its_owners_alone(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("hf_right\n")
    file.chmod(0o644)
    with Hub(token="hf_right") as hub:
        spec = _spec(hub, tmp_path / "store", token_file=str(file))
        assert _fetch(spec)["errors"] == [f"{file} may be read by others: chmod 600 {file}"]
        file.chmod(0o600)
        assert _fetch(spec)["errors"] == []


def test_a_disk_that_is_too_small_is_refused_before_a_byte_comes(tmp_path: Path) -> None:
    with Hub() as hub:
        (error,) = _fetch(_spec(hub, tmp_path, keep_free=1 << 60))["errors"]
        assert "GB are still to come" in error and "model_store_root" in error
        assert not [path for path in hub.asked if "/resolve/" in path]


def test_a_hub_that_is_gone_does_no_harm_to_what_is_there(tmp_path: Path) -> None:
    with Hub() as hub:
        spec = _spec(hub, tmp_path)
        _fetch(spec)
    assert _fetch(spec)["errors"] == []
    (error,) = _fetch({**spec, "root": str(tmp_path / "other")})["errors"]
    assert f"{hub.url} does not answer" in error


@pytest.mark.parametrize("kind", ["folder", "tar"])
def test_without_a_hub_from_what_was_carried_here(tmp_path: Path, kind: str) -> None:
    carried = tmp_path / "disk"
    for path, content in tiny_model().items():
        (carried / path).parent.mkdir(parents=True, exist_ok=True)
        (carried / path).write_bytes(content)
    hub = Hub(url="http://127.0.0.1:9")
    spec = _spec(hub, tmp_path / "store", model={"source": str(carried)})
    (error,) = _fetch(spec)["errors"]
    assert f"qops-model manifest FOLDER {REPO} {COMMIT}" in error
    assert _run("manifest", str(carried), REPO, COMMIT).returncode == 0
    if kind == "tar":
        spec["models"][0]["source"] = str(tmp_path / "model.tar.gz")
        with tarfile.open(tmp_path / "model.tar.gz", "w:gz") as tar:
            tar.add(carried, "tiny")
    assert _fetch(spec)["errors"] == []
    assert _files(tmp_path / "store") == tiny_model()
    (carried / BIG).write_bytes(b"x" * len(tiny_model()[BIG]))
    if kind == "folder":
        (error,) = _fetch({**spec, "root": str(tmp_path / "second")})["errors"]
        assert "not what the manifest says" in error


def test_an_overlay_changes_files_and_leaves_the_model_alone(tmp_path: Path) -> None:
    overlay = {
        "name": "served",
        "definition": "1",
        "because": "the fused layers are not quantised",
        "json": {"config.json": {"torch_dtype": "bfloat16", "model_type": None}},
        "append": {"config.json": {"quantization_config.ignore": ["lm_head", "re:.*in_proj_ba$"]}},
        "files": {"chat_template.jinja": "{{ new }}\n"},
        "remove": ["README.md"],
    }
    with Hub() as hub:
        spec = _spec(hub, tmp_path, model={"overlay": overlay})
        answer = _fetch(spec)
        assert answer["errors"] == []
        assert _files(tmp_path) == hub.files
        served = Path(answer["models"][0]["path"])
        assert served.name == f"{COMMIT}--served"
        assert json.loads((served / "config.json").read_text()) == {
            "quantization_config": {"ignore": ["lm_head", "re:.*in_proj_ba$"], "bits": 4},
            "torch_dtype": "bfloat16",
        }
        assert (served / "chat_template.jinja").read_text() == "{{ new }}\n"
        assert not (served / "README.md").exists()
        assert (served / BIG).is_symlink() and (served / BIG).read_bytes() == hub.files[BIG]
        assert str((served / "original/consolidated.pth").readlink()) == f"../../{COMMIT}/original/consolidated.pth"
        assert _fetch(spec)["changed"] is False
        (served / "config.json").write_text("{}")
        assert _fetch(spec)["changed"] is True
        overlay["append"] = {"config.json": {"quantization_config.bits": [1]}}
        (error,) = _fetch(spec)["errors"]
        assert "config.json: quantization_config.bits, which is no list" in error


def test_a_path_that_leads_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    with Hub(files={"../../evil": b"x"}) as hub:
        (error,) = _fetch(_spec(hub, tmp_path))["errors"]
    assert "is no path of a file in a repository" in error
