"""The one file: a shell script, followed by all files of `contents`, compressed."""

from __future__ import annotations

import gzip
import hashlib
import io
import marshal
import tarfile
import zipfile
from collections.abc import Mapping
from importlib.util import MAGIC_NUMBER
from pathlib import Path, PurePosixPath

from documents.whole_file import whole_file
from gas.bundle import contents

__all__ = ["build", "packed"]

SCRIPT = Path(__file__).parent / "unpack.sh"
STARTED = "__init__gas"
"""Module that freeze-core's interpreter, called `gas`, runs first."""

LONG_AGO = (1980, 1, 1, 0, 0, 0)


def build(target: Path) -> int:
    """Write the one file and return its size in bytes; the result is determined by the packages."""
    content = packed(_files())
    with whole_file(target) as file:
        file.write(content)
    target.chmod(0o755)
    return len(content)


def packed(files: Mapping[str, bytes]) -> bytes:
    """Return the script followed by the files; it unpacks them, and runs the one called `gas`."""
    payload = _compressed(files)
    key = hashlib.sha256(payload).hexdigest()[:16]
    script = SCRIPT.read_text().replace("@KEY@", key)
    length = len(script.encode()) - len("@SKIP@")
    skip = next(length + digits + 1 for digits in range(1, 9) if len(str(length + digits + 1)) == digits)
    return script.replace("@SKIP@", str(skip)).encode() + payload


def _files() -> dict[str, bytes]:
    """Return the files to unpack; executables are called `gas` or have ``.so`` in their names."""
    files: dict[str, bytes] = {}
    program, linked = contents.interpreter()
    files["gas"] = program.read_bytes()
    for place, path in linked:
        files[f"lib/{place}"] = path.read_bytes()
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as library:
        for place, path in contents.standard_library():
            _add(library, place, path)
        start = Path(__file__).with_name("start.py")
        _add(library, PurePosixPath(f"{STARTED}.py"), start)
        for place, path, must_be_file in contents.packages():
            if must_be_file:
                name, content = _compiled(place, path)
                files[f"lib/{name}"] = content
            else:
                _add(library, place, path)
    files["lib/library.zip"] = archive.getvalue()
    files["lib/library.dat"] = b"library.zip"
    files |= {f"lib/{place}": text.encode() for place, text in contents.metadata().items()}
    files |= {str(place): path.read_bytes() for place, path in contents.licences()}
    return files


def _compiled(place: PurePosixPath, path: Path) -> tuple[str, bytes]:
    """Return the bundled name and content of a file: modules are compiled, and their sources left out."""
    if path.suffix != ".py":
        return str(place), path.read_bytes()
    code = compile(path.read_bytes(), str(place), "exec", dont_inherit=True)
    return str(place.with_suffix(".pyc")), MAGIC_NUMBER + bytes(12) + marshal.dumps(code)


def _add(library: zipfile.ZipFile, place: PurePosixPath, path: Path) -> None:
    name, content = _compiled(place, path)
    library.writestr(zipfile.ZipInfo(name, LONG_AGO), content)  # stored, as the archive is compressed as a whole


def _compressed(files: Mapping[str, bytes]) -> bytes:
    """Return a compressed tar archive; equal files give equal bytes."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=9, mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as archive,
    ):
        for name in sorted(files):
            entry = tarfile.TarInfo(name)
            entry.size = len(files[name])
            entry.mode = 0o755 if name == "gas" or ".so" in name else 0o644
            archive.addfile(entry, io.BytesIO(files[name]))
    return packed.getvalue()
