"""Which file the dynamic loader takes for a library name."""

from collections.abc import Collection, Sequence

# glibc looks in LD_LIBRARY_PATH, then in the cache of ldconfig, then in these (ld.so(8)).
DEFAULT_FOLDERS = ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib")


def picked(name: str, search_path: str, cache: Sequence[tuple[str, str]], files: Collection[str]) -> tuple[str, ...]:
    """Return the files that the loader would take for `name`, the one that it takes first.

    `search_path` is LD_LIBRARY_PATH, `cache` holds (name, file) in the order of `ldconfig -p`, `files` are the
    library files known to exist. A folder of the search path counts only when a file of that name is known in it.
    """
    folders = [folder.rstrip("/") for folder in search_path.replace(";", ":").split(":") if folder.startswith("/")]
    known = set(files) | {file for _, file in cache}
    order = [f"{folder}/{name}" for folder in folders if f"{folder}/{name}" in known]
    order += [file for cached, file in cache if cached == name]
    if cache or order:
        order += [f"{folder}/{name}" for folder in DEFAULT_FOLDERS if f"{folder}/{name}" in known]
    return tuple(dict.fromkeys(order))
