#!/usr/bin/env python3
"""Checks pages of reports in a headless Chromium: page_check.py [--quick | --self-test] [--shots FOLDER] PAGE.html...

Console errors, network requests, sorting, filtering, details on hover, dark and print media, contrast, table semantics. Exit code 0: all
is well, 1: something is wrong (listed), 77: there is no Chromium here. With --quick, print media, contrast and the tree of a screen reader
are left out: they take their time on large pages. With --self-test, faults are put into the pages, and it is an error
if one is not found. --shots writes pictures.
"""
import argparse
import base64
import functools
import pathlib
import sys
import tempfile

import chromium

MOST_BYTES = 2_000_000
WIDTHS = (1280, 390)
LONGEST_TITLE = 600  # characters; longer ones are shown by opening alone
PAPER = 964  # pixels between the margins of a letter sheet in landscape, which page.css asks for
CHECKS = (pathlib.Path(__file__).parent / "page_check.js").read_text()


def quiet(browser):
    """What the page said or asked for that it must not."""
    wrong = []
    requests = [event["params"]["request"]["url"] for event in browser.events if event["method"] == "Network.requestWillBeSent"]
    wrong += [f"request: {url[:200]}" for url in requests[1:]]
    for event in browser.events:
        parameters = event["params"]
        if event["method"] == "Runtime.exceptionThrown":
            wrong.append(f"exception: {parameters['exceptionDetails']['text']}")
        if event["method"] == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            wrong.append(f"console: {parameters['type']}")
        if event["method"] == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            wrong.append(f"log: {parameters['entry']['text'][:200]}")
    return wrong


def fits(browser):
    """No page is wider than its window, with everything closed and with everything opened."""
    wrong = []
    for opened in ("false", "true"):
        browser.evaluate(f"document.querySelectorAll('details').forEach(details => details.open = {opened})")
        for width in WIDTHS:
            browser.size(width)
            got = browser.evaluate("document.documentElement.scrollWidth")
            if got > width:
                wrong.append(f"{got} pixels wide in a window of {width}, details open: {opened}")
    browser.size(WIDTHS[0])
    browser.evaluate("document.querySelectorAll('details').forEach(details => details.open = false)")
    return wrong


def winners(browser):
    """In a wide window no column of winners lies beyond the edge of its table's region; a table that goes on is shaded there; what is cut is
    there in full for the pointer and on opening."""
    wrong = []
    browser.evaluate("document.querySelectorAll('details').forEach(details => details.open = details.matches('.shape'))")
    beyond = browser.evaluate("[...document.querySelectorAll('th.winner')].map(head => head.getBoundingClientRect().right"
                              " - head.closest('.scroll').getBoundingClientRect().right).filter(pixels => pixels > 1)")
    if beyond:
        wrong.append(f"columns of winners end {beyond} pixels beyond the edge")
    browser.size(WIDTHS[1])
    plain = browser.evaluate("[...document.querySelectorAll('.scroll')].filter(region => region.scrollWidth > region.clientWidth"
                             " && !getComputedStyle(region).backgroundAttachment.includes('local')).length")
    if plain:
        wrong.append(f"{plain} tables go on beyond the edge without a hint")
    cut = browser.evaluate("[...document.querySelectorAll('td.winner summary')].map(summary => [summary.title, summary.nextElementSibling.textContent.trim()])")
    wrong += [f"a cut winner has the title {title!r:.80}" for title, whole in cut
              if title.replace(" ", "") != whole.replace(" ", "") and len(whole) <= LONGEST_TITLE]
    browser.size(WIDTHS[0])
    browser.evaluate("document.querySelectorAll('details').forEach(details => details.open = false)")
    return wrong


def sort_key(text):
    try:
        return (0, float(text), "")
    except ValueError:
        return (1, 0, text.lower())


