"""An engine that was found, in the words of the role inference_service's variables."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qops import redaction
from qops.adoption import expansion, sharing
from qops.adoption.found import Found, Left
from qops.data import engines
from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.derive.service import said
from qops.derive.service_unit import INSIDE, engine_home
from qops.errors import UsageError
from qops.evidence.gpu import Gpu, Gpus
from qops.evidence.text import Quote
from qops.flags import Assignment, Command, Remark, Severity, check, find
from qops.flags.command import serves
from qops.flags.shell import Word
from qops.plans import inference_service_options as role
from qops.plans.inference_service_values import is_secret

_NAME = 41  # characters of a service's name
# Options with a secret, and the variable that the engine reads in its place.
_SECRET_OPTIONS = {
    "vllm": {"--api-key": "VLLM_API_KEY", "--hf-token": "HF_TOKEN"},
    "sglang": {"--api-key": "", "--admin-api-key": ""},
}
_CACHE = "/root/.cache"


@dataclass(frozen=True, slots=True)
class Adopted:
    """A service for `inference_service_instances`; of its secrets the names, and where each was.

    `version` is the release that its options were checked for; `refused` says why the role would not take it.
    """

    source: str
    instance: Mapping[str, Any]
    secrets: Mapping[str, str]
    version: str
    left: tuple[Left, ...]
    remarks: tuple[Remark, ...]
    refused: tuple[str, ...] = ()

    @property
    def wrong(self) -> bool:
        """Whether the engine or the role refuses it as it is."""
        return bool(self.refused) or any(one.severity is Severity.ERROR for one in self.remarks)


def adopt(found: Found, taken: Collection[str] = (), version: str = "") -> Adopted:
    """Return an engine as the role takes it. `taken` are names in use, `version` the release if nothing else says it.

    UsageError, with the line, for what cannot be said in an inventory: a variable without a value, a secret in a word.
    """
    secrets: dict[str, str] = {}
    image = expansion.need(found.image, found.where(found.line))
    words = _whole(found, image)
    engine = command.engine if (command := find(words, image)) else ""
    words = _keyless(found, engine, words, secrets)
    for word in words:
        _checked(found, word)
    environment = _environment(found, secrets)
    gpus = sharing.gpus(found, environment)
    words, port, address = sharing.address(found, engine, words)
    texts = [word.text for word in words]
    name = _name(found.name or said(texts, image).model.rpartition("/")[2], taken)
    instance: dict[str, Any] = {"name": name}
    if found.runtime == "podman":
        instance["runtime"] = "podman"
    if image:
        instance["image"] = image
    instance["command"] = texts
    instance |= {"gpus": gpus, "port": port, "address": address}
    if found.user not in ("", "root"):
        instance["user"] = found.user
    if environment:
        instance["environment"] = {one.name: one.value for one in environment.values()}
    if volumes := _volumes(found, name):
        instance["volumes"] = volumes
    release, remarks = _remarks(found, find(words, image), environment, version)
    return Adopted(found.source, instance, secrets, release, tuple(found.left), remarks, _refused(instance, secrets))


def _whole(found: Found, image: str) -> list[Word]:
    """Return the command with its program: a container of vLLM's image may get arguments alone."""
    if found.image and serves(image) and find(found.words) is None:
        return [Word("vllm", found.line), Word("serve", found.line), *found.words]
    return found.words


def _keyless(found: Found, engine: str, words: Sequence[Word], secrets: dict[str, str]) -> list[Word]:
    """Return the command without its secrets, whose variables are noted."""
    options = _SECRET_OPTIONS.get(engine, {})
    kept: list[Word] = []
    dropping = False
    for word in words:
        name = word.text.partition("=")[0].replace("_", "-")
        if word.text.startswith("-"):
            dropping = name in options
            if dropping and options[name]:
                secrets[options[name]] = found.where(word.line)
                dropping = "=" not in word.text
                continue
            if dropping:
                told = "SGLang takes it from the command line alone, where everybody reads it: put a proxy before it"
                found.leave(word.line, name, told)
                dropping = "=" not in word.text
                continue
        if not dropping:
            kept.append(word)
    return kept


