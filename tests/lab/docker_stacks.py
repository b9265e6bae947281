"""Stacks of the tests' own programs under the real engine, with nothing of Pulumi's on the machine but the tools."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from lab.language_host.launcher import write_launcher
from lab.toolchain import Toolchain

PROGRAMS = Path(__file__).with_name("docker_programs")


@dataclass(frozen=True)
class Stack:
    """A stack `dev` of the program, with the plugin as the engine finds it."""

    pulumi: str
    folder: Path
    environ: dict[str, str]

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [self.pulumi, *words, "--non-interactive", "--color", "never"],
            cwd=self.folder,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def ends(self, *words: str) -> tuple[int, str]:
        """Exit code and output of a command; nothing of the plugin may be left after it."""
        process = self.start(*words)
        output = process.communicate(timeout=240)[0]
        assert plugins_of(self.folder.parent, within_s=10) == []
        return process.returncode, output

    def __call__(self, *words: str) -> str:
        code, output = self.ends(*words)
        assert code == 0, output
        return output

    def counts(self, command: str) -> dict[str, int]:
        """What a command would do or did to resources, from its summary: `{"create": 6}`."""
        output = self(command, *(["--yes", "--skip-preview"] if command != "preview" else []))
        return {
            name: int(count)
            for count, name in re.findall(r"(\d+) (?:to )?(create|update|replace|delete|unchanged)", output)
        }


def plugins_of(folder: Path, *, within_s: float) -> list[str]:
    """Names of the programs below a folder that still run after that time."""
    deadline = time.monotonic() + within_s
    while True:
        found = []
        for process in psutil.process_iter():
            try:
                if process.exe().startswith(str(folder)) and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process.name())
            except psutil.Error:
                continue
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.05)


def new_stack(program: str, tools: Toolchain, folder: Path) -> Stack:
    """A copy of that program in an empty folder, with a home, a state and a stack `dev`."""
    own = folder / "tools"
    own.mkdir()
    write_launcher(own / "pulumi-language-python", Path(sys.executable))
    for name in tools.pins["pulumi"].module_files:
        shutil.copy(tools.path(name), own)
    (folder / "state").mkdir()
    copy = Path(shutil.copytree(PROGRAMS / program, folder / program))
    (copy / "Pulumi.yaml").write_text((copy / "Pulumi.yaml").read_text().replace("@virtualenv@", sys.prefix))
    environ = {
        "HOME": str(folder),
        "PATH": f"{own}:{os.environ['PATH']}",
        "PULUMI_HOME": str(folder / "home"),
        "PULUMI_BACKEND_URL": f"file://{folder}/state",
        "PULUMI_CONFIG_PASSPHRASE": "",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
    }
    stack = Stack(os.environ.get("GPU_COMMONS_PULUMI") or str(tools.path("pulumi")), copy, environ)
    stack("stack", "select", "--create", "dev")
    return stack
