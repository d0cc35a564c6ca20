"""Editions of manuals, as a table names them, got from package registries by the registries' own clients."""

from __future__ import annotations

import csv
import subprocess
import tarfile
from dataclasses import dataclass, fields
from pathlib import Path

from scrapy_replica.lab.manuals.docusaurus import render

TABLE = Path(__file__).with_name("manuals.csv")
_NPM = ("npm", "pack", "--silent", "{package}@{version}")
_CLIENTS = {
    "debian": ("apt-get", "-q", "download", "{package}={version}"),
    "docusaurus": _NPM,
    "npm": _NPM,
    "pypi": ("pip", "download", "-q", "--no-deps", "--no-binary", "{package}", "{package}=={version}"),
}
_TIMEOUT = 300
"""Seconds that a client may take for one package."""


@dataclass(frozen=True)
class Edition:
    """One manual in one version and language.

    Attributes:
        family: Its work; editions of one family are versions and translations of each other.
        registry: ``debian``, ``npm`` or ``pypi``; ``docusaurus`` for what npm holds as Markdown.
        package: Name of the package that holds it.
        version: Version of that package.
        language: Of the text, as ISO 639 has it.
        licence: As the package states it.
    """

    family: str
    registry: str
    package: str
    version: str
    language: str
    licence: str

    @property
    def name(self) -> str:
        """Name of the folder that it is unpacked to."""
        return f"{self.package}_{self.version}".replace(":", ".").replace("/", ".")


def read_table(file: Path = TABLE) -> list[Edition]:
    """Return the editions that a table names, in its order.

    :raises ValueError: it has other columns, or names another registry.
    """
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    wanted = [field.name for field in fields(Edition)]
    for number, row in enumerate(rows, 2):
        if set(row) != set(wanted) or None in row.values() or row["registry"] not in _CLIENTS:
            raise ValueError(
                f"{file}, row {number}: the columns are {', '.join(wanted)}, and the registry is one of "
                f"{', '.join(_CLIENTS)}"
            )
    return [Edition(**row) for row in rows]


def unpacked(edition: Edition, folder: Path) -> Path:
    """Return where the files of *edition* are below *folder*, after getting and unpacking its package once.

    :raises OSError: the registry's client is missing, it did not bring the package, or that was not rendered.
    """
    target = folder / edition.name
    if target.is_dir():
        return target
    download = folder / f"{edition.name}.download"
    download.mkdir(parents=True, exist_ok=True)
    told = {"package": edition.package, "version": edition.version}
    command = [part.format(**told) for part in _CLIENTS[edition.registry]]
    try:
        subprocess.run(command, cwd=download, check=True, timeout=_TIMEOUT, capture_output=True)  # noqa: S603
        found = next(path for path in sorted(download.iterdir()) if path.is_file())
    except (subprocess.SubprocessError, StopIteration) as error:
        raise OSError(f"{edition.registry} did not bring {edition.package} {edition.version}") from error
    part = folder / f"{edition.name}.part"
    part.mkdir(exist_ok=True)
    if found.suffix == ".deb":
        subprocess.run(["dpkg-deb", "-x", found, part], check=True, capture_output=True)  # noqa: S603, S607
    else:
        if not hasattr(tarfile, "data_filter"):
            raise ValueError(
                "archives of npm and PyPI are unpacked by Python 3.10.12, 3.11.4 or newer: older ones let "
                "them write anywhere"
            )
        with tarfile.open(found) as archive:
            archive.extractall(part, filter="data")
    if edition.registry == "docusaurus":
        render(part, edition.family, folder / "docusaurus")
    part.rename(target)
    return target
