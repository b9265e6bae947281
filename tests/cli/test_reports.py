"""Answers and matrices as people see them: whole texts that were read and approved once, and properties of any."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser
from rows import each_row

from cli.answers import answer_data, answer_text
from cli.matrix.grid import Grid, grid_data
from cli.matrix.html_page import matrix_html
from cli.matrix.table import matrix_markdown, matrix_text
from cli.words import ALL_SIGNS, SIGNS
from compat import Verdict

sys.path.insert(0, str(Path(__file__).parent))  # for synthetic.py: folders of tests are no packages here
import synthetic

MADE = "gpu-commons matrix, 2026-11-21"
VOID = {"meta", "br", "hr", "link", "img", "input"}


def test_an_answer_as_text(golden: Callable[[str], Any]) -> None:
    golden("answer/incompatible.txt").equals(answer_text(synthetic.FAILS))
    golden("answer/incompatible-60.txt").equals(answer_text(synthetic.FAILS, width=60))


def test_an_answer_as_data(golden: Callable[[str], Any]) -> None:
    text = json.dumps(answer_data(synthetic.FAILS), indent=2) + "\n"
    golden("answer/incompatible.json").equals(text)


@each_row(
    ("name", "render"),
    [
        ("table.txt", lambda grid: matrix_text(grid, width=120)),
        ("list-60.txt", lambda grid: matrix_text(grid, width=60)),
        ("page.md", matrix_markdown),
        ("page.html", lambda grid: matrix_html(grid, made=MADE)),
        ("data.json", lambda grid: json.dumps(grid_data(grid), indent=2, ensure_ascii=False) + "\n"),
    ],
)
def test_a_matrix_looks_as_approved(golden: Callable[[str], Any], name: str, render: Callable[[Grid], str]) -> None:
    golden(f"matrix/{name}").equals(render(synthetic.grid()))


def test_a_matrix_has_colours_only_on_request() -> None:
    assert "\x1b[" not in matrix_text(synthetic.grid(), width=120)
    assert "\x1b[" in matrix_text(synthetic.grid(), width=120, has_colours=True)


def test_a_matrix_in_a_terminal_shows_what_does_not_hold_and_the_page_shows_all() -> None:
    grid = synthetic.grid()
    assert "makes code for the GPU" not in matrix_text(grid, width=120)
    assert "makes code for the GPU" in matrix_html(grid)


@each_row("width", [40, 60, 80, 120])
def test_no_line_of_a_matrix_is_wider_than_the_terminal_but_for_words_that_are(width: int) -> None:
    lines = matrix_text(synthetic.big_grid(3, 6), width=width).splitlines()
    assert not [line for line in lines if len(line) > width and len(line.split()) > 2]


def test_every_verdict_has_its_own_symbol_and_word() -> None:
    assert set(SIGNS) == set(Verdict)
    assert len({sign.symbol for sign in ALL_SIGNS}) == len({sign.word for sign in ALL_SIGNS}) == len(ALL_SIGNS)


# --- the page


class Page(HTMLParser):
    """A page as a tree is walked: open tags, ids, links, text of every element by its path."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loads: list[str] = []
        self.scopes: list[str | None] = []
        self.labels: list[str] = []
        self.cells: list[str] = []
        self.faults: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.tags[tag] += 1
        self.ids += [str(values["id"])] if "id" in values else []
        self.links += [str(values["href"])] if tag == "a" else []
        self.loads += [str(values[name]) for name in ("src", "srcset", "data", "action") if name in values]
        self.loads += [str(values["href"])] if "href" in values and tag != "a" else []
        self.scopes += [values.get("scope")] if tag == "th" else []
        self.labels += [str(values["aria-labelledby"])] if "aria-labelledby" in values else []
        self.faults += [name for name in values if name.startswith("on")]
        self.cells += [""] if tag in {"td", "th"} else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        if {"td", "th"} & set(self.open):
            self.cells[-1] += data


@pytest.fixture(scope="module", params=["small", "big"])
def page(request: pytest.FixtureRequest) -> Page:
    grid = synthetic.grid() if request.param == "small" else synthetic.big_grid(12, 30)
    return Page(matrix_html(grid, made=MADE))


def test_the_page_is_well_formed(page: Page) -> None:
    assert not page.open
    assert not page.faults
    assert page.tags["h1"] == page.tags["main"] == 1


def test_the_page_has_no_script_and_loads_nothing(page: Page) -> None:
    assert not page.tags.keys() & {"script", "link", "img", "iframe", "object", "embed", "form"}
    assert not page.loads
    style = matrix_html(synthetic.grid()).partition("<style>")[2].partition("</style>")[0]
    assert not re.search(r"url\(|@import|https?:", style)


