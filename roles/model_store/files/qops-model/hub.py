"""The model hub's HTTP interface, as huggingface_hub uses it: revision, tree, resolve.

Answers and headers: huggingface_hub hf_api.py (RepoFile), utils/_http.py (X-Error-Code, X-Error-Message).
"""

from __future__ import annotations

import json
import re
import socket
import urllib.error
import urllib.parse
import urllib.request
from http.client import HTTPException, HTTPResponse
from typing import Any

from hashes import Entry, Refused

TIMEOUT = 60  # seconds without a byte
_NEXT = re.compile(r'<([^>]+)>\s*;\s*rel="next"')
BROKEN = (urllib.error.URLError, HTTPException, ConnectionError, socket.timeout, TimeoutError)


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows a redirect without the token when it leads to another host: storage must not get it."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):  # type: ignore[no-untyped-def]
        new = super().redirect_request(req, fp, code, msg, headers, newurl)
        if new is not None and urllib.parse.urlsplit(newurl).netloc != urllib.parse.urlsplit(req.full_url).netloc:
            new.headers.pop("Authorization", None)
        return new


class Hub:
    """One hub, or a mirror that speaks the same."""

    def __init__(self, endpoint: str, token: str = "") -> None:
        self.endpoint = endpoint.rstrip("/")
        self._token = token
        self._opener = urllib.request.build_opener(_Redirects)

    def commit(self, repo: str, revision: str) -> str:
        """Return the commit that a branch or tag stands for now."""
        about = self._json(f"/api/models/{repo}/revision/{urllib.parse.quote(revision, safe='')}", repo, revision)
        commit = about.get("sha") if isinstance(about, dict) else None
        if not isinstance(commit, str) or not re.fullmatch(r"[0-9a-f]{40}", commit):
            raise Refused(f"{self.endpoint} does not say which commit {revision} of {repo} is")
        return commit

    def tree(self, repo: str, commit: str) -> list[Entry]:
        """Return all files of a commit; the hub gives them page by page."""
        found: list[Entry] = []
        place: str | None = f"/api/models/{repo}/tree/{commit}?recursive=true&expand=false"
        while place:
            with self._open(place, repo, commit) as answer:
                rows = _loaded(answer)
                following = _NEXT.search(answer.headers.get("Link", ""))
            if not isinstance(rows, list):
                raise Refused(f"{self.endpoint} does not list the files of {repo}")
            found += [_entry(row, repo) for row in rows if isinstance(row, dict) and row.get("type") == "file"]
            place = self._local(following.group(1)) if following else None
        if not found:
            raise Refused(f"{repo} has no file at {commit}")
        return found

    def content(self, repo: str, commit: str, path: str, start: int) -> HTTPResponse:
        """Open a file's content from byte `start` on; status 206 when the rest comes, 200 when all of it does."""
        place = f"/{repo}/resolve/{commit}/{urllib.parse.quote(path)}"
        return self._open(place, repo, commit, {"Range": f"bytes={start}-"} if start else {})

    def _json(self, place: str, repo: str, revision: str) -> Any:
        with self._open(place, repo, revision) as answer:
            return _loaded(answer)

    def _local(self, url: str) -> str:
        """Return a link of the hub's as a path: a mirror may hand on the hub's own address."""
        parts = urllib.parse.urlsplit(url)
        return parts.path + (f"?{parts.query}" if parts.query else "")

    def _open(self, place: str, repo: str, revision: str, headers: dict[str, str] | None = None) -> HTTPResponse:
        request = urllib.request.Request(self.endpoint + place, headers=headers or {})  # noqa: S310 - as the inventory says
        request.add_header("User-Agent", "qops-model/1")
        request.add_header("Accept-Encoding", "identity")  # a range of compressed bytes would mean something else
        if self._token:
            request.add_header("Authorization", f"Bearer {self._token}")
        try:
            return self._opener.open(request, timeout=TIMEOUT)  # type: ignore[no-any-return]
        except urllib.error.HTTPError as error:
            with error:
                reason = self._reason(error, repo, revision)
            if reason:
                raise Refused(reason) from None
            raise

    def _reason(self, error: urllib.error.HTTPError, repo: str, revision: str) -> str:
        """Return what to do about an answer that trying again does not mend, or ""."""
        code, said = error.headers.get("X-Error-Code", ""), error.headers.get("X-Error-Message", "")
        page = f"{self.endpoint}/{repo}"
        if code == "GatedRepo" or (error.code == 403 and "gated" in said.lower()):
            if self._token:
                return f"{repo} is gated, and this token's account has no access: accept the terms at {page} with it"
            return f"{repo} is gated and there is no token: accept the terms at {page}, then {_HOW_TO_GIVE}"
        if code == "RevisionNotFound":
            return f"{repo} has no revision {revision}: copy the commit from {page}/commits/main"
        if code == "EntryNotFound":
            return f"{repo} lacks a file at {revision}: {said or error.url}"
        if "disabled" in said.lower():
            return f"{repo} is disabled by the hub: {said}"
        if error.code == 401 and not self._token:
            return f"{repo} does not exist or is private: check the name at {page}, and {_HOW_TO_GIVE}"
        if error.code in (401, 403):
            return (
                f"the hub refuses the token for {repo} ({said or error.reason}): is it valid, and may it read {page}?"
            )
        if error.code == 404:
            return f"{self.endpoint} has no {repo} (or no commit {revision} of it)"
        return ""


_HOW_TO_GIVE = (
    "make a read token at https://huggingface.co/settings/tokens and give it as model_store_token (from a vault), or "
    "as a file of mode 0600 on the host, model_store_token_file"
)


def _loaded(answer: HTTPResponse) -> Any:
    try:
        return json.loads(answer.read(64 << 20))
    except ValueError:
        raise Refused(f"{answer.url} answers, but not with JSON: is it a model hub?") from None


def _entry(row: dict[str, Any], repo: str) -> Entry:
    """Return a file of the tree. For an LFS file `oid` is the pointer's hash, and `lfs.oid` the content's."""
    lfs = row.get("lfs")
    if isinstance(lfs, dict):
        entry = Entry(str(row.get("path")), int(lfs.get("size", -1)), sha256=str(lfs.get("oid", "")))
        proof = re.fullmatch(r"[0-9a-f]{64}", entry.sha256)
    else:
        entry = Entry(str(row.get("path")), int(row.get("size", -1)), git_sha1=str(row.get("oid", "")))
        proof = re.fullmatch(r"[0-9a-f]{40}", entry.git_sha1)
    if proof is None or entry.size < 0:
        raise Refused(f"the hub gives no hash or size of {entry.path} in {repo}")
    return entry
