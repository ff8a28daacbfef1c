"""How a stored model stands, in one clause; the role and the rules say the same."""

from qops.evidence.model import Overlay, StoredModel

MOST = 3  # files that are named


def unfinished(model: StoredModel | None) -> str:
    """Return what a model lacks, or "" when every file is there in its size."""
    if model is None or not (model.repo or model.arrived):
        return "not there"
    if not model.repo:
        return f"not finished, {model.arrived / 1e9:.1f} GB came so far"
    wrong = (*model.missing, *model.wrong_size)
    return f"{len(wrong)} of {model.files} files missing or cut short ({named(wrong)})" if wrong else ""


def unproved(model: StoredModel) -> str:
    """Return why nobody can say that a model's files hold what they should, or "" when they were proved."""
    if not model.proved:
        return "never read and compared with its manifest"
    return f"changed since it was proved: {named(model.touched)}" if model.touched else ""


def outdated(overlay: Overlay | None, definition: str) -> str:
    """Return why an overlay is not what it should be, or ""."""
    if overlay is None or not overlay.definition:
        return "not there"
    if overlay.definition != definition:
        return "made from another definition"
    if overlay.broken:
        return f"{overlay.broken} links lead nowhere"
    return f"changed by someone else: {named(overlay.touched)}" if overlay.touched else ""


def named(paths: tuple[str, ...]) -> str:
    """Return the first few paths."""
    more = len(paths) - MOST
    return ", ".join(paths[:MOST]) + (f" and {more} more" if more > 0 else "")
