"""Programs called like Slurm's commands that replay recorded answers, keep a list of jobs, and fail as they are told.

sbatch, scancel and scontrol update change a list of jobs that squeue shows, so that what was submitted twice is seen
twice.
"""

from pathlib import Path

from slurm_answers import FOLDER

from gas.endpoints.programs import user_name
from gas.endpoints.slurm.command_line import COLUMNS, RS, US

ASKING = """\
#!/bin/sh
echo "$(basename "$0") $*" >> "{folder}/calls"
[ -e "{folder}/$(basename "$0").does" ] && . "{folder}/$(basename "$0").does"
case "$(basename "$0") $*" in
sacct*)
    [ -e "{folder}/accounting" ] || {{ echo "Slurm accounting storage is disabled" >&2; exit 1; }}
    cat "{folder}/accounting" ;;
sdiag*) cat "{answers}/diagnostics.txt" ;;
squeue*)
    for word; do case "$word" in
        %*) mark="${{word#%A{us}}}"; mark="${{mark%%[%]*}}" ;;  # what the real one is told to print after US and RS
    esac; done
    [ "$listed" = none ] || sed "s/{us}/&$mark/g; s/{rs}/&$mark/g" "{folder}/jobs" ;;
*"show nodes") cat "{answers}/nodes.txt" ;;
*"show partitions") cat "{answers}/partitions.txt" ;;
*"show licenses") echo "No licenses configured in Slurm." ;;
*"show reservations") cat "{answers}/reservations.txt" ;;
*"show config") cat "{answers}/config.txt" ;;
"scontrol update "*)
    for word; do case "$word" in
        jobid=*) number="${{word#jobid=}}" ;;
        NumCPUs=*) cpus="${{word#NumCPUs=}}" ;;
        TimeLimit=*) minutes="${{word#TimeLimit=}}" ;;
    esac; done
    change() {{
        awk -v id="$number" -v cpus="$cpus" -v limit="$minutes:00" '
            BEGIN {{ FS = OFS = "{us}" }} $1 == id {{ $9 = limit; $10 = cpus }} {{ print }}
        ' "{folder}/jobs" > "{folder}/jobs.new"
        mv "{folder}/jobs.new" "{folder}/jobs"
    }}
    [ -e "{folder}/update.does" ] && . "{folder}/update.does"
    change ;;
*"show jobs") ;;
*"show job"*) ;;
sbatch*)
    cat > /dev/null
    number=$(($(wc -l < "{folder}/submitted") + 100))
    for word; do case "$word" in
        --job-name=*) name="${{word#--job-name=}}" ;;
        --ntasks=*) tasks="${{word#--ntasks=}}" ;;
        --time=*) minutes="${{word#--time=}}" ;;
    esac; done
    submit() {{
        echo "$number" >> "{folder}/submitted"
        printf '{record}' "$number" "$number" "$minutes" "$tasks" "$name" >> "{folder}/jobs"
    }}
    [ "$before" = "" ] && submit
    [ "$then" = "" ] || eval "$then"
    echo "$number" ;;
scancel*)
    for word; do case "$word" in [0-9]*)
        echo "$word" >> "{folder}/cancelled"
        grep -v "^$word{us}" "{folder}/jobs" > "{folder}/jobs.new"
        mv "{folder}/jobs.new" "{folder}/jobs" ;;
    esac; done ;;
esac
"""

VALUES = {
    "id": "%s", "array": "%s", "tasks": "N/A", "user": "{user}", "state": "PENDING", "partitions": "main",
    "start": "N/A", "end": "N/A", "limit": "%s:00", "cpus": "%s", "node count": "1", "nodes": "",
    "planned nodes": "(null)", "sharing": "OK", "priority": "1", "reason": "Priority", "submitted": "1795290000",
    "dependency": "(null)", "required nodes": "", "excluded nodes": "", "reservation": "(null)", "comment": "(null)",
    "name": "%s",
}  # fmt: skip
assert list(VALUES) == list(COLUMNS)


class FakeSlurm:
    """A folder of programs."""

    def __init__(self, folder: Path, user: str | None = None) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        record = US.join(VALUES.values()).format(user=user or user_name()) + RS + "\\n"
        text = ASKING.format(folder=folder, answers=FOLDER / "v22.05", record=record, us=US, rs=RS)
        for name in ("sacct", "squeue", "scontrol", "sdiag", "sbatch", "scancel"):
            program = folder / name
            program.write_text(text)
            program.chmod(0o755)
        for name in ("calls", "submitted", "cancelled", "jobs"):
            (folder / name).touch()

    def does(self, program: str, lines: str | None) -> None:
        """Make a program do something first, for example ``exit 1``; None: nothing any more."""
        path = self.folder / f"{program}.does"
        path.unlink(missing_ok=True)
        if lines is not None:
            path.write_text(f"{lines}\n")

    def updates(self, lines: str) -> None:
        """Make ``scontrol update`` do something in place of a change; in it, ``change`` makes it."""
        self.does("update", lines)

    def once(self, program: str, lines: str) -> None:
        """Make a program do something the next time it is called, and only then."""
        self.does(program, f'rm "{self.folder}/{program}.does"\n{lines}')

    def lines(self, name: str) -> list[str]:
        """Return what was submitted, cancelled or called."""
        return (self.folder / name).read_text().splitlines()