def _checked(found: Found, word: Word) -> None:
    expansion.need(word.text, found.where(word.line))
    if kinds := redaction.tokens(word.text.encode("utf-8", "surrogateescape")):
        message = f"{found.where(word.line)}: a word of the command holds a secret ({kinds[0]})"
        raise UsageError(message, "everybody reads a command line: give it in a variable, and run this again")


def _environment(found: Found, secrets: dict[str, str]) -> dict[str, Assignment]:
    kept: dict[str, Assignment] = {}
    for name, one in found.environment.items():
        token = redaction.tokens(one.value.encode("utf-8", "surrogateescape"))
        if is_secret(name) or token:
            if one.value:
                secrets[name] = found.where(one.line)
        elif expansion.is_unset(one.value):
            found.leave(one.line, name, "it has no value here; if the engine needs it, add it")
        elif re.search(r"[\x00-\x1f]", one.value):
            found.leave(one.line, name, "its value has several lines, and a unit's environment cannot hold that")
        else:
            kept[name] = one
    return kept


def _volumes(found: Found, name: str) -> list[str]:
    made: list[str] = []
    for one in found.volumes:
        source = expansion.need(one.source, found.where(one.line))
        if one.target == INSIDE:
            found.leave(one.line, source, "the role mounts the secrets itself: name them in inference_service_secrets")
        elif one.target == _CACHE and source != engine_home(name):
            told = f"{_CACHE} is the role's own folder: if weights are in {source}/huggingface, give that as"
            found.leave(one.line, f"{source}:{one.target}", f"{told} {source}/huggingface:{_CACHE}/huggingface")
        elif re.search(r"[\s,:]", source + one.target):
            found.leave(one.line, f"{source}:{one.target}", "a path with blanks, commas or colons is none for the role")
        elif one.target != _CACHE:
            made.append(f"{source}:{one.target}{'' if one.writable else ':ro'}")
    return made


def _name(given: str, taken: Collection[str]) -> str:
    plain = re.sub(r"[^a-z0-9]+", "-", given.lower().removeprefix("qops-serve-")).strip("-")[:_NAME] or "engine"
    names = (plain, *(f"{plain[: _NAME - 3]}-{number}" for number in range(2, 99)))
    return next(name for name in names if name not in taken)


def _remarks(
    found: Found, command: Command | None, environment: Mapping[str, Assignment], version: str
) -> tuple[str, tuple[Remark, ...]]:
    """Return the release, and what the checker says of the command for it."""
    if command is None:
        return "", ()
    known = engines.load(command.engine)
    release = found.version or command.tag or version or known.versions[-1]
    whole = Command(
        command.engine, command.entry, command.arguments, tuple(environment.values()), found.image, command.line
    )
    if not (found.version or command.tag or version):
        found.leave(0, command.engine, f"nothing says its release: checked for {release}, the newest that was read")
    try:
        return release, tuple(check(known, release, whole))
    except UsageError as error:
        found.leave(0, f"{command.engine} {release}", f"its options are not checked: {error.message}")
        return release, ()


def _refused(instance: Mapping[str, Any], secrets: Collection[str]) -> tuple[str, ...]:
    """Return why the role would not take a service, on a host that has the GPUs that it names."""
    quote = Quote("", 0, "")
    given = instance["gpus"] if isinstance(instance["gpus"], list) else []
    numbers = [int(one) if str(one).isdigit() else 1000 + place for place, one in enumerate(given)]
    gpus = Gpus(tuple(Gpu(number, quote, uuid=str(one)) for number, one in zip(numbers, given, strict=True)))
    own = {instance["name"]: dict.fromkeys(secrets, "x")} if secrets else {}
    options = {**role.DEFAULTS, "instances": [instance], "secrets": own}
    try:
        role.services(options, {Gpus: gpus}, Derived(HardwareClass.UNKNOWN, "not asked"))
    except UsageError as error:
        return (f"{error.message}; {error.hint}" if error.hint else error.message,)
    command = said(instance["command"], str(instance.get("image", "")))
    return () if command.engine else ("no engine was found in its command",)
