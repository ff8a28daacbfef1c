"""Action qops_files: many small files of a role compared in one round trip; only what differs is written."""

from __future__ import annotations

import hashlib
import itertools
import os
import tempfile
import typing as t
from pathlib import Path

from ansible import constants
from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from qops import bridge
from qops.bridge.files import LARGEST, Current, Wanted, look_at, merged, write_all
from qops.errors import QopsError
from qops.redaction import Redactor

DOCUMENTATION = """
name: qops_files
short_description: Write the files of a role
description:
  - Compares all files in one round trip and writes what differs in another.
  - Knows check mode and diffs. RV(changed_files) has the paths of what was, or would be, changed.
options:
  files:
    description:
      - Each has V(dest), and V(template) (of the role's templates), V(file) (of the role's files) or V(content).
      - V(merge) in their place is a mapping that is laid over the JSON object that V(dest) holds. Its other keys, mode
        and owner stay, and a diff shows no password.
      - V(state) is V(file), V(directory), V(link) (to V(src)) or V(absent).
      - V(mode), V(owner) and V(group) are V(0644), V(root) and V(root); of a directory V(0755).
      - V(validate) is a command that gets the new file as V(%s) and must succeed.
      - V(once) leaves a file alone that is there, whatever it holds.
    type: list
    elements: dict
    required: true
"""
ALLOWED = {"dest", "template", "file", "content", "state", "src", "mode", "owner", "group", "validate", "once", "merge"}


