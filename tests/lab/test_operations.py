"""What `make up` and `make preview` print: an engine that plays recorded events back, on a log or a terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lab import engine, operations
from lab.instance import Instance, LabError, open_instance
from lab.operations import Detail
from lab.toolchain import Toolchain

pytestmark = pytest.mark.slow  # each starts a program that plays the engine

RECORDED = Path(__file__).parent / "engine_events"
# A program that takes the place of the engine: it appends events, prints and ends as the test wants.
PLAYER = """\
#!{python}
import json, os, sys, time
plan = json.loads(open({plan!r}).read())
with open({called!r}, "w") as called:
    json.dump([sys.argv[1:], os.environ.get("PULUMI_DEBUG_COMMANDS")], called)
log = open(sys.argv[sys.argv.index("--event-log") + 1], "a")
for line in plan["events"]:
    half = len(line) // 2
    log.write(line[:half]); log.flush(); time.sleep(0.01)
    log.write(line[half:] + "\\n"); log.flush()
for path, text in plan["logs"].items():
    open(path, "a").write(text)
print(plan["out"])
print(plan["err"], file=sys.stderr)
sys.exit(plan["code"])
"""


@pytest.fixture
def instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Instance:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return open_instance("operations")


@pytest.fixture
def tools(tmp_path: Path) -> Toolchain:
    """With the one program that an update looks up itself. It never runs: a script stands in for the engine."""
    tools = Toolchain(tmp_path / "tools")
    programs = tools.root / tools.pins["buildkit"].key / "bin"
    programs.mkdir(parents=True)
    (programs / "buildctl").touch()
    return tools


class Player:
    """Plays an operation back, and knows with which arguments it was called."""

    def __init__(self, folder: Path) -> None:
        self._plan, self._called = folder / "plan.json", folder / "called.json"
        self.program = folder / "pulumi"
        self.program.write_text(PLAYER.format(python=sys.executable, plan=str(self._plan), called=str(self._called)))
        self.program.chmod(0o755)
        self.plays([])

    def plays(
        self,
        events: list[str],
        *,
        code: int = 0,
        out: str = "",
        err: str = "",
        logs: Mapping[Path, str] | None = None,  # what servers write meanwhile
    ) -> None:
        written = {str(path): text for path, text in (logs or {}).items()}
        self._plan.write_text(json.dumps({"events": events, "code": code, "out": out, "err": err, "logs": written}))

    def arguments(self) -> list[str]:
        given, switch = json.loads(self._called.read_text())
        assert switch == "true"
        return list(given)


@pytest.fixture
def player(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Player:
    player = Player(tmp_path)
    monkeypatch.setattr(engine, "program", lambda *_: player.program)
    monkeypatch.setattr(engine, "PROJECT", tmp_path)
    return player


def recorded(name: str) -> list[str]:
    return (RECORDED / f"{name}.jsonl").read_text().splitlines()


def looked_at() -> str:
    look: dict[str, Any] = {"resourceUrn": "urn", "policyPackName": "gpu-commons", "policyPackVersion": "0.1.0"}
    return json.dumps({"sequence": 1, "timestamp": 2, "policyAnalyzeSummaryEvent": look})


def test_an_update_prints_its_lines_and_keeps_notices_for_the_end(
    instance: Instance, tools: Toolchain, player: Player, capfd: pytest.CaptureFixture[str]
) -> None:
    player.plays([*recorded("up-nothing"), looked_at()], out="Updating (dsmlp-fall): many lines")
    verdict, notices = operations.up(instance, tools, "dsmlp-fall", Detail.CHANGES)
    shown = capfd.readouterr().out
    assert "55 unchanged in 4 s" in shown
    assert "many lines" not in shown
    assert len(shown.splitlines()) == 3
    assert len(notices) == 4
    assert verdict.resources == 1
    assert not (instance.run / "events.json").exists()


def test_an_error_before_the_first_event_is_shown(
    instance: Instance, tools: Toolchain, player: Player, capfd: pytest.CaptureFixture[str]
) -> None:
    locked = "error: the stack is currently locked by 1 lock(s)"
    player.plays([], code=255, err=locked)
    with pytest.raises(LabError, match="pulumi up ended with exit code 255"):
        operations.up(instance, tools, "dsmlp-fall", Detail.CHANGES)
    assert locked in capfd.readouterr().out


def test_the_output_of_an_engine_that_fails_without_an_event_is_shown(
    instance: Instance, tools: Toolchain, player: Player, capfd: pytest.CaptureFixture[str]
) -> None:
    player.plays([], code=1, out="panic: something is nil")
    with pytest.raises(LabError):
        operations.up(instance, tools, "dsmlp-fall", Detail.CHANGES)
    assert "panic: something is nil" in capfd.readouterr().out


FULL = 'level=error msg="Download failed after 1 attempts: write /GetImageBlob3: no space left on device"\n'


def test_an_update_that_fails_while_a_server_finds_the_disk_full_says_so(
    instance: Instance, tools: Toolchain, player: Player
) -> None:
    log = instance.logs / "dockerd.log"
    player.plays([], code=1, err="error: unable to find or pull image 127.0.0.1:5000/hub: ", logs={log: FULL})
    with pytest.raises(LabError, match=r"The disk of .* filled up \(.*dockerd.log\); .* GB are free now"):
        operations.up(instance, tools, "dsmlp-fall", Detail.CHANGES)


def test_a_disk_that_was_full_before_an_update_is_no_reason_for_its_failure(
    instance: Instance, tools: Toolchain, player: Player
) -> None:
    log = instance.logs / "dockerd.log"
    log.write_text(FULL)
    player.plays([], code=1, err="error: unable to find or pull image 127.0.0.1:5000/hub: ", logs={log: "pulled\n"})
    with pytest.raises(LabError) as failed:
        operations.up(instance, tools, "dsmlp-fall", Detail.CHANGES)
    assert "filled up" not in str(failed.value)


def test_what_an_event_has_reported_is_not_repeated(
    instance: Instance, tools: Toolchain, player: Player, capfd: pytest.CaptureFixture[str]
) -> None:
    error = {"diagnosticEvent": {"severity": "error", "message": "two problems\n  one\n  two", "urn": ""}}
    player.plays([json.dumps(error)], code=1, err="error: two problems\n  one\n  two\nerror: update failed")
    with pytest.raises(LabError):
        operations.up(instance, tools, "dsmlp-fall", Detail.CHANGES)
    assert capfd.readouterr().out.splitlines() == [
        "  error: two problems",
        "      one",
        "      two",
        "error: update failed",
    ]


def test_a_preview_hands_the_engines_exit_code_on_and_keeps_the_events_it_was_asked_for(
    instance: Instance, tools: Toolchain, player: Player, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    events = tmp_path / "kept.json"
    events.write_text("of an earlier preview\n")
    player.plays(recorded("up-nothing"), code=7)
    ended = operations.preview(instance, tools, "dsmlp-fall", Detail.CHANGES, events)
    assert (ended.code, len(ended.notices)) == (7, 4)
    assert events.read_text().splitlines() == recorded("up-nothing")
    assert "55 unchanged" in capfd.readouterr().out


@pytest.mark.slow
def test_everything_is_what_the_engine_itself_shows(
    instance: Instance, tools: Toolchain, player: Player, capfd: pytest.CaptureFixture[str]
) -> None:
    player.plays([*recorded("up-nothing"), looked_at()], out="Updating (dsmlp-fall): many lines")
    operations.up(instance, tools, "dsmlp-fall", Detail.EVERYTHING)
    shown = capfd.readouterr().out
    assert "many lines" in shown
    assert "unchanged in" not in shown
    player.plays(recorded("up-nothing"))
    operations.preview(instance, tools, "dsmlp-fall", Detail.EVERYTHING, None)
    assert "--diff" in player.arguments()
