"""Slurm by its commands: sbatch, squeue, sacct, scontrol, scancel, sinfo.

Fields are requested by name in a fixed order, comment last because it may contain anything.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from platforms.slurm.controllers import SlurmError, Submission, Unreachable
from platforms.slurm.controllers.access import Done, run
from platforms.slurm.site_facts import NodeFacts, PartitionFacts, SiteFacts, gpus_of, minutes
from platforms.slurm.site_model import SlurmAccess
from platforms.slurm.states import Part, base_state, exit_status, wait_status

# A separator instead of a width, to avoid truncation: https://slurm.schedmd.com/squeue.html#OPT_Format.
_QUEUE: Final = "ArrayJobID:|,JobID:|,State:|,exit_code:|,Reason:|,NodeList:|,Name:|,Comment:|"
_ACCOUNTING: Final = "JobID,State,ExitCode,NodeList,JobName,Comment"
_SINCE: Final = "now-7days"  # killed runs are not resumed after a week
_AT_ONCE: Final = 500  # job numbers per command line
_AWAY: Final = re.compile(
    r"unable to contact slurm controller|connection refused|timed? ?out|communication failure"
    r"|connection.* (failure|reset)|slurmdbd.*(unable|problem)|problem talking to the database",
    re.IGNORECASE,
)
_NO_ACCOUNTING: Final = "accounting storage is disabled"
_GONE: Final = "invalid job id"


@dataclass(frozen=True, slots=True)
class Commands:
    """Slurm's commands with the site's access."""

    site: SlurmAccess

    def submit_held(self, submission: Submission) -> int:
        """Submit a held job. Slurm checks it first, because it does not check held jobs."""
        self._output(["sbatch", "--test-only"], given=submission.text)
        marks = [f"--comment={submission.key}", f"--job-name={submission.name}"]
        output = self._output(["sbatch", "--parsable", "--hold", *marks], given=submission.text)
        number = output.strip().partition(";")[0].splitlines()[-1:]
        if not number or not number[0].isdigit():
            raise Unreachable(f"sbatch printed no number of a job: {output.strip()!r}")
        return int(number[0])

    def release(self, job: int) -> None:
        """Release it."""
        self._output(["scontrol", "release", str(job)])

    def own_jobs(self) -> Sequence[Part]:
        """This user's jobs."""
        waiting = [*_of_queue(self._output(["squeue", "--me", "--noheader", "--states=all", f"--Format={_QUEUE}"]))]
        known = {part.job for part in waiting}
        return [*waiting, *(part for part in self._accounting(f"--starttime={_SINCE}") if part.job not in known)]

    def jobs(self, numbers: Sequence[int]) -> Sequence[Part]:
        """Known job parts."""
        found: list[Part] = []
        for start in range(0, len(numbers), _AT_ONCE):
            batch = ",".join(map(str, numbers[start : start + _AT_ONCE]))
            # squeue forgets a job MinJobAge seconds after its end, and rejects a query for such jobs only.
            done = run(self.site, ["squeue", "--noheader", "--states=all", f"--jobs={batch}", f"--Format={_QUEUE}"])
            if done.code and _GONE not in done.words.lower():
                raise _error("squeue", done)
            found += _of_queue(done.out)
        known = {part.job for part in found}
        for missing in _pieces([number for number in numbers if number not in known]):
            found += self._accounting(f"--jobs={missing}")
        return found

    def cancel(self, numbers: Sequence[int]) -> None:
        """End them."""
        for numbered in _pieces(numbers):
            done = run(self.site, ["scancel", *numbered.split(",")])
            if done.code and _GONE not in done.words.lower() and "already" not in done.words.lower():
                raise _error("scancel", done)

    def facts(self) -> SiteFacts:
        """Partitions, nodes and the version."""
        version = self._output(["sinfo", "--version"]).split()[-1]
        nodes: dict[str, list[NodeFacts]] = {}
        for line in self._output(
            [
                "sinfo",
                "--noheader",
                "--all",
                "--Node",
                "--Format=NodeList:|,PartitionName:|,Gres:|,StateLong:|,Reason:|",
            ]
        ).splitlines():
            name, partition, gres, state, reason = line.split("|", 4)
            why = reason.rstrip("|")
            node = NodeFacts(name, state, gpus_of(gres), "" if why in {"none", "(null)"} else why)
            nodes.setdefault(partition, []).append(node)
        partitions = {}
        for line in self._output(["scontrol", "show", "partition", "--oneliner"]).splitlines():
            fields = dict(pair.partition("=")[::2] for pair in line.split())
            name = fields["PartitionName"]
            is_exclusive = fields.get("OverSubscribe", "") == "EXCLUSIVE"
            limit = minutes(fields.get("MaxTime", ""))
            partitions[name] = PartitionFacts(
                name, fields.get("State", "UP"), is_exclusive, limit, tuple(nodes.get(name, ()))
            )
        return SiteFacts(version, partitions)

    def _accounting(self, which: str) -> list[Part]:
        done = run(self.site, ["sacct", "--allocations", "--noheader", "--parsable2", f"--format={_ACCOUNTING}", which])
        if done.code and _NO_ACCOUNTING not in done.words.lower():
            raise _error("sacct", done)
        return [*_of_accounting(done.out)] if not done.code else []

    def _output(self, argv: Sequence[str], *, given: str = "") -> str:
        done = run(self.site, argv, given=given)
        if done.code:
            raise _error(argv[0], done)
        return done.out


def _error(program: str, done: Done) -> SlurmError:
    words = re.sub(
        rf"\b{program}: (error: )?|\b(Batch )?[Jj]ob submission failed: |allocation failure: ", "", done.words
    )
    if _AWAY.search(words):
        return Unreachable(f"Slurm's controller does not answer: {words}")
    return SlurmError(f"Slurm refuses: {words}")


def _pieces(numbers: Sequence[int]) -> Iterator[str]:
    for start in range(0, len(numbers), _AT_ONCE):
        yield ",".join(map(str, numbers[start : start + _AT_ONCE]))


def _of_queue(text: str) -> Iterator[Part]:
    for line in text.splitlines():
        whole, _, state, code, reason, nodes, name, comment = line.split("|", 7)
        note = "" if comment == "(null)|" else comment.removesuffix("|")
        yield Part(int(whole), base_state(state), reason, nodes, wait_status(int(code)), note, name)


def _of_accounting(text: str) -> Iterator[Part]:
    for line in text.splitlines():
        number, state, code, nodes, name, comment = line.split("|", 5)
        shown = "" if nodes == "None assigned" else nodes
        # 12_3 and 12_[4-9] are tasks of the array 12.
        whole = int(number.partition("_")[0].partition("+")[0])
        yield Part(whole, base_state(state), "", shown, exit_status(code), comment, name)
