"""The files of a study, for comparing byte for byte."""

__all__ = ["contents"]


def contents(folder):
    """Return all files except those on the study's cost, which always differs."""
    return {
        path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and not path.stem.endswith("-cost")
    }