def sorting(browser):
    """Every column of the largest tables, by keyboard, upwards and downwards."""
    wrong = []
    tables = browser.evaluate("[...document.querySelectorAll('table.sort')].map((table, i) => [table.tBodies[0].rows.length, i])"
                              ".sort((x, y) => y[0] - x[0]).slice(0, 3).map(pair => pair[1])")
    for place in tables:
        table = f"document.querySelectorAll('table.sort')[{place}]"
        browser.evaluate(f"for (let node = {table}; node; node = node.parentElement) if (node.tagName === 'DETAILS') node.open = true")
        heads = browser.evaluate(f"[...{table}.querySelectorAll('thead th')].map(head => head.querySelector('button') !== null)")
        if not any(heads):
            wrong.append(f"table {place} cannot be sorted")
        rows_before = browser.evaluate(f"[...{table}.tBodies[0].rows].map(row => row.textContent).sort()")
        for column, has_button in enumerate(heads):
            if not has_button:
                continue
            for direction in ("ascending", "descending"):
                browser.evaluate(f"{table}.querySelectorAll('thead th')[{column}].querySelector('button').focus()")
                browser.press("Enter", 13, "\r")
                said = browser.evaluate(f"[...{table}.querySelectorAll('thead th')].map(head => head.getAttribute('aria-sort'))")
                if [i for i, value in enumerate(said) if value] != [column] or said[column] != direction:
                    wrong.append(f"table {place}, column {column}: aria-sort is {said}, {direction} is due")
                keys = browser.evaluate(f"[...{table}.tBodies[0].rows].map(row => (row.cells[{column}].dataset.v ?? row.cells[{column}].textContent).trim())")
                filled = [key for key in keys if key]
                if any(keys[len(filled):]):
                    wrong.append(f"table {place}, column {column}: empty cells are not last")
                numbers = all(sort_key(key)[0] == 0 for key in filled)
                if numbers and [float(key) for key in filled] != sorted(map(float, filled), reverse=direction == "descending"):
                    wrong.append(f"table {place}, column {column} is not in {direction} order: {filled[:8]}")
                if not numbers and len(set(filled)) > 1:
                    again = browser.evaluate(f"{filled}.toSorted((x, y) => x.localeCompare(y, undefined, {{numeric: true}}))")
                    if direction == "descending":
                        again.reverse()
                    mixed = any(sort_key(key)[0] == 0 for key in filled)
                    if not mixed and again != filled:
                        wrong.append(f"table {place}, column {column} is not in {direction} order: {filled[:4]}")
        if browser.evaluate(f"[...{table}.tBodies[0].rows].map(row => row.textContent).sort()") != rows_before:
            wrong.append(f"table {place} lost or gained rows")
    return wrong


def filtering(browser):
    wrong = []
    count = browser.evaluate("document.querySelectorAll('[data-find]').length")
    if browser.evaluate("document.querySelectorAll('.find input').length") != count:
        wrong.append("a list that can be filtered has no field")
    for place in range(min(count, 3)):
        items = (f"(list => list.tagName === 'TABLE' ? [...list.tBodies[0].rows] : [...list.children])"
                 f"(document.querySelectorAll('[data-find]')[{place}])")
        field = f"document.querySelectorAll('[data-find]')[{place}]"
        field = f"(list => (list.closest('.scroll') ?? list).previousElementSibling.querySelector('input'))({field})"
        texts = browser.evaluate(f"{items}.map(item => (item.querySelector('summary') ?? item).textContent)")
        word = sorted((word for text in texts[-1:] for word in text.lower().split()), key=len)[-1]
        browser.evaluate(f"for (let node = {field}; node; node = node.parentElement) if (node.tagName === 'DETAILS') node.open = true")
        browser.evaluate(f"{field}.focus()")
        browser.write(word)
        shown = browser.evaluate(f"{items}.map(item => item.checkVisibility())")
        due = [word in text.lower() for text in texts]
        if shown != due:
            wrong.append(f"filter {place}, {word!r}: {sum(shown)} of {len(shown)} shown, {sum(due)} are due")
        status = browser.evaluate(f"{field}.closest('.find').querySelector('[role=status]').textContent")
        if not status.startswith(f"{sum(due)} of {len(due)}"):
            wrong.append(f"filter {place} says {status!r}")
        browser.evaluate(f"{field}.value = ''; {field}.dispatchEvent(new Event('input'))")
        if not all(browser.evaluate(f"{items}.map(item => item.checkVisibility())")):
            wrong.append(f"filter {place}: not everything comes back")
    return wrong


def hovering(browser):
    wrong = []
    if not browser.evaluate("document.getElementById('tip') !== null"):
        return ["the script has not run"]
    charts = browser.evaluate("[...document.querySelectorAll('svg.chart:not(.lines)')].filter(chart => chart.querySelector('.m > *')).length")
    for place in range(min(charts, 3)):
        chart = f"[...document.querySelectorAll('svg.chart:not(.lines)')].filter(chart => chart.querySelector('.m > *'))[{place}]"
        browser.evaluate(f"for (let node = {chart}; node; node = node.parentElement) if (node.tagName === 'DETAILS') node.open = true")
        browser.evaluate(f"{chart}.scrollIntoView({{block: 'center'}})")
        # The mark that is drawn last cannot lie under another one.
        x, y, head = browser.evaluate(f"(chart => {{ const mark = chart.querySelector('.m').lastElementChild, box = mark.getBoundingClientRect();"
                                      "const row = [...chart.closest('figure').querySelector('table').tBodies[0].rows].at(-1);"
                                      f"return [box.x + box.width / 2, box.y + box.height / 2, row.cells[0].textContent.trim()]; }})({chart})")
        browser.move(x, y)
        text = browser.evaluate("document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent")
        if head not in text:
            wrong.append(f"chart {place}: resting on the mark of {head!r} shows {text!r}")
        browser.press("Escape", 27)
        if not browser.evaluate("document.getElementById('tip').hidden"):
            wrong.append(f"chart {place}: Escape does not close the details")
        browser.move(1, 1)
    return wrong


