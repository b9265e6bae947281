"""How pages are worked through, and which of their blocks are not."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import pages
import pytest

ROOT = Path(__file__).parent.parent


def worked_through(page: str, folder: Path) -> list[str]:
    results, cwd = folder / "results", folder / "cwd"
    results.mkdir()
    cwd.mkdir()
    script = pages.script(page, results, {"registry.example.edu": "127.0.0.1:5000"}, {"make up": "not here"})
    subprocess.run(["bash", "-c", script], cwd=cwd, check=False, stdin=subprocess.DEVNULL)
    return list(pages.complaints(page, results, {"registry.example.edu": "127.0.0.1:5000"}))


GOOD = """
# A page

```sh
make up      # which is there already
export word=one && mkdir folder && cd folder
```

Save this as `data/some.json`:

<!-- file: data/some.json -->
```json
{"at": "registry.example.edu"}
```

<!-- ends with 3 -->
```sh
echo "$word" two three
echo between
cat data/some.json
(exit 3)
```

It prints

```text
one … three
…
{"at": "registry.example.edu"}
```
"""


def test_a_page_is_one_session_whose_files_are_saved_and_whose_output_is_compared(tmp_path: Path) -> None:
    assert worked_through(GOOD, tmp_path) == []
    assert (tmp_path / "cwd" / "folder" / "data" / "some.json").read_text() == '{"at": "127.0.0.1:5000"}\n'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("right", "wrong", "complaint"),
    [
        ("mkdir folder", "mkdir folder/in/none", "line 4: the block ended with 1:\nmkdir: cannot create"),
        ("cat data/some.json\n", "cat data/none.json\n", "`cat data/none.json` ended with 1"),
        ("(exit 3)", "(exit 4)", "ended with 4"),
        ("(exit 3)", "true", "nothing ended with 3, as the page says"),
        ("one … three", "one … four", "prints something else:\none two three"),
        ("one … three\n…\n", "one … three\n", "prints something else"),
        ("(exit 3)", "exit 3", "the session ended before the page did"),
    ],
)
def test_a_page_that_is_wrong_is_reported(right: str, wrong: str, complaint: str, tmp_path: Path) -> None:
    assert right in GOOD
    found = worked_through(GOOD.replace(right, wrong), tmp_path)
    assert any(complaint in each for each in found), found


def test_a_note_that_is_misspelt_is_found() -> None:
    assert pages.unknown_notes(GOOD) == []
    assert pages.unknown_notes("<!-- not ran: needs a GPU -->\n```sh\nx\n```\n") == ["<!-- not ran: needs a GPU -->"]


PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
# Every block of commands that tests/e2e/test_pages_run.py does not type. A new one is a decision: it is listed here.
NOT_RUN = {
    ("docs/aws.md", "starts a lab of its own and takes some minutes"),
    ("docs/faults.md", "needs the folder of its state"),
    ("docs/images.md", "needs a machine that reaches the registry of the base"),
    ("docs/images.md", "needs a machine with a GPU"),
    ("docs/use-a-component.md", "needs Pulumi's own language hosts"),
}


@cache
def all_blocks() -> list[tuple[str, pages.Block]]:
    return [(page.relative_to(ROOT).as_posix(), block) for page in PAGES for block in pages.blocks(page.read_text())]


def test_these_are_the_blocks_that_are_not_run() -> None:
    assert {(page, block.notes["not run"]) for page, block in all_blocks() if "not run" in block.notes} == NOT_RUN


def test_a_block_that_is_not_run_says_why_in_words_that_a_reader_sees() -> None:
    left_out = [(page, block, block.notes["not run"]) for page, block in all_blocks() if "not run" in block.notes]
    unsaid = [
        f"{page}:{block.line}: {why}" for page, block, why in left_out if why.casefold() not in block.above.casefold()
    ]
    assert unsaid == []


def test_the_notes_of_pages_are_known_and_stand_above_what_they_speak_of() -> None:
    kinds = {"not run": {"sh"}, "ends with": {"sh"}, "example": {"text"}}
    unknown = [(page.name, note) for page in PAGES for note in pages.unknown_notes(page.read_text())]
    misplaced = [
        f"{page}:{block.line}: {note} above a block of {block.kind}"
        for page, block in all_blocks()
        for note in block.notes
        if block.kind not in kinds.get(note, {block.kind})
    ]
    assert unknown == []
    assert misplaced == []


def test_commands_are_in_blocks_that_are_typed() -> None:
    # Another language name (bash, console, none) would hide a block from the test that types them.
    kinds = {block.kind for _, block in all_blocks()}
    assert kinds <= {"sh", "text", "yaml", "json", "python", "dockerfile", "mermaid"}
