"""The HTML report in a real browser, as its reader uses it."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import onnx
import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from opcheck.reports.html import html
from report_runs import HOSTILE, large_run, run_saying

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="no chromium and chromedriver")

ROOT = Path(__file__).parent.parent.parent
CONTROLFLOW = ROOT / "cases" / "controlflow"
#: Beside real cases: one whose float output is large enough for a picture, and one that passes.
CASES = """\
operator: Identity
opset: 16
cases:
  - name: table
    why: Catches a runtime that computes where nothing is to be computed.
    node: Identity(x) -> (y)
    inputs:
      x: {dtype: float32, shape: [2, 3, 4], fill: 1.5}
    outputs:
      y: {dtype: float32, shape: [2, 3, 4], fill: 1.5}
  - name: whole
    node: Identity(x) -> (y)
    inputs:
      x: {dtype: int64, data: [1, 2]}
    outputs:
      y: {dtype: int64, data: [1, 2]}
"""


class Browser:
    """Chromium, and what it logged since it was asked last."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver
        self.script = driver.execute_script

    def open(self, page: Path, fragment: str = "", width: int = 1200, scheme: str = "light"):
        device = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", device)
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get(page.as_uri() + fragment)
        assert self.script("return performance.getEntriesByName('opcheck-ready').length") == 1

    def all(self, selector: str):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector: str):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def texts(self, selector: str) -> list[str]:
        return [element.text for element in self.all(selector)]

    def wait(self, condition):
        return WebDriverWait(self.driver, 20, 0.05).until(lambda _: condition())

    def case(self, title: str):
        """Wait until a case is open, and return its content."""
        self.wait(lambda: self.texts("dialog[open] h2") == [title] and self.all(".content section"))
        return self.one(".content")

    @property
    def fragment(self) -> str:
        return self.script("return decodeURIComponent(location.hash)")

    def press(self, *keys: str) -> None:
        self.driver.switch_to.active_element.send_keys(*keys)

    def requests(self) -> list[str]:
        messages = [json.loads(e["message"])["message"] for e in self.driver.get_log("performance")]
        return [
            m["params"]["request"]["url"]
            for m in messages
            if m["method"] == "Network.requestWillBeSent"
        ]


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("headless", "no-sandbox", "disable-gpu", "disable-background-networking"):
        options.add_argument(f"--{argument}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture
def browser(chromium):
    """The browser; whatever a test does in it, the console stays empty."""
    shared = Browser(chromium)
    yield shared
    assert chromium.get_log("browser") == []
    shared.script("localStorage.clear()")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, plugin):
    """Where opcheck was run on a backend that is wrong."""
    folder = tmp_path_factory.mktemp("report")
    (folder / "cases").mkdir()
    (folder / "cases" / "identity.yaml").write_text(CASES)
    for name in ("loop.yaml", "scan.yaml"):
        (folder / "cases" / name).write_text((CONTROLFLOW / name).read_text())
    return folder


