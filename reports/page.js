"use strict";
// Sorting, filtering, details on hover. The page's content is all there without it.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const make = (tag, properties, ...children) => {
    const node = Object.assign(document.createElement(tag), properties);
    node.append(...children);
    return node;
  };

  // By the number in data-v, else by the text, as a number where it is one; what is empty comes last in both directions.
  const key = cell => (cell.dataset.v ?? cell.textContent).trim();
  const compare = (x, y, sign) => {
    if (!x || !y) return !x - !y;
    return sign * (isNaN(x) || isNaN(y) ? x.localeCompare(y, undefined, {numeric: true}) : x - y);
  };
  for (const table of all("table.sort")) {
    const heads = all("thead th", table), body = table.tBodies[0];
    heads.forEach((head, column) => {
      if (!head.textContent.trim() || head.matches(".plot")) return;
      const button = make("button", {type: "button"}, ...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const sign = head.ariaSort === "ascending" ? -1 : 1;
        heads.forEach(other => other.removeAttribute("aria-sort"));
        head.ariaSort = sign > 0 ? "ascending" : "descending";
        const keyed = [...body.rows].map(row => [key(row.cells[column]), row]);
        body.append(...keyed.sort((x, y) => compare(x[0], y[0], sign)).map(pair => pair[1]));
      });
    });
  }

  // Every word must be in the row (or the details, by their summary).
  for (const list of all("[data-find]")) {
    const items = list.tagName === "TABLE" ? [...list.tBodies[0].rows] : [...list.children];
    const texts = items.map(item => (item.querySelector("summary") || item).textContent.toLowerCase());
    const input = make("input", {type: "search", autocomplete: "off"});
    const status = make("span", {className: "muted", role: "status"});
    const form = make("div", {className: "find"}, make("label", {}, list.dataset.find, input), status);
    (list.closest(".scroll") || list).before(form);
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      items.forEach((item, i) => {
        item.hidden = !words.every(word => texts[i].includes(word));
        shown += !item.hidden;
      });
      status.textContent = words.length ? `${shown} of ${items.length} shown` : "";
    });
  }

  // A mark of a picture and the row of the table behind it have the same place.
  const tip = make("div", {id: "tip", hidden: true});
  document.body.append(tip);
  let marked = null;
  const hide = () => {
    tip.hidden = true;
    if (marked) marked.classList.remove("near");
    marked = null;
  };
  for (const chart of all("svg.chart")) {
    const marks = all(".m > *", chart), table = chart.closest("figure").querySelector("table");
    if (!table || !marks.length) continue;
    const heads = all("thead th", table).map(head => head.textContent), rows = [...table.tBodies[0].rows];
    chart.addEventListener("pointermove", event => {
      let best = 16 ** 2, place = -1;
      marks.forEach((mark, i) => {
        const box = mark.getBoundingClientRect();
        const distance = (box.x + box.width / 2 - event.clientX) ** 2 + (box.y + box.height / 2 - event.clientY) ** 2;
        if (distance < best) [best, place] = [distance, i];
      });
      if (marks[place] !== marked) hide();
      if (place < 0 || !rows[place]) return;
      marked = marks[place];
      marked.classList.add("near");
      tip.textContent = [...rows[place].cells].map((cell, i) => [heads[i], cell.textContent.trim().slice(0, 300)])
        .filter(pair => pair[1]).map(pair => pair.join(": ")).join("\n");
      tip.hidden = false;
      const box = tip.getBoundingClientRect(), right = document.documentElement.clientWidth - box.width - 8;
      tip.style.left = Math.max(8, Math.min(event.clientX + 14, right)) + scrollX + "px";
      tip.style.top = (event.clientY + 18 + box.height > innerHeight ? event.clientY - box.height - 12 : event.clientY + 18) + scrollY + "px";
    });
    chart.addEventListener("pointerleave", hide);
  }
  addEventListener("keydown", event => event.key === "Escape" && hide());

  // A link into closed details opens them; printing opens all but tables behind pictures.
  const reveal = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    for (let node = target; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  reveal();
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = all("details:not([open]):not(.data):not(.many > .shape)");
    opened.forEach(details => details.open = true);
  });
  addEventListener("afterprint", () => opened.forEach(details => details.open = false));
})();