class ActionModule(ActionBase):
    """Writes files on the host of the task."""

    _supports_check_mode = True
    _supports_async = False
    TRANSFERS_FILES = True
    _requires_connection = True

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Write what differs."""
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        _, options = self.validate_argument_spec(
            argument_spec={"files": {"type": "list", "elements": "dict", "required": True}}
        )
        known = task_vars or {}
        wanted = [self._wanted(file, known) for file in options["files"]]
        try:
            found = look_at(bridge.shell_of(self), [file["dest"] for file in wanted])
            wanted = [merged(file, now) if "merge" in file else file for file, now in zip(wanted, found, strict=True)]
        except QopsError as error:
            raise AnsibleActionFail(f"{error.message}. {error.hint}") from error
        differing = [(file, now) for file, now in zip(wanted, found, strict=True) if self._differs(file, now)]
        result.update(changed=bool(differing), changed_files=[file["dest"] for file, _ in differing])
        if differing and not self._task.check_mode:
            bridge.Remembered(constants.DEFAULT_LOCAL_TMP, str(known.get("inventory_hostname", "host"))).forget()
        if self._task.diff and differing:
            result["diff"] = [self._diff(file, now) for file, now in differing]
        if not self._task.check_mode:
            for together, some in itertools.groupby(differing, key=lambda one: self._is_plain(*one)):
                group = list(some)
                failed = self._write_together(group, result) if together else self._write_each(group, known)
                if failed:
                    return {**result, "failed": True, "msg": failed}
        return result

    @staticmethod
    def _is_plain(file: dict[str, t.Any], now: Current) -> bool:
        """Whether a shell can write it safely: nothing of another kind is in its place, and nothing validates it."""
        if "validate" in file or len(file.get("bytes", b"")) > LARGEST:
            return False
        return file["state"] != "absent" and now.kind in ("absent", file["state"], "link")

    def _write_together(self, differing: list[tuple[dict[str, t.Any], Current]], result: dict[str, t.Any]) -> str:
        """Write all in one round trip; return what went wrong, or nothing."""
        files = [
            Wanted(
                one["dest"],
                one["state"],
                one["mode"],
                one["owner"],
                one["group"],
                one.get("src", ""),
                one.get("bytes", b""),
            )
            for one, _ in differing
        ]
        done = write_all(bridge.shell_of(self), files)
        if done.pending:
            result["warnings"] = [
                f"systemd has not read {', '.join(done.pending)} anew: a reload takes the GPUs from containers that "
                "got them by --gpus. Run `systemctl daemon-reload` when none of them runs, or reboot"
            ]
        return f"{done.failed}: {done.reason}" if done.failed else ""

    def _write_each(self, differing: list[tuple[dict[str, t.Any], Current]], known: dict[str, t.Any]) -> str:
        """Write one after the other by Ansible's modules; return what went wrong, or nothing."""
        for file, now in differing:
            done = self._write(file, now, known)
            if done.get("failed"):
                said = f"{done.get('msg', 'could not be written')}: {done.get('stderr', '')}".strip(": \n")
                return f"{file['dest']}: {said}"
        return ""

    def _wanted(self, given: dict[str, t.Any], known: dict[str, t.Any]) -> dict[str, t.Any]:
        strange = sorted(set(given) - ALLOWED)
        if strange or "dest" not in given:
            raise AnsibleActionFail(f"qops_files: {'no such option: ' + ', '.join(strange) if strange else 'no dest'}")
        state = str(given.get("state", "file"))
        file = {"state": state, "mode": "0755" if state == "directory" else "0644", "owner": "root", "group": "root"}
        file |= {name: value if name in ("once", "merge") else str(value) for name, value in given.items()}
        file["mode"] = file["mode"].zfill(4)
        if state == "file" and "merge" not in given:
            file["bytes"] = self._content(given, known)
        return file

    def _content(self, given: dict[str, t.Any], known: dict[str, t.Any]) -> bytes:
        if "content" in given:
            return str(given["content"]).encode("utf-8", "surrogateescape")
        if "template" in given:
            path = self._find_needle("templates", given["template"])
            lookup = self._shared_loader_obj.lookup_loader.get(
                "ansible.builtin.template", loader=self._loader, templar=self._templar
            )
            (text,) = lookup.run([path], variables=known)
            return str(text).encode("utf-8", "surrogateescape")
        if "file" in given:
            return Path(self._find_needle("files", given["file"])).read_bytes()
        raise AnsibleActionFail(f"qops_files: {given['dest']} has neither content, template nor file")

    @staticmethod
    def _differs(file: dict[str, t.Any], now: Current) -> bool:
        if file["state"] == "absent":
            return now.kind != "absent"
        if file["state"] != now.kind:
            return True
        if file["state"] == "link":
            return bool(now.target != file["src"])
        if file["state"] == "file" and file.get("once"):
            return False
        if (now.mode, now.owner, now.group) != (file["mode"], file["owner"], file["group"]):
            return True
        return file["state"] == "file" and now.sha256 != hashlib.sha256(file["bytes"]).hexdigest()

    @staticmethod
    def _diff(file: dict[str, t.Any], now: Current) -> dict[str, str]:
        before = (now.content or b"").decode(errors="replace") if now.kind == "file" else f"{now.kind} {now.target}\n"
        after = file["bytes"].decode(errors="replace") if file["state"] == "file" else f"{file['state']}\n"
        if file["state"] == "link":
            after = f"link {file['src']}\n"
        if before == after:
            before += f"# mode {now.mode} {now.owner}:{now.group}\n"
            after += f"# mode {file['mode']} {file['owner']}:{file['group']}\n"
        before = "" if now.kind == "absent" else before
        if "merge" in file:
            redact = Redactor()
            before, after = (redact(text.encode()).decode() for text in (before, after))
        return {"before_header": file["dest"], "after_header": file["dest"], "before": before, "after": after}

    def _write(self, file: dict[str, t.Any], now: Current, known: dict[str, t.Any]) -> dict[str, t.Any]:
        """Write one file by Ansible's own modules, which know atomic moves and SELinux."""
        owners = {name: file[name] for name in ("mode", "owner", "group")}
        if file["state"] != "file":
            arguments = {"path": file["dest"], "state": file["state"]}
            if file["state"] == "link":
                arguments |= {"src": file["src"], "force": True}
            elif file["state"] == "directory":
                arguments |= owners
            return self._module("ansible.legacy.file", arguments, known)
        if now.kind == "link":  # else what it points to is overwritten
            gone = self._module("ansible.legacy.file", {"path": file["dest"], "state": "absent"}, known)
            if gone.get("failed"):
                return gone
        handle, path = tempfile.mkstemp(dir=constants.DEFAULT_LOCAL_TMP)
        try:
            with os.fdopen(handle, "wb") as source:
                source.write(file["bytes"])
            task = self._task.copy()
            task.args = {"src": path, "dest": file["dest"], **owners}
            if "validate" in file:
                task.args["validate"] = file["validate"]
            copy = self._shared_loader_obj.action_loader.get(
                "ansible.legacy.copy",
                task=task,
                connection=self._connection,
                play_context=self._play_context,
                loader=self._loader,
                templar=self._templar,
                shared_loader_obj=self._shared_loader_obj,
            )
            done: dict[str, t.Any] = copy.run(task_vars=known)
            return done
        finally:
            Path(path).unlink()

    def _module(self, name: str, arguments: dict[str, t.Any], known: dict[str, t.Any]) -> dict[str, t.Any]:
        done: dict[str, t.Any] = self._execute_module(module_name=name, module_args=arguments, task_vars=known)
        return done
