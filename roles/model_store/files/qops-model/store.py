"""The store: one folder for each commit of a model, complete and proved, or not there under its name."""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

import manifest
from hashes import Entry, Refused, settle, within
from manifest import Manifest
from sources import Source, brought

EVERY = 10.0  # seconds between two lines of progress


def place(root: Path, repo: str, revision: str) -> Path:
    """Return a model's folder: ROOT/OWNER--NAME/COMMIT."""
    return within(root, repo.replace("/", "--")) / revision


@dataclass
class Progress:
    """How far a model's download is: lines on standard error, and a file for whoever waits."""

    name: str
    total: int  # bytes
    file: Path
    done: int = 0
    _said: float = field(default_factory=time.monotonic)
    _begun: float = field(default_factory=time.monotonic)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _came: int = 0
    stopped: bool = False

    def tell(self, count: int) -> None:
        """Count bytes. Refused when another file of the model could not be had: what came so far is kept."""
        if self.stopped:
            raise Refused(f"{self.name}: stopped")
        with self._lock:
            self.done += count
            self._came += max(0, count)
            if time.monotonic() - self._said >= EVERY:
                self._said = time.monotonic()
                self.say()

    def say(self) -> None:
        """Say how far it is."""
        rate = self._came / max(0.001, time.monotonic() - self._begun)
        line = f"{self.name}: {self.done / 1e9:.2f} of {self.total / 1e9:.2f} GB, {rate / 1e6:.0f} MB/s"
        print(line, file=sys.stderr, flush=True)
        self.file.write_text(line + "\n", encoding="utf-8")


@dataclass(frozen=True)
class Outcome:
    """What was done for a model: files that came, and files that were there with the wrong content."""

    folder: Path
    fetched: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()


class Store:
    """One model's folder, and the folder beside it in which its files arrive."""

    def __init__(self, root: Path, wanted: Manifest) -> None:
        self.wanted = wanted
        self.folder = place(root, wanted.repo, wanted.revision)
        self.incoming = self.folder.with_name(self.folder.name + ".incoming")
        self._marker = self.folder / manifest.VERIFIED

    def doubtful(self, *, jobs: int, full: bool) -> tuple[list[Entry], list[str]]:
        """Return the files that are not there as they should be, and those of them whose content is wrong.

        A file that has its size and was not touched since it was proved is taken as good, unless `full`.
        """
        missing = [entry for entry in self.wanted.files if not within(self.folder, entry.path).exists()]
        unproved = [e for e in self.wanted.files if e not in missing and (full or self._touched(e))]
        with ThreadPoolExecutor(max_workers=jobs) as pool:
            right = pool.map(lambda entry: entry.is_in(within(self.folder, entry.path)), unproved)
        damaged = [entry for entry, whole in zip(unproved, right) if not whole]  # noqa: B905 - Python 3.9
        return missing + damaged, [entry.path for entry in damaged]

    def _touched(self, entry: Entry) -> bool:
        """Return whether a file changed since all were proved, or was never proved."""
        seen = within(self.folder, entry.path).stat()
        proved_at = self._marker.stat().st_mtime_ns if self._marker.exists() else 0
        return seen.st_size != entry.size or seen.st_ctime_ns > proved_at

    def needed(self, missing: list[Entry]) -> int:
        """Return the bytes that are still to come; what has arrived of them is not counted twice."""
        arrived = (self._arriving(entry) for entry in missing)
        return sum(e.size for e in missing) - sum(p.stat().st_size for p in arrived if p.exists())

    def fetch(self, origin: Source, *, jobs: int, keep_free: int, full: bool = False) -> Outcome:
        """Have all files there, proved. Refused when the disk is too small, or a file cannot be had."""
        missing, damaged = self.doubtful(jobs=jobs, full=full)
        if not missing:
            self._finish()
            return Outcome(self.folder)
        if self.folder.exists() and damaged:
            self._marker.unlink(missing_ok=True)
        self._check_disk(self.needed(missing), keep_free)
        self.incoming.mkdir(parents=True, exist_ok=True)
        total = sum(e.size for e in missing)
        progress = Progress(self.wanted.repo, total, self.incoming.with_name(self.incoming.name + ".progress"))
        progress.done = total - self.needed(missing)
        progress.say()
        pool = ThreadPoolExecutor(max_workers=jobs)
        try:
            # Large files first: the last one alone would leave the other connections idle.
            order = sorted(missing, key=lambda e: -e.size)
            waiting = [pool.submit(brought, e, origin, self._arriving(e), progress.tell) for e in order]
            for one in as_completed(waiting):
                one.result()
        finally:
            progress.stopped = True  # nothing is left to tell, or one file failed and the others need not go on
            pool.shutdown(wait=True, cancel_futures=True)
        progress.say()
        self._take_in(missing)
        progress.file.unlink(missing_ok=True)
        return Outcome(self.folder, tuple(e.path for e in missing), tuple(damaged))

    def _arriving(self, entry: Entry) -> Path:
        return within(self.incoming, entry.path)

    def _check_disk(self, needed: int, keep_free: int) -> None:
        there = self.folder.parent
        while not there.exists():
            there = there.parent
        disk = os.statvfs(there)
        free = disk.f_bavail * disk.f_frsize
        if free < needed + keep_free:
            raise Refused(
                f"{self.wanted.repo}: {needed / 1e9:.1f} GB are still to come, {free / 1e9:.1f} GB free at {there}, "
                f"and {keep_free / 1e9:.1f} GB are to stay free: remove a model there, or set model_store_root to a "
                "larger disk"
            )

    def _take_in(self, arrived: list[Entry]) -> None:
        if not self.folder.exists():
            manifest.write(self.incoming, self.wanted)
            self.incoming.replace(self.folder)
            settle(self.folder.parent)
        else:
            for entry in arrived:
                target = within(self.folder, entry.path)
                target.parent.mkdir(parents=True, exist_ok=True)
                self._arriving(entry).replace(target)
                settle(target.parent)
            shutil.rmtree(self.incoming)
        self._finish()

    def _finish(self) -> None:
        """Write down what is there and that it was proved now. Nothing is written when it already says so."""
        path = self.folder / manifest.NAME
        if not path.exists() or path.read_text(encoding="utf-8") != self.wanted.text():
            manifest.write(self.folder, self.wanted)
        newest = max(within(self.folder, e.path).stat().st_ctime_ns for e in self.wanted.files)
        if self._marker.exists() and self._marker.stat().st_mtime_ns >= newest:
            return
        self._marker.write_text(json.dumps({"proved": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}) + "\n")
        settle(self._marker)