def page_background(browser):
    return browser.evaluate("getComputedStyle(document.body).backgroundColor")


def media(browser):
    """Both schemes and print, with everything opened, so that all of it is looked at."""
    wrong = []
    browser.evaluate("document.querySelectorAll('details').forEach(details => details.open = true)")
    backgrounds = {}
    for name, medium, scheme in (("light", "", "light"), ("dark", "", "dark"), ("print", "print", "dark")):
        browser.media(medium, scheme)
        backgrounds[name] = page_background(browser)
        wrong += [f"{name}: {text}" for text in browser.evaluate("pageCheck.contrast()")]
    if backgrounds["light"] != "rgb(255, 255, 255)" or backgrounds["print"] != "rgb(255, 255, 255)":
        wrong.append(f"light and print are not on white: {backgrounds}")
    if backgrounds["dark"] == backgrounds["light"]:
        wrong.append("dark is as light")
    browser.size(PAPER)
    cut = browser.evaluate("[...document.querySelectorAll('.scroll')].filter(region => region.scrollWidth > region.clientWidth + 1)"
                           ".map(region => `${region.getAttribute('aria-label').slice(0, 60)}: ${region.scrollWidth} of ${region.clientWidth}`)")
    wrong += [f"print: a table is cut at the paper's edge, {text}" for text in cut]
    letters = browser.evaluate("[...document.querySelectorAll('th.text, th.broad, th.winner')].filter(head => head.clientWidth < 60).length")
    if letters:
        wrong.append(f"print: {letters} columns of text are a few letters wide")
    browser.size(WIDTHS[0])
    browser.evaluate("document.querySelectorAll('details').forEach(details => details.open = false)")
    browser.media("print")
    hidden = browser.evaluate("[...document.querySelectorAll('.find, nav, #tip')].filter(node => node.checkVisibility()).length")
    if hidden:
        wrong.append(f"print: {hidden} controls are shown")
    closed = browser.evaluate("[...document.querySelectorAll('details.shape')].filter(details => details.getBoundingClientRect().height < 100).length")
    if closed:
        wrong.append(f"print: {closed} shapes stay closed")
    browser.media()
    pdf = base64.b64decode(browser.call("Page.printToPDF", printBackground=True)["data"])
    if not pdf.startswith(b"%PDF") or len(pdf) < 10_000:
        wrong.append(f"print: a PDF of {len(pdf)} bytes")
    if browser.evaluate("document.querySelectorAll('details[open]').length"):
        wrong.append("print: details stay open afterwards")
    return wrong


def semantics(browser):
    """What a screen reader gets: tables as tables with heads, pictures with names."""
    browser.evaluate("document.querySelectorAll('details').forEach(details => details.open = true)")
    nodes = [node for node in browser.call("Accessibility.getFullAXTree")["nodes"] if not node.get("ignored")]
    roles = [node.get("role", {}).get("value") for node in nodes]
    due = browser.evaluate("({table: document.querySelectorAll('table').length, columnheader: document.querySelectorAll('thead th').length,"
                           "rowheader: document.querySelectorAll('tbody th').length, main: 1, banner: 1, contentinfo: 1,"
                           "navigation: document.querySelectorAll('nav').length})")
    wrong = [f"{roles.count(role)} of {count} with role {role}" for role, count in due.items() if roles.count(role) != count]
    for node in nodes:
        role = node.get("role", {}).get("value")
        if role in ("table", "image", "region", "searchbox", "button", "link") and not node.get("name", {}).get("value"):
            wrong.append(f"{role} without a name")
    return wrong


def without_script(browser, path):
    """The content does not depend on the script."""
    text = browser.evaluate("document.querySelector('main').textContent.length")
    fields = browser.evaluate("[...document.querySelectorAll('.find')].reduce((sum, node) => sum + node.textContent.length, 0)")
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(path)
    browser.call("Emulation.setScriptExecutionDisabled", value=False)
    without = browser.evaluate("document.querySelector('main').textContent.length")
    return [] if without == text - fields else [f"{without} characters without the script, {text - fields} with it"]


