"""What a study has written, to be compared byte for byte."""

__all__ = ["contents"]


def contents(folder):
    """Return all files but those of what it cost, which is never the same twice."""
    return {
        path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and not path.stem.endswith("-cost")
    }
