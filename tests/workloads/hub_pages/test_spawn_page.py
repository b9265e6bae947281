"""The page that starts servers, in a real JupyterHub: with a browser, on a phone, in the dark, and without scripts."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser

import pytest
from asking import ARGS, Asker, window
from playwright.sync_api import Browser, expect

pytestmark = pytest.mark.slow  # a real JupyterHub starts

# Of a text and of what it stands on, as WCAG 2.1 counts it (4.5 is level AA).
CONTRASTS = """() => {
  const luminance = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const numbers = text => text.match(/[\\d.]+/g).map(Number);
  const behind = node => {
    for (let n = node; n; n = n.parentElement) {
      const c = numbers(getComputedStyle(n).backgroundColor);
      if (c.length === 3 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some(c => c.nodeType === 3 && c.textContent.trim());
    if (!own || !node.getClientRects().length) continue;
    const [a, b] = [numbers(getComputedStyle(node).color), behind(node)].map(luminance).sort((x, y) => y - x);
    found.push([node.textContent.trim().slice(0, 40), (a + 0.05) / (b + 0.05)]);
  }
  return found;
}"""


@pytest.fixture(scope="module")
def hub(serve: Callable[..., Asker]) -> Asker:
    return serve(ARGS)


class Fields(HTMLParser):
    """The radio buttons of a page: value by id, and those that are checked."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.radios: list[tuple[str, str]] = []
        self.checked: list[str] = []
        self.scripts = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.scripts += tag == "script"
        if tag == "input" and found.get("type") == "radio":
            self.radios.append((str(found["name"]), str(found["value"])))
            if "checked" in found:
                self.checked.append(str(found["value"]))


def test_the_form_has_the_field_that_kubespawner_reads_with_every_profile(hub: Asker) -> None:
    with hub.session("ada") as session:
        fields = Fields(session.get("/hub/spawn").text)
    assert fields.radios == [("profile", name) for name in ("cpu", "one", "two", "odd")]
    assert fields.checked == ["cpu"]
    assert fields.scripts == 0


def test_the_page_names_site_gpu_software_end_and_help_and_nothing_internal(hub: Asker) -> None:
    with hub.session("bob") as session:
        text = re.sub(
            r"\s+", " ", re.sub(r"<style>.*?</style>|<[^>]+>", "", session.get("/hub/spawn").text, flags=re.DOTALL)
        )
    for words in (
        "dsmlp",
        "GeForce RTX 2080 Ti, 11 GB",
        "2 GPUs, 8 CPU cores, 32 GiB memory",
        "CUDA 10.1",
        "TensorFlow 2.3.4, PyTorch 1.7.1",
        "Missing here: what jupyter/datascience-notebook brings.",
        "not reachable from here.",
        "stops after 1 hour without activity, and at the latest 12 hours after it started",
        "Help",
    ):
        assert words in text
    assert not [name for name in ("pool-a", "pool-b", "pool-c", "ml-image", "base-image", "registry.") if name in text]


@pytest.mark.browser
def test_what_an_operator_writes_is_shown_as_it_is_written(browser: Browser, hub: Asker) -> None:
    page = window(browser, hub, "carol")
    expect(page.get_by_role("radio", name="{{ 7 * 6 }} <b>&", exact=True)).to_be_visible()


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read_by_day_and_by_night(browser: Browser, hub: Asker, scheme: str) -> None:
    page = window(browser, hub, f"dora-{scheme}", color_scheme=scheme)
    contrasts = page.evaluate(CONTRASTS)
    assert len(contrasts) > 20
    assert [each for each in contrasts if each[1] < 4.5] == []
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", background)[:3])) < 150) == (scheme == "dark")


@pytest.mark.browser
def test_on_a_phone_nothing_is_wider_than_the_screen_and_a_thumb_hits_the_choices(browser: Browser, hub: Asker) -> None:
    page = window(browser, hub, "emil", viewport={"width": 390, "height": 844}, has_touch=True)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    for name in ("CPU only", "Two RTX 2080 Ti"):
        row = page.locator(".gc-choice").filter(has=page.get_by_role("radio", name=name))
        box = row.bounding_box()
        assert box
        assert box["height"] >= 44
        page.touchscreen.tap(box["x"] + box["width"] - 8, box["y"] + box["height"] - 8)  # beside the words
        expect(page.get_by_role("radio", name=name)).to_be_checked()


@pytest.mark.browser
def test_why_something_is_missing_is_read_on_demand_and_chooses_nothing(browser: Browser, hub: Asker) -> None:
    page = window(browser, hub, "ines", java_script_enabled=False)
    why = page.get_by_text("not reachable from here.").last
    expect(why).to_be_hidden()
    page.get_by_text("Why").last.click()
    expect(why).to_be_visible()
    expect(page.get_by_role("radio", name="CPU only")).to_be_checked()


@pytest.mark.browser
def test_without_scripts_a_server_starts_and_the_last_choice_is_remembered(browser: Browser, hub: Asker) -> None:
    page = window(browser, hub, "fred", java_script_enabled=False)
    page.get_by_role("radio", name="Two RTX 2080 Ti").check()
    page.get_by_role("button", name="Start").click()
    expect(page).to_have_url(re.compile(r"/hub/spawn-pending/fred"))
    assert "'profile': 'two'" in hub.log.read_text()


@pytest.mark.browser
def test_a_server_can_be_started_with_the_keyboard_and_the_focus_is_visible(browser: Browser, hub: Asker) -> None:
    page = window(browser, hub, "gina")
    page.get_by_role("radio", name="CPU only").focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("radio", name="One RTX 2080 Ti")).to_be_checked()
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/hub/spawn-pending/gina"))


@pytest.mark.browser
def test_what_helps_to_choose_is_read_out_with_each_choice(browser: Browser, hub: Asker) -> None:
    page = window(browser, hub, "hana")
    expect(page.get_by_role("group", name="Choose what to start")).to_be_visible()
    choice = page.get_by_role("radio", name="Two RTX 2080 Ti", exact=True)
    expect(choice).to_have_accessible_description(re.compile(r"2 GPUs, 8 CPU cores, 32 GiB memory.*PyTorch 1\.7\.1"))