def check(browser, path, quick=False):
    """Yields complaints, as they are found."""
    size = pathlib.Path(path).stat().st_size
    if size >= MOST_BYTES:
        yield f"{size} bytes"
    browser.media()
    browser.size(WIDTHS[0])
    browser.open(path)
    browser.evaluate(CHECKS + "; globalThis.pageCheck = pageCheck; 1")
    yield from browser.evaluate("pageCheck.structure()")
    yield from browser.evaluate("pageCheck.harmless()")
    for step in (quiet, fits, winners, hovering, sorting, filtering) + (() if quick else (media, semantics)) + (quiet,):
        yield from (f"{step.__name__}: {text}" for text in step(browser))
    yield from without_script(browser, path)


def shoot(browser, path, folder):
    """Pictures of all media and widths, with the first shape opened."""
    for name, medium, scheme in (("light", "", "light"), ("dark", "", "dark"), ("print", "print", "light")):
        for width in WIDTHS:
            browser.media(medium, scheme)
            browser.size(width)
            browser.open(path)
            browser.evaluate("const first = document.querySelector('details.shape'); if (first) first.open = true")
            height = browser.evaluate("Math.min(document.documentElement.scrollHeight, 9000)")
            for part, top in enumerate(range(0, height, 1500)):
                clip = {"x": 0, "y": top, "width": width, "height": min(1500, height - top), "scale": 1}
                data = browser.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)["data"]
                (folder / f"{pathlib.Path(path).stem}-{name}-{width}-{part}.png").write_bytes(base64.b64decode(data))
    browser.media()


# A fault put into a page, and a word of the complaint that must follow.
FAULTS = (
    (lambda page: page.replace("</main>", '<img src="http://127.0.0.1:9/x.png" alt=""></main>'), "Content Security Policy"),
    (lambda page: page.replace("</main>", "<script>document.title = 'owned'</script></main>"), "2 scripts"),
    (lambda page: page.replace("</main>", '<p onclick="x()">text</p></main>'), "onclick"),
    (lambda page: page.replace("</main>", "<p>\u202eturned</p></main>"), "control character"),
    (lambda page: page.replace("</main>", "<table><tr><td class=\"w\">" + "W" * 400 + "</table></main>"), "pixels wide"),
    (lambda page: page.replace("</main>", '<div class="scroll" tabindex="0" role="region" aria-label="wide"><table><caption>wide</caption><thead><tr><th scope="col">a'
                               '<th scope="col">b<th scope="col" class="winner">winner</thead><tbody><tr><th scope="row">x<td class="w">' + "W" * 300 +
                               '<td class="winner">y</tbody></table></div></main>'), "beyond the edge"),
    (lambda page: page.replace(' scope="col"', "", 1), "column heads"),
    (lambda page: page.replace("<caption", "<x-caption", 1), "without caption"),
    (lambda page: page.replace("<tr><th scope=\"row\"", "<tr><td", 1), "row without head"),
    (lambda page: page.replace('role="img"', "", 1), "picture without words"),
    (lambda page: page.replace("</main>", '<font color="#aaaaaa">pale</font></main>'), "light: text"),
    (lambda page: page.replace("script-src 'sha256-", "script-src 'sha256-A"), "the script has not run"),
    (lambda page: page.replace("style-src 'sha256-", "style-src 'sha256-A"), "log:"),
)


def self_test(browser, path):
    wrong = []
    page = pathlib.Path(path).read_text()
    with tempfile.TemporaryDirectory() as folder:
        for number, (fault, word) in enumerate(FAULTS):
            faulty = fault(page)
            if faulty == page:
                wrong.append(f"fault {number} could not be put in")
                continue
            copy = pathlib.Path(folder) / f"fault-{number}.html"
            copy.write_text(faulty)
            if not any(word in complaint for complaint in check(browser, copy)):
                wrong.append(f"fault {number} was not found ({word})")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="+", metavar="PAGE.html")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--shots", type=pathlib.Path, metavar="FOLDER")
    options = parser.parse_args()
    path = chromium.find()
    if path is None:
        print("skipped: no Chromium here (install the package chromium, or name one in TUNEBOOK_CHROMIUM)")
        return 77
    failed = False
    with chromium.Browser(path) as browser:
        for page in options.pages:
            wrong = self_test(browser, page) if options.self_test else list(check(browser, page, options.quick))
            if options.shots:
                options.shots.mkdir(parents=True, exist_ok=True)
                shoot(browser, page, options.shots)
            print(f"{page}: {'ok' if not wrong else f'{len(wrong)} complaints'}")
            for text in wrong[:40]:
                print(f"  {text}")
            failed = failed or bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