def test_ids_are_there_once_and_every_link_inside_the_page_has_its_target(page: Page) -> None:
    assert len(set(page.ids)) == len(page.ids)
    inside = {link.removeprefix("#") for link in page.links if link.startswith("#")}
    assert inside <= set(page.ids)
    assert set(page.labels) <= set(page.ids)
    assert all(link.startswith(("#", "https://")) for link in page.links)


def test_every_cell_says_something_in_words(page: Page) -> None:
    assert not [cell for cell in page.cells if not re.search(r"[a-zA-Z0-9]", cell)]


def test_every_head_of_a_table_has_a_scope_and_every_table_a_caption(page: Page) -> None:
    assert set(page.scopes) == {"col", "row"}
    assert page.tags["caption"] == page.tags["table"] == 2


def test_what_users_wrote_is_never_taken_for_html() -> None:
    text = matrix_html(synthetic.grid())
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "&lt;418.88&gt;" in text


def test_every_pair_leads_to_a_reason_that_names_its_pool() -> None:
    grid = synthetic.grid()
    for number, row in enumerate(grid.rows, 1):
        by_pool = [(pool, reason) for reason in grid.reasons(row, number) for pool in reason.pools]
        assert sorted(pool for pool, _ in by_pool) == sorted(column.name for column in grid.columns)
        assert all(reason.answer == grid.matrix.answers[row.name, pool] for pool, reason in by_pool)


def test_what_simply_runs_is_one_card_and_its_facts_appear_once() -> None:
    text = matrix_html(synthetic.many_that_run(6))
    assert text.count('<article class="why good"') == 1
    assert text.count("CUDA 12.4 asks for driver 525.60.13") == 1
    assert text.count("<span>on every pool</span>") == 1
    cells = re.findall(r'<td class="good"><a href="([^"]+)"', text)
    assert cells == ["#why-1-runs"] * 6


def test_a_cell_says_who_uses_it_and_that_nobody_does() -> None:
    grid = synthetic.grid()
    cells = re.findall(r"<td.*?</td>", matrix_html(grid))
    assert "profile gpu, job nightly" in cells[0]
    assert "2 courses, 181 seats" in cells[0]
    assert "not used" in cells[2]
    assert "not used" not in cells[6]  # it needs no GPU: nobody misses it there
    assert "hub lab" in cells[7]


def test_a_cell_of_two_lists_says_nothing_about_uses() -> None:
    for text in (matrix_html(synthetic.big_grid(2, 2)), matrix_text(synthetic.big_grid(2, 2), width=120)):
        assert not re.search(r"not used|[Uu]sed by", text)


def test_a_reason_says_who_is_affected() -> None:
    grid = synthetic.grid()
    users = (
        "profile gpu of hub lab: Intro & more (180 seats, until 2027-03-31), Deep learning (1 seat, until 2027-03-31)"
    )
    text = matrix_text(grid, width=200)
    assert f"used by {users}; job nightly\n" in text
    assert f"  teaching on new: {users}\n" in text
    assert "<script>alert(1)</script>: not used by this stack\n" in text
    assert f"Used by {users.replace('&', '&amp;')}; job nightly." in matrix_markdown(grid)
    assert "profile gpu, job nightly<br>2 courses, 181 seats" in matrix_markdown(grid)


@pytest.mark.browser
@pytest.mark.parametrize(("media", "width"), [("screen", 1400), ("screen", 390), ("print", 1060)])
def test_no_card_of_the_page_is_cut_or_has_room_for_nothing(
    browser: Browser, media: Literal["screen", "print"], width: int
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 600})
    page.emulate_media(media=media)
    page.set_content(matrix_html(synthetic.grid(), made=MADE))
    cards = page.evaluate(
        """() => [...document.querySelectorAll('.why')].map(card => {
            const shown = [...card.children].filter(child => child.getClientRects().length)
            const box = card.getBoundingClientRect()
            return {pieces: card.getClientRects().length,
                    left: box.bottom - Math.max(...shown.map(child => child.getBoundingClientRect().bottom)),
                    wide: document.documentElement.scrollWidth - innerWidth}
        })"""
    )
    page.close()
    assert len(cards) == 5
    assert [card["pieces"] for card in cards] == [1] * 5
    assert all(card["left"] < 25 and card["wide"] <= 0 for card in cards), cards


def test_an_empty_matrix_says_that_there_is_nothing_to_compare() -> None:
    grid = synthetic.big_grid(1, 0)
    for text in (matrix_text(grid, width=80), matrix_markdown(grid), matrix_html(grid)):
        assert "nothing to compare" in text
