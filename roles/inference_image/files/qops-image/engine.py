"""docker or podman, by their command lines."""

from __future__ import annotations

import json
import re
import subprocess
from typing import IO, Any

from refused import Refused

_LOADED = re.compile(r"Loaded image(?:\(s\))?(?: ID)?: (\S+)")


class Engine:
    """One of the two, as it is on this host."""

    def __init__(self, name: str) -> None:
        self.name = name
        done = self._run("info", "--format", "{{json .}}")
        if done.returncode:
            raise Refused(f"{name} does not answer: {_last(done.stderr)}; run the role container_engine first")
        self._info: dict[str, Any] = json.loads(done.stdout)
        if errors := self._info.get("ServerErrors"):  # docker says so, and calls it a success
            raise Refused(f"{name} does not answer: {errors[0]}; run the role container_engine first")

    @property
    def root(self) -> str:
        """Where the images are kept."""
        if self.name == "docker":
            return str(self._info["DockerRootDir"])
        return str(self._info["store"]["graphRoot"])

    @property
    def insecure(self) -> set[str]:
        """The registries that are asked over plain HTTP."""
        if self.name == "docker":
            known = (self._info.get("RegistryConfig") or {}).get("IndexConfigs") or {}
            return {host for host, about in known.items() if not about.get("Secure", True)}
        known = self._info.get("registries") or {}
        return {host for host, about in known.items() if isinstance(about, dict) and about.get("Insecure")}

    def inspect(self, reference: str) -> dict[str, Any] | None:
        """Return what the engine knows of an image, or None."""
        done = self._run("image", "inspect", reference)
        if done.returncode:
            return None
        found: list[dict[str, Any]] = json.loads(done.stdout)
        return {**found[0], "Id": _id(str(found[0]["Id"]))} if found else None

    def layers(self) -> list[list[str]]:
        """Return the uncompressed layers of each image that is here, the lowest first."""
        return [json.loads(line) or [] for line in self._each("{{json .RootFS.Layers}}")]

    def find(self, digest: str) -> dict[str, Any] | None:
        """Return an image that was pulled as this digest, from whichever registry."""
        for line in self._each("{{json .RepoDigests}} {{.Id}}"):
            known, _, local = line.rpartition(" ")
            if any(one.endswith(f"@{digest}") for one in json.loads(known) or ()):
                return self.inspect(local)
        return None

    def _each(self, form: str) -> list[str]:
        listed = self._run("image", "ls", "--quiet", "--no-trunc").stdout.split()
        done = self._run("image", "inspect", "--format", form, *sorted(set(listed))) if listed else None
        return [line for line in done.stdout.splitlines() if line] if done else []

    def pull(self, reference: str) -> str:
        """Pull an image; return "" or why it could not be had. Layers that came whole are kept by the engine."""
        done = self._run("pull", "--quiet", reference)
        return "" if done.returncode == 0 else _last(done.stderr)

    def load(self, archive: str) -> list[str]:
        """Load an archive; return the names or ids that the engine gives for what was in it."""
        done = self._run("load", "--input", archive)
        if done.returncode:
            raise Refused(f"{self.name} cannot load {archive}: {_last(done.stderr)}")
        return _LOADED.findall(done.stdout)

    def tag(self, local: str, name: str) -> None:
        """Give an image one more name, which keeps it from being pruned."""
        done = self._run("tag", local, name)
        if done.returncode:
            raise Refused(f"{self.name} tag {local} {name}: {_last(done.stderr)}")

    def remove(self, reference: str) -> str:
        """Remove a name, and the image when it was its last; return "" or why not (a container uses it)."""
        done = self._run("image", "rm", reference)
        return "" if done.returncode == 0 else _last(done.stderr)

    def create(self, local: str) -> str:
        """Make a container of an image, to look into it; it is never started. Return its id."""
        done = self._run("create", "--network", "none", "--label", "dev.qops.look=1", local, "/none")
        if done.returncode:
            raise Refused(f"{self.name} cannot make a container of {local} to look into it: {_last(done.stderr)}")
        return done.stdout.split()[-1]

    def export(self, container: str) -> tuple[subprocess.Popen[bytes], IO[bytes]]:
        """Start to give all files of a container as a tar archive; the caller reads and ends it."""
        process = subprocess.Popen([self.name, "export", container], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if process.stdout is None:
            raise Refused(f"{self.name} export gives nothing")
        return process, process.stdout

    def delete(self, container: str) -> None:
        """Remove a container that was made to look into it."""
        self._run("rm", "--force", container)

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                [self.name, *arguments], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
            )
        except FileNotFoundError:
            raise Refused(f"{self.name} is not on this host: run the role container_engine first") from None


def _id(said: str) -> str:
    """Return an image's id with the name of its hash, which podman leaves out."""
    return said if ":" in said else f"sha256:{said}"


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:400] if lines else "it says nothing"
