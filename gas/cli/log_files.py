"""The files of a command that takes logs and folders of logs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from gas.cli.logs import check_readable
from gas.errors import BadInput
from workloads import LogError
from workloads.formats import SUFFIXES, format_of

__all__ = ["TRACE", "file_of", "files_for", "files_of_policies", "is_said_to_be_log", "log_files", "stem_of"]

TRACE = "{trace}"
"""The placeholder for the name of the log in the names of output files."""

_OF_LOGS = (".swf", ".sacct", ".psv")
"""Suffixes of logs only; files with other suffixes may also be tables and texts."""


def log_files(paths: Sequence[str]) -> list[str]:
    """Return the paths, with folders replaced by all files below them except hidden ones, sorted by name.

    Raises
    ------
    BadInput
        A path cannot be read, or a folder is empty.
    """
    check_readable([path for path in paths if not path or not Path(path).is_dir()])
    found: dict[str, None] = {}
    for path in paths:
        if path == "-" or not Path(path).is_dir():
            found[path] = None
            continue
        inside = (one.relative_to(path) for one in Path(path).rglob("*") if one.is_file())
        files = sorted(str(Path(path) / one) for one in inside if not any(part.startswith(".") for part in one.parts))
        if not files:
            raise BadInput(f"{path}: is an empty folder; give a folder with logs, or a log")
        found.update(dict.fromkeys(files))
    return list(found)


def is_said_to_be_log(path: str) -> bool:
    """Return whether a file of a folder is a log by its name or header; if it is unusable, that is an error."""
    if Path(path.removesuffix(".gz")).suffix.lower() in _OF_LOGS:
        return True
    try:
        return format_of(path) == "sacct"
    except (OSError, LogError):
        return False


def stem_of(path: str) -> str:
    """Return the name of a log without folder and suffix."""
    name = "stdin" if path == "-" else Path(path).name
    name = name.removesuffix(".gz")
    return Path(name).stem if Path(name).suffix in SUFFIXES else name


def files_for(template: str | None, option: str, paths: Sequence[str]) -> list[str | None]:
    """Return the name of the output file for each log; if two logs have the same name, the later gets a number.

    Raises
    ------
    BadInput
        All logs would be written to one file, or the folder does not exist.
    """
    if template is None:
        return [None] * len(paths)
    if len(paths) > 1 and TRACE not in template:
        raise BadInput(f"{option} {template}: the name must contain {TRACE}, since there are several files")
    seen: Counter[str] = Counter()
    found: list[str | None] = []
    for path in paths:
        stem = stem_of(path)
        seen[stem] += 1
        name = template.replace(TRACE, stem if seen[stem] == 1 else f"{stem}-{seen[stem]}")
        _refuse_without_folder(option, name)
        found.append(name)
    return found


def file_of(template: str, trace: str, policy: str) -> str:
    """Return the name of the file for a policy on a log."""
    return template.replace("{policy}", policy).replace("{trace}", stem_of(trace))


def files_of_policies(
    template: str | None,
    option: str,
    traces: Sequence[str],
    policies: Sequence[str],
    suffixes: tuple[str, ...],
    *,
    together: bool = False,
) -> dict[tuple[str, str], str]:
    """Return the file of each log and policy, checked before anything is simulated.

    Parameters
    ----------
    together
        Whether all policies of a log may share a file.
    """
    if template is None:
        return {}
    if template == "-" and not together:
        if len(traces) * len(policies) > 1:
            raise BadInput(
                f"{option} -: standard output takes one schedule, not {len(traces) * len(policies)}; write "
                "them to files, with {trace} and {policy} in the name"
            )
        return {(traces[0], policies[0]): "-"}
    if not template.lower().endswith(suffixes):
        raise BadInput(f"{option} {template}: the name must end in {', '.join(suffixes[:-1])} or {suffixes[-1]}")
    files = {(trace, policy): file_of(template, trace, policy) for trace in traces for policy in policies}
    wanted = []
    if len(policies) > 1 and not together and "{policy}" not in template:
        wanted.append(f"{{policy}}, since there are {len(policies)} policies")
    if len(traces) > 1 and "{trace}" not in template:
        wanted.append(f"{{trace}}, since there are {len(traces)} logs")
    if wanted:
        raise BadInput(f"{option} {template}: the name must contain {' and '.join(wanted)}")
    if len({stem_of(trace) for trace in traces}) < len(traces):
        raise BadInput(f"{option} {template}: logs of the same name would share a file; rename one")
    for file in files.values():
        _refuse_without_folder(option, file)
        if any(Path(file).exists() and Path(trace).exists() and Path(file).samefile(trace) for trace in traces):
            raise BadInput(f"{option} {file}: would overwrite an input; choose another name")
    return files


def _refuse_without_folder(option: str, file: str) -> None:
    if not Path(file).parent.is_dir():
        raise BadInput(f"{option} {file}: there is no folder {Path(file).parent}; create it first")