def opcheck(folder: Path, plugin: Path, *arguments: str):
    environment = {**os.environ, "PYTHONPATH": str(plugin), "OPCHECK_CACHE": str(folder / "cache")}
    return subprocess.run(
        [sys.executable, "-m", "opcheck", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
    )


@pytest.fixture(scope="module")
def page(folder, plugin) -> Path:
    wrong = ("-b", "mini:noisy", "-b", "mini:wrong-shape", "--html", "report.html")
    chosen = "identity or doc_sample or loop11_carried or scan_pairwise"
    done = opcheck(folder, plugin, "compare", "cases", *wrong, "-q", "-k", chosen)
    assert done.returncode == 1, done.stderr
    return folder / "report.html"


@pytest.fixture(scope="module")
def large(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("large") / "report.html"
    path.write_text(html(large_run(20_000)), "utf-8")
    return path


TABLE = "cases/identity.yaml::table"
NESTED = "cases/loop.yaml::doc_sample[opset=11]"


def test_the_filter_narrows_results_and_matrix(browser, page):
    """Each control narrows, the count is announced, the address says what is shown."""
    browser.open(page)
    total = len(
        browser.script("return JSON.parse(document.getElementById('data').textContent).records")
    )
    count = browser.one("#count")
    assert count.text == f"{total} results"
    assert count.get_attribute("aria-live") == "polite"
    assert {"Identity", "Loop", "Scan"} == set(browser.texts(".matrix tbody th"))
    Select(browser.one("#op")).select_by_visible_text("Identity")
    assert count.text == f"6 of {total} results"
    browser.one("#outcome input[value=failed]").click()
    assert count.text == f"3 of {total} results"
    assert browser.fragment == "#op=Identity&outcome=failed"
    assert {"✗ failed"} >= {
        t.replace("failed", "✗ failed") for t in browser.texts(".results .outcome")
    }
    row = browser.one(".matrix tbody tr").text
    assert "100 %" in row
    assert "50 %" in row
    assert "0 %" in row
    browser.one("#q").send_keys("WHOLE shape")
    assert count.text == f"1 of {total} results"
    Select(browser.one("#type")).select_by_visible_text("float32")
    assert count.text == f"0 of {total} results"
    browser.one("button[type=reset]").click()
    assert count.text == f"{total} results"
    Select(browser.one("#opset")).select_by_visible_text("16")
    Select(browser.one("#backend")).select_by_visible_text("mini:noisy")
    Select(browser.one("#standing")).select_by_visible_text("unexpected")
    assert browser.texts(".results tbody th a")[0] == "table"


def test_a_cell_of_the_matrix_leads_to_its_results(browser, page):
    """The share of an operator on a backend is a link to them."""
    browser.open(page)
    [cell] = [a for a in browser.all(".matrix td a") if a.text.startswith("50 %")]
    cell.click()
    assert browser.fragment == "#op=Identity&backend=mini:noisy"
    assert browser.texts(".results .case") == ["table", "whole"]
    browser.one(".matrix thead th:first-child button").click()
    assert browser.one(".matrix thead th").get_attribute("aria-sort") == "ascending"


def test_a_case_shows_everything(browser, page):
    """One click: node, graph, inputs, expected, got, the difference, the command, the model."""
    browser.open(page, "#op=Identity&backend=mini:noisy")
    browser.one(".results .case").click()
    content = browser.case("table")
    assert browser.fragment == f"#case={TABLE}&backend=mini:noisy"
    assert "Identity(x) -> (y)" in browser.one("pre.node").text
    assert "Catches a runtime that computes" in content.text
    assert browser.texts(".graph .item > text:nth-of-type(1)") == ["x", "Identity", "y"]
    assert len(browser.all(".graph .edge")) == 2
    assert len(browser.all(".heatmap")) == 2
    glyphs = browser.texts(".heatmap .glyph")
    assert glyphs[0] == "NaN"
    assert glyphs[-1] == "∞"
    assert len(browser.all(".heatmap .h-equal")) == 1
    assert len(browser.all(".heatmap rect.heat")) == 24
    assert "NaN and a number: 1 element" in browser.one(".legend").text
    expected, got = browser.all(".pair > div")
    assert expected.text.count("1.5") == 24
    assert len(got.find_elements(By.TAG_NAME, "mark")) == 23
    assert "NaN" in browser.one("tr.worst").text or "nan" in browser.one("tr.worst").text
    assert "worst" in browser.one("tr.worst").text
    others = browser.texts(".others a")
    assert [text.split()[0] for text in others] == ["builtin", "mini:noisy", "mini:wrong-shape"]


def test_the_picture_is_read_by_pointer_and_by_keys(browser, page):
    """The cell under the pointer or the cursor is named in a live line."""
    browser.open(page, f"#case={TABLE}&backend=mini:noisy")
    browser.case("table")
    second = browser.all(".heatmap")[1]
    browser.script("arguments[0].focus()", second)
    browser.press(Keys.ARROW_RIGHT)
    readout = browser.one(".readout")
    assert readout.text.startswith("[1, 0, 1]: ")
    browser.press(*[Keys.ARROW_DOWN] * 3, *[Keys.ARROW_RIGHT] * 2)
    assert readout.text == "[1, 2, 3]: an infinity and a number"
    webdriver.ActionChains(browser.driver).move_to_element_with_offset(second, 0, 0).perform()
    assert readout.text != "[1, 2, 3]: an infinity and a number"
    assert readout.get_attribute("aria-live") == "polite"


def test_another_shape_is_drawn_as_two_shapes_over_each_other(browser, page):
    """A backend that gives another rank: what is in both, what came too much."""
    browser.open(page, "#case=cases/loop.yaml::loop11_carried_state&backend=mini:wrong-shape")
    browser.case("loop11_carried_state")
    assert "expected" in browser.one(".difference p").text
    assert browser.all(".heatmap .h-both")


def test_bodies_are_drawn_inside_their_node(browser, page):
    """The nodes of a Loop's body are in the box of the Loop."""
    browser.open(page, f"#case={NESTED}&backend=mini:wrong-shape")
    browser.case("doc_sample[opset=11]")
    loop = browser.one(".graph > .node")
    inner = loop.find_elements(By.CSS_SELECTOR, ".node .node > rect:first-of-type")
    assert "body" in browser.texts(".graph .caption")
    assert len(inner) > 2
    boxes = [box.rect for box in inner]
    outside = loop.find_element(By.CSS_SELECTOR, ":scope > rect").rect
    for box in boxes:
        assert outside["x"] <= box["x"]
        assert box["x"] + box["width"] <= outside["x"] + outside["width"]
        assert box["y"] + box["height"] <= outside["y"] + outside["height"]
    for i, box in enumerate(boxes):
        assert not [other for other in boxes[:i] if overlap(box, other)]


def overlap(a, b) -> bool:
    sides = (("x", "width"), ("y", "height"))
    return all(a[k] < b[k] + b[n] and b[k] < a[k] + a[n] for k, n in sides)


def test_the_command_runs_the_case_again(browser, page, folder, plugin):
    """What the page prints can be pasted."""
    browser.open(page, f"#case={NESTED}&backend=mini:wrong-shape")
    browser.case("doc_sample[opset=11]")
    program, *arguments = shlex.split(browser.one(".command code").text)
    assert program == "opcheck"
    done = opcheck(folder, plugin, *arguments)
    assert done.returncode == 1
    assert "1 failed" in done.stdout


def test_the_model_can_be_downloaded(browser, page, tmp_path):
    """The file is the model of the case."""
    behaviour = {"behavior": "allow", "downloadPath": str(tmp_path)}
    browser.driver.execute_cdp_cmd("Browser.setDownloadBehavior", behaviour)
    browser.open(page, f"#case={NESTED}&backend=mini:wrong-shape")
    browser.case("doc_sample[opset=11]")
    browser.one("button.model").click()
    path = tmp_path / "doc_sample_opset_11_.onnx"
    browser.wait(path.exists)
    assert [node.op_type for node in onnx.load(path).graph.node] == ["Loop"]


def test_a_link_leads_to_a_case_or_a_filter_and_back(browser, page):
    """The address is the state: links, reloading, back and forward."""
    browser.open(page, "#outcome=failed&op=Loop")
    assert browser.one("#outcome input[value=failed]").is_selected()
    assert Select(browser.one("#op")).first_selected_option.text == "Loop"
    before = browser.one("#count").text
    title = browser.texts(".results .case")[1]
    browser.all(".results .case")[1].click()
    browser.case(title)
    address = browser.fragment
    browser.driver.back()
    browser.wait(lambda: not browser.all("dialog[open]"))
    assert browser.one("#count").text == before
    browser.driver.forward()
    browser.case(title)
    assert browser.fragment == address
    browser.driver.refresh()
    browser.case(title)
    browser.open(page, "#case=cases/gone.yaml::gone&backend=x")
    assert browser.texts("dialog[open] h2") == ["There is no such case"]
    browser.open(page, "#outcome=%E0%A4%A&op=%&nothing&page=x")
    assert browser.one("#count").text.startswith("0 of ")


def test_the_keyboard_is_enough(browser, page):
    """Slash to the search, arrows through the rows, Enter opens, Escape closes, focus is kept."""
    browser.open(page)
    browser.one("body").send_keys("/")
    assert browser.driver.switch_to.active_element.get_attribute("id") == "q"
    browser.press("loop")
    browser.press(Keys.ARROW_DOWN)
    browser.press(Keys.ARROW_DOWN)
    browser.press(Keys.ARROW_UP)
    browser.press(Keys.ARROW_DOWN)
    second = browser.all(".results .case")[1]
    assert browser.driver.switch_to.active_element == second
    assert browser.script("return getComputedStyle(document.activeElement).outlineStyle") != "none"
    title = second.text
    browser.press(Keys.ENTER)
    browser.case(title)
    assert browser.driver.switch_to.active_element.text == title
    browser.press(Keys.ESCAPE)
    browser.wait(lambda: not browser.all("dialog[open]"))
    assert browser.fragment == "#q=loop"
    assert browser.driver.switch_to.active_element.text == title
    browser.one("#q").send_keys(Keys.HOME, "/")
    assert browser.one("#q").get_attribute("value") == "/loop"


def test_previous_and_next_go_through_the_filtered_cases(browser, page):
    """Without closing the case."""
    browser.open(page, "#op=Identity&backend=mini:wrong-shape")
    browser.one(".results .case").click()
    browser.case("table")
    [previous, following, _] = browser.all("dialog header button")
    assert not previous.is_enabled()
    following.click()
    browser.case("whole")
    browser.one("dialog .close").click()
    assert browser.fragment == "#op=Identity&backend=mini:wrong-shape"


def test_controls_and_tables_have_names(browser, page):
    """A screen reader says what each is."""
    browser.open(page)
    for control in browser.all("input, select"):
        assert control.accessible_name, control.get_attribute("outerHTML")
    for table in browser.all("table"):
        assert table.find_element(By.TAG_NAME, "caption").get_attribute("textContent").strip()
    browser.one(".results .case").click()
    browser.case(browser.texts("dialog h2")[0])
    assert browser.one("dialog").accessible_name == browser.one("dialog h2").text
    for element in browser.all("dialog button, dialog a, dialog table, dialog svg[role=img]"):
        assert element.accessible_name, element.get_attribute("outerHTML")


#: Returns texts whose contrast with what is behind them is below 4.5.
CONTRAST = """
const parse = (c) => (c.match(/[\\d.]+/g) || []).map(Number);
const light = (c) => { const [r, g, b] = c.map((v) => { v /= 255;
  return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const behind = (e) => { for (; e; e = e.parentElement) {
  const c = parse(getComputedStyle(e).backgroundColor);
  if (c.length === 3 || (c.length === 4 && c[3] === 1)) return c; } return [255, 255, 255]; };
const bad = [];
for (const e of document.querySelectorAll("body *:not(svg *):not(script):not(option)")) {
  const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  if (!own || !e.checkVisibility() || e.matches(":disabled") || e.closest("noscript")) continue;
  const [a, b] = [light(parse(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
  if ((a + 0.05) / (b + 0.05) < 4.5) bad.push([e.className, e.textContent.slice(0, 40)]);
}
return bad;
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_can_be_read(browser, page, scheme):
    """The page follows the system, the switch overrides it, and every text has contrast."""
    browser.open(page, f"#case={TABLE}&backend=mini:noisy", scheme=scheme)
    browser.case("table")
    assert browser.script(CONTRAST) == []
    browser.one("dialog .close").click()
    assert browser.script(CONTRAST) == []
    colour = "return getComputedStyle(document.body).backgroundColor"
    followed = browser.script(colour)
    assert (followed == "rgb(255, 255, 255)") == (scheme == "light")
    other = {"light": "dark", "dark": "light"}[scheme]
    Select(browser.one("#theme")).select_by_value(other)
    assert browser.script(colour) != followed
    browser.driver.refresh()
    assert browser.script(colour) != followed
    Select(browser.one("#theme")).select_by_value("")
    assert browser.script(colour) == followed


def test_a_phone_shows_all_without_scrolling_sideways(browser, page):
    """At 360 pixels nothing is wider than the page; what is wide scrolls in its own box."""
    browser.open(page, width=360)
    wide = "return [document.documentElement.scrollWidth, innerWidth]"
    assert browser.script(wide)[0] <= 360
    browser.one(".results .case").click()
    browser.case(browser.texts("dialog h2")[0])
    assert browser.script("return document.querySelector('dialog').scrollWidth") <= 360
    assert browser.script(wide)[0] <= 360
    browser.open(page, f"#case={NESTED}&backend=mini:wrong-shape", width=360)
    browser.case("doc_sample[opset=11]")
    assert browser.script("return document.querySelector('dialog').scrollWidth") <= 360


def test_nothing_leaves_the_page(browser, page):
    """Loading it, filtering, and opening a case ask for nothing but the file itself."""
    browser.open(page, "#outcome=failed")
    browser.one(".results .case").click()
    browser.case(browser.texts("dialog h2")[0])
    requests = [u for u in browser.requests() if not u.startswith(("data:", "about:"))]
    assert [url.partition("#")[0] for url in requests] == [page.as_uri()]


def test_twenty_thousand_results_are_at_hand(browser, large, capsys):
    """Only a page of rows is in the document, and the filter reaches all of them."""
    browser.open(large)
    ready = browser.script("return performance.getEntriesByName('opcheck-ready')[0].startTime")
    start = time.perf_counter()
    browser.one("#outcome input[value=failed]").click()
    filtered = 1000 * (time.perf_counter() - start)
    with capsys.disabled():
        size = large.stat().st_size / 1e6
        print(f"\n20,000 results, {size:.1f} MB: ready {ready:.0f} ms, filtered {filtered:.0f} ms")
    assert browser.one("#count").text == "1,000 of 20,000 results"
    assert len(browser.all(".results tbody tr")) == 100
    assert browser.one("#pages span").text == "1–100"
    browser.one("#next").click()
    assert browser.one("#pages span").text == "101–200"
    assert browser.fragment == "#outcome=failed&page=2"
    browser.one("#q").send_keys("_name_9990[")
    assert browser.texts(".results .case") == ["a_case_that_has_some_name_9990[opset=18-float32]"]
    browser.one(".results .case").click()
    browser.case("a_case_that_has_some_name_9990[opset=18-float32]")
    assert len(browser.all(".heatmap rect.heat")) == 6
    assert browser.script("return document.querySelectorAll('*').length") < 6000


def test_a_hostile_backend_breaks_nothing(browser, tmp_path):
    """Markup in every field is text: nothing runs, every case opens."""
    path = tmp_path / "hostile.html"
    path.write_text(html(run_saying(HOSTILE)), "utf-8")
    browser.open(path)
    browser.one(".results .case").click()
    browser.wait(lambda: browser.all(".content section"))
    assert "<script>window.broken = 1</script>" in browser.one(".content .message").text
    assert browser.script("return window.broken") is None
    assert len(browser.all("script")) == 2
    assert browser.all("img") == []
