#!/usr/bin/env python3
"""A picture of the top of a page, as a browser shows it: picture.py PAGE.html PICTURE.png [--width 1100] [--height 1500] [--dark]

Needs Chromium ($TUNEBOOK_CHROMIUM names another). README's pictures are made with it.
"""
import argparse
import base64
import pathlib
import sys

import chromium


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("page")
    options.add_argument("picture")
    options.add_argument("--width", type=int, default=1100)
    options.add_argument("--height", type=int, default=1500)
    options.add_argument("--dark", action="store_true")
    given = options.parse_args()
    path = chromium.find()
    if path is None:
        sys.exit("no Chromium here: install the package chromium, or name one in TUNEBOOK_CHROMIUM")
    with chromium.Browser(path) as browser:
        browser.size(given.width, given.height)
        browser.media("", "dark" if given.dark else "light")
        browser.open(given.page)
        data = base64.b64decode(browser.call("Page.captureScreenshot", format="png")["data"])
    pathlib.Path(given.picture).write_bytes(data)
    print(f"{given.picture}: {len(data)} bytes")


if __name__ == "__main__":
    main()
