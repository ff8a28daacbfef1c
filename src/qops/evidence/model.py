"""The models that a host keeps: which were to be there, and how their files stand to the manifest."""

from msgspec import Struct

from qops.evidence.text import Quote


class Overlay(Struct, frozen=True):
    """A folder of links to a stored model with a few files replaced. `definition` is what it was made from."""

    folder: str
    quote: Quote
    wanted: str = ""  # the definition that the role wrote down
    definition: str = ""  # the definition that it was made from; "": it is not there
    broken: int = 0  # links that lead nowhere
    touched: tuple[str, ...] = ()  # files that changed after it was made


class StoredModel(Struct, frozen=True):
    """One model that is to be on the host. Sizes in bytes."""

    folder: str
    quote: Quote
    repo: str = ""  # as its manifest says; "": there is no manifest
    revision: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    files: int = 0
    size: int = 0
    missing: tuple[str, ...] = ()  # files of the manifest that are not there
    wrong_size: tuple[str, ...] = ()
    proved: bool = False  # all files were read and compared with the manifest at some time
    touched: tuple[str, ...] = ()  # files that changed after that
    arrived: int = 0  # of a download that is not finished
    free: int | None = None  # on the file system of the folder
    overlay: Overlay | None = None


class Models(Struct, frozen=True):
    """All models that the role model_store wrote down for this host."""

    models: tuple[StoredModel, ...]
    quote: Quote | None = None

    def at(self, folder: str) -> StoredModel | None:
        """Return the model in a folder, if it is to be here."""
        return next((m for m in self.models if m.folder == folder), None)
