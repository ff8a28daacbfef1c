"""A systemd unit, or a quadlet, that starts an engine, with its drop-ins and the files that it names."""

import re
from collections.abc import Mapping, Sequence

from qops.adoption import expansion
from qops.adoption.found import Found, Left, Reader, shown
from qops.adoption.options import UNREAD
from qops.adoption.reasons import OF_UNITS, OTHER_UNIT
from qops.adoption.script import Script, assembled, program
from qops.derive.service_unit import AFTER
from qops.flags.command import container_options
from qops.flags.shell import Word
from qops.flags.sources import assignments
from qops.flags.systemd import JOINT, Setting, settings, words

_SHEBANG = re.compile(r"#!\s*\S*(?:/env\s+(?:-S\s+)?)?\S*\b(?:ba|da|)sh\b")
_ORDINARY = frozenset(("network.target", "multi-user.target", "local-fs.target", "remote-fs.target", *AFTER))
# Settings of a quadlet as options of `podman run` (podman-systemd.unit(5)).
_QUADLET = {
    "ContainerName": "--name", "Environment": "--env", "EnvironmentFile": "--env-file", "PublishPort": "--publish",
    "Volume": "--volume", "Mount": "--mount", "AddDevice": "--device", "Network": "--network", "ShmSize": "--shm-size",
    "Ulimit": "--ulimit", "Entrypoint": "--entrypoint", "AddCapability": "--cap-add", "User": "--user",
}  # fmt: skip


class Unit:
    """A unit in the making: what its texts set, one over the other."""

    def __init__(self, name: str, texts: Sequence[tuple[str, str]], values: Mapping[str, str], read: Reader) -> None:
        self.name, _, instance = name.rpartition("/")[2].rpartition(".")[0].partition("@")
        self.instance = instance
        self.read = read
        self.around = dict(values)
        self.given = [one for path, text in texts for one in settings(text, path)]
        self.user = self._last("User") or "root"
        self.environment: dict[str, str] = {}
        self.left: list[Left] = []

    def found(self) -> list[Found]:
        """Return the engines that the unit starts."""
        for one in self._in_force():
            self._variables(one)
        script = Script(self._source(), self.around | self.environment, self.read, set(self.environment))
        image = self._last("Image")
        if any(one.section == "Container" for one in self.given) and image:
            found = self._quadlet(image)
        else:
            for one in self._in_force():
                if one.name == "ExecStart" and one.value:
                    script.source = one.source
                    self._start(script, one)
            found = script.found
        for made in found:
            self._finish(made)
            made.left += [*script.left, *self.left]
        return found

    def _start(self, script: Script, one: Setting) -> None:
        command = words(self._filled(one.value), one.line)
        command[0] = Word(command[0].text.lstrip("@-:+!|"), command[0].line)
        command = list(expansion.words(command, script.values))
        path = next((word for word in command[:2] if word.text.startswith("/")), None)
        inner = None if program(command) is not None or not path else self.read(path.text)
        if path is not None and inner is not None and _SHEBANG.match(inner):
            arguments = [word.text for word in command[command.index(path) + 1 :]]
            numbered = {str(place): text for place, text in enumerate(arguments, 1)}
            script.source = path.text
            script.values |= numbered | {"@": " ".join(arguments)}
            script.run(inner)
        else:
            script.start(command)

    def _quadlet(self, image: str) -> list[Found]:
        own = [one for one in self._in_force() if one.section == "Container"]
        line = next(one.line for one in own if one.name == "Image")
        command = [word for one in own if one.name == "Exec" for word in words(self._filled(one.value), one.line)]
        given = [
            (_QUADLET[one.name], word)
            for one in own
            if one.name in _QUADLET
            for word in self._values(one)
        ]  # fmt: skip
        for one in own:
            if one.name == "PodmanArgs":
                given += container_options(words(self._filled(one.value), one.line))[0]
        entry = [word for name, word in given if name == "--entrypoint"][-1:]
        made = Found(self._source(), line, runtime="podman", image=image)
        whole = assembled(made, entry, command, given, self.around, self.read)
        return [whole] if whole else []

    def _values(self, one: Setting) -> list[Word]:
        value = self._filled(one.value)
        return words(value, one.line) if one.name == "Environment" else [Word(value, one.line)]

    def _finish(self, made: Found) -> None:
        made.name = made.name or "-".join(part for part in (self.name, self.instance) if part)
        if made.runtime == "venv":
            made.user = self.user
        for one in self.given:
            ordinary = one.section == "Unit" and set(one.value.split()) <= _ORDINARY
            if one.section not in ("Unit", "Service") or ordinary or one.name in _TAKEN or not one.value:
                continue
            because = OF_UNITS.get(one.name, OTHER_UNIT)
            made.left.append(
                Left(f"{one.source}:{one.line}", shown(f"{one.name}=", one.value.replace(JOINT, " ")), because)
            )

    def _variables(self, one: Setting) -> None:
        if one.section != "Service":
            return
        if one.name == "Environment":
            for word in words(self._filled(one.value), one.line):
                name, sign, value = word.text.partition("=")
                if sign:
                    self.environment[name] = value
        elif one.name == "EnvironmentFile":
            path = self._filled(one.value.removeprefix("-"))
            content = self.read(path)
            if content is None:
                self.left.append(Left(f"{one.source}:{one.line}", f"EnvironmentFile={path}", UNREAD))
            else:
                self.environment |= {found.name: found.value for found in assignments(content)}

    def _in_force(self) -> list[Setting]:
        """Return the settings without those that an empty one of their name takes back."""
        kept: list[Setting] = []
        for one in self.given:
            if one.value:
                kept.append(one)
            else:
                kept = [other for other in kept if (other.section, other.name) != (one.section, one.name)]
        return kept

    def _last(self, name: str) -> str:
        return next((one.value for one in reversed(self.given) if one.name == name and one.section != "Install"), "")

    def _source(self) -> str:
        return self.given[0].source if self.given else self.name

    def _filled(self, value: str) -> str:
        """Return a value with systemd's specifiers filled in: systemd.unit(5), "Specifiers"."""
        whole = f"{self.name}@{self.instance}" if self.instance else self.name
        home = "/root" if self.user == "root" else f"/home/{self.user}"
        known = {
            "%": "%", "i": self.instance, "I": self.instance, "p": self.name, "N": whole, "n": f"{whole}.service",
            "u": self.user, "h": home, "t": "/run", "S": "/var/lib", "C": "/var/cache", "L": "/var/log", "E": "/etc",
            "T": "/tmp",  # noqa: S108  # what systemd says
        }  # fmt: skip
        return re.sub(r"%(.)", lambda match: known.get(match[1], expansion.unset(match[0])), value)


_TAKEN = frozenset(("Description", "Documentation", "Environment", "EnvironmentFile", "ExecStart", "User"))


def parts(text: str, source: str) -> list[tuple[str, str]]:
    """Split what `systemctl cat` prints into its files; anything else is one text."""
    found: list[tuple[str, str]] = []
    for line in text.splitlines(keepends=True):
        if head := re.match(r"# (/\S+\.(?:service|container|conf))\s*$", line):
            found.append((head[1], ""))
        elif found:
            found[-1] = (found[-1][0], found[-1][1] + line)
        elif line.strip():
            return [(source, text)]
    return found or [(source, text)]
