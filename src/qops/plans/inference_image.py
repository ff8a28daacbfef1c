"""The plan of the role inference_image: which images are on the host, by digest, and whether its driver runs them."""

import re
from collections.abc import Mapping
from typing import Any

from qops.derive.cuda_compat import host_driver
from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.derive.image import Runs, held, verdict, without_kernels
from qops.derive.setting import Setting, State, setting
from qops.errors import UsageError
from qops.evidence.gpu import DriverModule, Gpus
from qops.evidence.image import Image, Images, Look
from qops.inventory.host import is_true
from qops.plans.base import Options, Plan, RolePlan, Seen
from qops.probes.images import RECORD

DEFAULTS: dict[str, Any] = {
    "manage": True,
    "images": [],
    "lock": {},
    "engine": "auto",
    "mirror": "",
    "keep_free_gb": 20,
    "check_tags": False,
    "prune": False,
}
_NAME = re.compile(r"[a-z0-9][a-z0-9\-]{0,40}")
_IMAGE = re.compile(r"[a-z0-9][\w.\-]*(?::[0-9]{1,5})?(?:/[a-z0-9][a-z0-9._\-]*)*:[\w][\w.\-]{0,127}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_MIRROR = re.compile(r"[A-Za-z0-9][\w.\-]*(?::[0-9]{1,5})?(?:/[a-z0-9._\-]+)*")
_KEYS = {"name", "image", "digest", "id", "archive"}


def make(seen: Seen, hardware: Derived[HardwareClass], options: Options) -> Plan:
    """Return the plan. UsageError for a value that cannot be."""
    wanted = _checked(options)
    images: Images | None = seen.get(Images)
    facts = _facts(wanted, images, options)
    if images is None:
        return Plan(tuple(_unseen(w) for w in wanted), facts=facts)
    engine = facts["spec"]["engine"]
    refused, notes, settings = [], [], []
    if wanted and images.error.startswith(f"{engine}:"):
        refused.append(f"{images.error}; start it, or see systemctl status {engine}")
    driver = host_driver(seen.get(DriverModule), seen.get(Gpus))
    for one in wanted:
        found = held(images, one["name"], one["image"], one["digest"], one["id"])
        settings.append(_setting(one, found, images))
        if not one["digest"] and not one["id"]:
            notes.append(_to_pin(one, found))
        if found:
            look = images.looked.get(found.id, Look())
            judged = verdict(found.cuda, look.compat, driver, hardware.value)
            if judged.runs is Runs.NO:
                refused.append(
                    f"image {one['name']}: {judged.because}; take an image of an older CUDA or a newer driver"
                )
            notes += [
                f"image {one['name']}: {text}" for text in (judged.note, without_kernels(look, seen.get(Gpus))) if text
            ]
            if judged.runs is Runs.UNKNOWN:
                notes.append(f"image {one['name']}: whether the driver runs it is not known: {judged.because}")
    unsafe = [text for text in refused if text.startswith("image ")]
    return Plan(tuple(settings), tuple(refused), tuple(unsafe), tuple(notes), facts)


def _checked(options: Options) -> list[dict[str, str]]:
    """Return the images that are wanted. UsageError for a value that cannot be."""
    if options["engine"] not in ("auto", "docker", "podman"):
        raise UsageError(f"inference_image_engine cannot be {options['engine']!r}", "auto, docker or podman")
    mirror = str(options["mirror"])
    if mirror and not _MIRROR.fullmatch(mirror):
        raise UsageError(f"inference_image_mirror cannot be {mirror!r}", "give HOST[:PORT][/PREFIX], without https://")
    free = str(options["keep_free_gb"])
    if not (free.isascii() and free.isdigit()):
        raise UsageError(f"inference_image_keep_free_gb cannot be {free!r}", "give a number")
    if not isinstance(options["images"], list) or not isinstance(options["lock"], Mapping):
        raise UsageError("inference_image_images is a list and inference_image_lock a mapping", "NAME:TAG: sha256:…")
    wanted = [_image(one, options["lock"]) for one in options["images"]]
    names = [one["name"] for one in wanted]
    if len(set(names)) < len(names):
        raise UsageError("inference_image_images uses a name twice", "give each image a name of its own")
    return wanted


def _image(given: object, lock: Mapping[str, Any]) -> dict[str, str]:
    if not isinstance(given, Mapping) or set(map(str, given)) - _KEYS:
        raise UsageError(f"inference_image_images holds {given!r}", f"an image has {', '.join(sorted(_KEYS))}")
    name, (image, _, inline) = str(given.get("name", "")), str(given.get("image", "")).partition("@")
    if not _NAME.fullmatch(name):
        raise UsageError(f"inference_image_images: {name!r} is no name", "lower-case letters, digits and hyphens")
    if not _IMAGE.fullmatch(image) or image.endswith(":latest"):
        raise UsageError(
            f"image {name}: {image!r} is no image with a tag", "give REPOSITORY:TAG; latest says nothing of what it is"
        )
    made = {
        "name": name,
        "image": image,
        "digest": str(given.get("digest") or inline or lock.get(image) or ""),
        "id": str(given.get("id") or ""),
        "archive": str(given.get("archive") or ""),
    }
    for key in ("digest", "id"):
        if made[key] and not _DIGEST.fullmatch(made[key]):
            raise UsageError(f"image {name}: {key} cannot be {made[key]!r}", "sha256: and 64 hexadecimal digits")
    if made["archive"] and not (made["digest"] or made["id"]):
        raise UsageError(
            f"image {name}: an archive needs the image's digest or id, to prove what is in it",
            "where it was made: docker image inspect IMAGE | grep Id",
        )
    return made


def _unseen(wanted: Mapping[str, str]) -> Setting:
    return Setting(f"image {wanted['name']}", "", wanted["image"], "", State.UNSEEN, "the images were not seen")


def _setting(wanted: Mapping[str, str], found: Image | None, images: Images) -> Setting:
    value = wanted["digest"] or wanted["id"] or wanted["image"]
    if found is None:
        current = "not here" if images.engine else "not here, and no container engine is"
    elif found.id not in images.looked:
        current = "here, and not looked into yet"
    else:
        newest = next(iter(images.kept.get(wanted["name"], ())), None)
        current = value if newest and newest.local == found.id else "here, and another one is current"
    pinned = wanted["digest"] or wanted["id"]
    why = f"the inventory pins {wanted['image']}" if pinned else "the inventory names a tag, and no digest"
    if found and found.size:
        why += f" ({found.size / 1e9:.1f} GB{f', CUDA {found.cuda}' if found.cuda else ''})"
    return setting(f"image {wanted['name']}", value, current, why, path=found.id if found else "")


def _to_pin(wanted: Mapping[str, str], found: Image | None) -> str:
    digests = sorted({d.rpartition("@")[2] for d in found.digests}) if found else []
    if digests:
        return f"image {wanted['name']} is not pinned; add to inference_image_lock: {wanted['image']}: {digests[0]}"
    return f"image {wanted['name']} is not pinned: the run resolves {wanted['image']} and says the digest"


def _facts(wanted: list[dict[str, str]], images: Images | None, options: Options) -> dict[str, Any]:
    engine = str(options["engine"])
    if engine == "auto":
        # A docker that does not answer is still the host's engine: podman beside it is not taken for it.
        engine = (images.error.partition(":")[0] or images.engine) if images else ""
    lines = [f"{w['name']} {w['image']} {w['digest'] or '-'} {w['id'] or '-'}\n" for w in wanted]
    found = {w["name"]: held(images, w["name"], w["image"], w["digest"], w["id"]) for w in wanted} if images else {}
    return {
        "list": "".join(lines),
        "spec": {
            "engine": engine or "docker",
            "record": RECORD,
            "mirror": str(options["mirror"]),
            "keep_free": int(options["keep_free_gb"]) * 10**9,
            "prune": is_true(options["prune"]),
            "images": wanted,
        },
        # What a unit runs is the id: it cannot change, and needs no registry.
        "images": [
            {"name": w["name"], "image": w["image"], "run": (i := found.get(w["name"])) and i.id} for w in wanted
        ],
    }


PLAN = RolePlan(
    role="inference_image", kinds=(Images, DriverModule, Gpus), defaults=DEFAULTS, make=make, needs_class=False
)
