// What page_check.py runs inside a page. Every function returns a list of complaints.
const pageCheck = (() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const short = node => node.outerHTML.slice(0, 120).replace(/\s+/g, " ");

  function structure() {
    const wrong = [];
    const need = (condition, text) => { if (!condition) wrong.push(text); };
    need(document.documentElement.lang === "en", "no language");
    for (const landmark of ["header", "main", "footer", "h1"]) need(all(landmark).length === 1, `not exactly one ${landmark}`);
    const ids = all("[id]").map(node => node.id);
    need(new Set(ids).size === ids.length, "an id is used twice");
    for (const link of all("a")) need(document.getElementById(link.getAttribute("href").slice(1)), `link to nowhere: ${short(link)}`);
    let level = 1;
    for (const heading of all("h1, h2, h3, h4, h5, h6")) {
      const next = Number(heading.tagName[1]);
      need(next <= level + 1, `heading of level ${next} after ${level}: ${short(heading)}`);
      level = next;
    }
    for (const table of all("table")) {
      need(table.caption && table.caption.textContent.trim(), `table without caption: ${short(table)}`);
      const heads = all("thead th", table);
      need(heads.length > 0 && heads.every(head => head.scope === "col" && head.textContent.trim()), `column heads of ${short(table)}`);
      for (const row of table.tBodies[0].rows) {
        need(row.cells.length === heads.length, `row with ${row.cells.length} of ${heads.length} cells: ${short(row)}`);
        need(row.cells[0].tagName === "TH" && row.cells[0].scope === "row" && row.cells[0].textContent.trim(), `row without head: ${short(row)}`);
      }
    }
    for (const picture of all("svg:not(svg svg)")) {
      const hidden = picture.getAttribute("aria-hidden") === "true";
      const label = picture.getAttribute("role") === "img" && picture.getAttribute("aria-label");
      need(hidden || label, `picture without words: ${short(picture)}`);
      if (!hidden) need(picture.closest("figure")?.querySelector("table"), `picture without a table: ${short(picture)}`);
      else need(picture.closest("td, th, li"), `hidden picture outside of a table or key: ${short(picture)}`);
    }
    for (const chart of all("svg.chart:not(.lines)")) {
      const marks = all(".m > *", chart).length, rows = chart.closest("figure").querySelector("table").tBodies[0].rows.length;
      need(marks === rows, `${marks} marks but ${rows} rows: ${short(chart)}`);
    }
    for (const input of all("input")) need(input.labels.length && input.labels[0].textContent.trim(), `field without label: ${short(input)}`);
    for (const details of all("details")) need(details.querySelector(":scope > summary")?.textContent.trim(), `details without summary: ${short(details)}`);
    for (const region of all(".scroll")) need(region.tabIndex === 0 && region.getAttribute("aria-label"), `not reachable by keyboard: ${short(region)}`);
    return wrong;
  }

  // Nothing but the page's own elements, and none that runs or loads anything.
  function harmless() {
    const wrong = [];
    for (const node of all("img, iframe, object, embed, link, form, base, audio, video, image, use, foreignObject")) wrong.push(`unexpected: ${short(node)}`);
    if (all("script").length !== 1) wrong.push(`${all("script").length} scripts`);
    if (all("style").length !== 1) wrong.push(`${all("style").length} styles`);
    for (const node of all("*")) {
      for (const attribute of node.attributes) {
        const own = attribute.name === "style" && node.id === "tip";  // set by the script, which places it
        if ((/^on|^(src|srcset|xlink:href|formaction|action|style)$/.test(attribute.name) && !own) ||
            (attribute.name === "href" && !attribute.value.startsWith("#"))) wrong.push(`attribute ${attribute.name}: ${short(node)}`);
      }
    }
    // Controls, and what turns text around, must not be left.
    const found = document.documentElement.textContent.match(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/);
    if (found) wrong.push(`control character U+${found[0].charCodeAt(0).toString(16)}`);
    return wrong;
  }

  // Contrast ratios of WCAG 2.2, 1.4.3 and 1.4.11.
  const parse = colour => {
    const numbers = colour.match(/[\d.]+/g)?.map(Number) ?? [0, 0, 0, 0];
    return colour.startsWith("color(") ? [...numbers.slice(0, 3).map(x => x * 255), numbers[3] ?? 1] : [...numbers.slice(0, 3), numbers[3] ?? 1];
  };
  const over = (top, bottom) => [0, 1, 2].map(i => top[i] * top[3] + bottom[i] * (1 - top[3])).concat(1);
  const luminance = colour => {
    const [r, g, b] = colour.slice(0, 3).map(x => x / 255).map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (x, y) => (Math.max(luminance(x), luminance(y)) + 0.05) / (Math.min(luminance(x), luminance(y)) + 0.05);
  function background(node) {
    const layers = [];
    for (let at = node; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour[3] > 0) layers.push(colour);
      if (colour[3] === 1) break;
    }
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
  }
  function contrast() {
    const worst = new Map();  // by class and element: the first of each kind is enough
    const test = (node, colour, least, what) => {
      const below = background(node), got = ratio(over(colour, below), below);
      if (got < least) worst.set(`${what} ${node.tagName}.${node.getAttribute("class")}`, `${what} ${got.toFixed(2)} < ${least}: ${short(node)}`);
    };
    for (const node of all("body, body *")) {
      if (["SCRIPT", "STYLE", "TITLE"].includes(node.tagName.toUpperCase()) || node.closest(".hide, .skip")) continue;
      const text = [...node.childNodes].some(child => child.nodeType === 3 && child.data.trim());
      if (!text) continue;
      const style = getComputedStyle(node), size = parseFloat(style.fontSize);
      const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      test(node, parse(node.namespaceURI.endsWith("svg") ? style.fill : style.color), large ? 3 : 4.5, "text");
    }
    for (const kind of ["dot", "hollow", "ring", "solid", "cross", "curve", "random", "whisker", "point", "same", "changed"]) {
      const node = all(`svg .${kind}`)[0];
      if (!node) continue;
      const style = getComputedStyle(node), by_stroke = style.stroke !== "none";
      const colour = parse(by_stroke ? style.stroke : style.fill);
      colour[3] *= Number(by_stroke ? style.strokeOpacity : style.fillOpacity);
      test(node, colour, 3, "mark");
    }
    return [...worst.values()];
  }

  return {structure, harmless, contrast};
})();
