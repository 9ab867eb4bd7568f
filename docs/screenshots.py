"""Make the pictures of ``docs/html-report.md``: run opcheck, open its page in Chromium, take shots.

``python docs/screenshots.py`` needs the extra ``test``, chromium and chromedriver; it runs from the
repository's root and takes a minute or two.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
#: The runs: bundled cases, and official ones held to a tighter tolerance than their own.
RUNS = {
    "cases": ["compare", "cases/controlflow", "cases/generator", "--backend", "onnxruntime"],
    "suite": ["run", "onnx:node", "-b", "onnxruntime", "-b", "reference", "--ulp", "2",
              "-k", "layer_normalization or softmax or gelu"],
}  # fmt: skip
LOOP = "cases/controlflow/loop.yaml::mode_trip_count_only_ignores_false[opset=11]"
NORMALIZATION = "onnx:node::test_layer_normalization_4d_axis_negative_1_expanded"
#: Brings the last element of a kind to the top of the case, below its title.
SCROLL = """
const found = document.querySelectorAll(arguments[0]);
const top = found[found.length - 1].getBoundingClientRect().top;
document.querySelector("dialog").scrollBy(0, top - 110);
"""


@dataclass(frozen=True)
class Shot:
    """A picture: of which run, at which address, how large, light or dark."""

    run: str
    fragment: str
    width: int
    height: int
    scheme: str
    scroll: str = ""


SHOTS = {
    "overview": Shot("cases", "", 1280, 800, "light"),
    "overview-dark": Shot("cases", "#outcome=failed&op=Loop", 1280, 800, "dark"),
    "case": Shot("cases", f"#case={LOOP}&backend=onnxruntime", 1280, 800, "light"),
    "graph": Shot("cases", f"#case={LOOP}&backend=onnxruntime", 1280, 800, "light", ".node"),
    "heat-map": Shot("suite", f"#case={NORMALIZATION}&backend=onnxruntime", 1280, 800, "light"),
    "phone-case": Shot("cases", f"#case={LOOP}&backend=onnxruntime", 390, 800, "dark"),
}


def report(arguments: list[str], path: Path) -> None:
    """Run opcheck and write its page; that cases fail is what the pictures show."""
    command = [sys.executable, "-m", "opcheck", *arguments, "-q", "--html", str(path)]
    done = subprocess.run(command, cwd=ROOT, check=False)
    if not path.exists():
        raise SystemExit(f"opcheck wrote no page (status {done.returncode})")


def shoot(driver: webdriver.Chrome, page: Path, shot: Shot) -> bytes:
    """Open the page as a shot wants it and return the picture as PNG."""
    device = {"width": shot.width, "height": shot.height, "deviceScaleFactor": 1}
    device["mobile"] = shot.width < 500
    media = {"features": [{"name": "prefers-color-scheme", "value": shot.scheme}]}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", device)
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    driver.get("about:blank")
    driver.get(page.as_uri() + shot.fragment)
    if "case=" in shot.fragment:
        driver.implicitly_wait(10)
        driver.find_element("css selector", ".pair")
    driver.execute_script("document.activeElement.blur()")
    if shot.scroll:
        driver.execute_script(SCROLL, f".content section:has({shot.scroll})")
    return driver.get_screenshot_as_png()


def save(picture: bytes, path: Path) -> None:
    """Write a picture with the 256 colours that fit it, which is enough for a page."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    image.quantize(256, kmeans=1, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1000:.0f} kB")


def main() -> None:
    """Make all pictures."""
    options = webdriver.ChromeOptions()
    for argument in ("headless", "no-sandbox", "disable-gpu", "disable-background-networking"):
        options.add_argument(f"--{argument}")
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        pages = {name: Path(folder) / f"{name}.html" for name in RUNS}
        for name, path in pages.items():
            report(RUNS[name], path)
        driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        try:
            for name, shot in SHOTS.items():
                save(shoot(driver, pages[shot.run], shot), IMAGES / f"{name}.png")
        finally:
            driver.quit()


if __name__ == "__main__":
    main()
