(() => {
  const PALETTE = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999"];
  const SVG = "http://www.w3.org/2000/svg", NARROW = innerWidth < 600, BOX = NARROW ? 150 : 205, HIGH = 66, GAP = 16, LEVEL = 116;
  const svg = document.getElementById("drawing"), scene = document.getElementById("scene"), about = document.getElementById("node");
  const form = document.getElementById("row"), told = document.getElementById("path");
  const children = NODES.map(() => []), closed = new Set();
  NODES.forEach(node => { if (node.parent >= 0) children[node.parent].push(node.id); });
  const counted = NODES.every(node => node.rows.length);
  const sum = list => list.reduce((a, b) => a + b, 0);
  // Beyond the palette every class still has a colour of its own, a golden angle from the one before.
  const colour = k => k < PALETTE.length ? PALETTE[k] : `hsl(${(k * 137.5) % 360} 45% ${k % 2 ? 35 : 62}%)`;
  let chosen = 0, on = new Set(), view = { x: 0, y: 0, scale: 1 }, size = { width: 1, height: 1 };

  function element(name, attributes, text) {
    const made = document.createElementNS(SVG, name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    return made;
  }
  function html(name, attributes, ...inside) {
    const made = document.createElement(name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    made.append(...inside);
    return made;
  }
  const pen = document.createElement("canvas").getContext("2d"), family = getComputedStyle(document.body).fontFamily;
  // The words as they fit into a box: of long ones the middle goes, and the number or level that is compared with stays.
  function fitted(words, bold, room = BOX - 14, points = 17) {
    pen.font = `${bold ? 700 : 400} ${points}px ${family}`;
    const fits = text => pen.measureText(text).width <= room;
    if (fits(words)) return words;
    const end = words.match(/ (?:[≤>=≠] .{1,19}|is missing|is known)$/u), signs = [...words];
    const tail = end ? end[0] : signs.slice(-6).join("");
    let kept = signs.length - [...tail].length;
    while (kept > 1 && !fits(signs.slice(0, kept).join("") + "…" + tail)) kept--;
    return signs.slice(0, kept).join("") + "…" + tail;
  }
  const rule = node => node.rule.length ? "If " + node.rule.join(" and ") : "Every row";

  // The drawing: leaves and folded nodes stand side by side, a branch midway above its children.
  function draw() {
    const place = new Map();
    let next = 0, deepest = 0;
    (function lay(id, depth) {
      deepest = Math.max(deepest, depth);
      const below = closed.has(id) ? [] : children[id];
      below.forEach(child => lay(child, depth + 1));
      const x = below.length ? below.map(child => place.get(child).x).reduce((a, b) => a + b) / below.length : next++ * (BOX + GAP);
      place.set(id, { x, y: depth * LEVEL, depth });
    })(0, 0);
    size = { width: next * (BOX + GAP) - GAP, height: deepest * LEVEL + HIGH };
    scene.replaceChildren();
    for (const [id, { x, y }] of place) {
      const node = NODES[id], parent = place.get(node.parent);
      if (!parent) continue;
      const lit = on.has(id) ? " on" : "";
      scene.append(element("path", { class: "edge" + lit, d: `M${parent.x + BOX / 2},${parent.y + HIGH} C${parent.x + BOX / 2},${y - 20} ${x + BOX / 2},${parent.y + HIGH + 20} ${x + BOX / 2},${y}` }));
      scene.append(element("text", { class: "small", x: (x + parent.x) / 2 + BOX / 2 + (node.side === "left" ? -18 : 18), y: y - 18 }, node.side === "left" ? "yes" : "no"));
    }
    for (const [id, { x, y, depth }] of [...place].sort((one, other) => one[0] - other[0])) scene.append(drawn(NODES[id], x, y, depth));
  }
  function drawn(node, x, y, depth) {
    const fold = closed.has(node.id), n = sum(node.rows);
    const group = element("g", { class: "node" + (on.has(node.id) ? " on" : "") + (node.id === chosen ? " chosen" : ""), id: "n" + node.id, role: "treeitem",
      tabindex: node.id === chosen ? 0 : -1, transform: `translate(${x},${y})`, "aria-level": depth + 1, "aria-selected": node.id === chosen,
      "aria-label": (node.words ? node.words + ": " : "") + (node.leaf ? "predicts " + CLASSES[node.label] : "splits on " + node.asks) + (counted ? `, ${n} rows` : "") });
    if (!node.leaf) group.setAttribute("aria-expanded", !fold);
    group.append(element("title", {}, node.leaf ? rule(node) + ": " + CLASSES[node.label] : node.asks));
    group.append(element("rect", { class: "box", width: BOX, height: HIGH, rx: 8 }));
    group.append(element("text", { x: BOX / 2, y: 25, "font-weight": node.leaf ? 700 : 400 }, fitted(node.leaf ? CLASSES[node.label] : node.asks, node.leaf)));
    if (counted) {
      const right = node.leaf ? node.rows[node.label] : null;
      group.append(element("text", { class: "small", x: BOX / 2, y: 46 }, n === 0 ? "no rows" : node.leaf ? `${right} of ${n} correct` : `${n} rows`));
      let at = 10;
      node.rows.forEach((count, k) => {
        const wide = n ? count / n * (BOX - 20) : 0;
        if (wide) group.append(element("rect", { x: at, y: HIGH - 11, width: wide, height: 5, fill: colour(k) }));
        at += wide;
      });
    }
    if (fold) group.append(element("text", { class: "folded", x: BOX / 2, y: HIGH + 18 }, `+ ${below(node.id)} nodes`));
    return group;
  }
  const below = id => children[id].reduce((total, child) => total + 1 + below(child), 0);

  function show() { scene.setAttribute("transform", `translate(${view.x},${view.y}) scale(${view.scale})`); }
  const least = () => NARROW ? 0.75 : 0.7; // smaller cannot be read
  function begin() { // as many levels as can be read at once; the others are folded
    const deepest = Math.max(...NODES.map(node => node.rule.length));
    for (let depth = deepest; depth >= 1; depth--) {
      closed.clear();
      NODES.forEach(node => { if (!node.leaf && node.rule.length >= depth) closed.add(node.id); });
      draw();
      if ((svg.getBoundingClientRect().width - 32) / size.width >= least()) break;
    }
  }
  function fit(low = least()) {
    // What does not fit is reached by panning.
    const box = svg.getBoundingClientRect(), scale = Math.min((box.width - 32) / size.width, 1.1);
    view.scale = Math.max(scale, low);
    svg.style.height = Math.min((size.height + 24) * view.scale + 32, Math.max(320, innerHeight * 0.7)) + "px";
    const root = document.getElementById("n0").getAttribute("transform").match(/[-\d.]+/g).map(Number);
    view.x = scale >= low ? (box.width - size.width * view.scale) / 2 : box.width / 2 - (root[0] + BOX / 2) * view.scale;
    view.y = 16;
    show();
  }
  function zoom(by, x, y) {
    const box = svg.getBoundingClientRect(), old = view.scale;
    x = x === undefined ? box.width / 2 : x - box.left;
    y = y === undefined ? box.height / 2 : y - box.top;
    view.scale = Math.min(3, Math.max(0.1, old * by));
    view.x = x - (x - view.x) * view.scale / old;
    view.y = y - (y - view.y) * view.scale / old;
    show();
  }

  function shares(node) {
    const total = sum(node.rows), bar = html("div", { class: "shares", "aria-hidden": "true" }), list = html("ul", { class: "legend" });
    const weighted = node.weights.some((weight, k) => weight !== node.rows[k]);
    node.rows.forEach((count, k) => {
      if (!count) return;
      bar.append(html("div", { style: `width:${100 * count / total}%;background:${colour(k)}` }));
      list.append(html("li", {}, html("span", { class: "dot", style: `background:${colour(k)}` }), `${CLASSES[k]}: ${count} (${(100 * count / total).toFixed(1)} %)` + (weighted ? `, weight ${+node.weights[k].toFixed(4)}` : "")));
    });
    return [bar, list];
  }
  // The rows of a branch node by its column and their classes: ranges from left to right, levels below each other.
  function histogram(id) {
    const found = HISTOGRAMS[id];
    if (!found || found.bars.length < 2) return [];
    return [(found.levels ? levelBars : rangeBars)(found.bars, "Training rows by " + NODES[id].asks)];
  }
  const tally = (name, counts) => `${name}: ${counts.map((count, c) => `${CLASSES[c]} ${count}`).join(", ")}`;
  function levelBars(bars, title) {
    const wide = NARROW ? 340 : 480, line = 22, names = NARROW ? 130 : 190, long = wide - names - 60, top = Math.max(...bars.map(([, counts]) => sum(counts)), 1);
    const picture = element("svg", { class: "bars", viewBox: `0 0 ${wide} ${bars.length * line + 4}`, role: "img", "aria-label": title });
    bars.forEach(([name, counts], k) => {
      const bar = element("g", {}), y = k * line + 2;
      let x = names;
      bar.append(element("title", {}, tally(name, counts)), element("text", { x: names - 8, y: y + 14, "text-anchor": "end" }, fitted(name, false, names - 12, 13)));
      counts.forEach((count, c) => {
        const part = count / top * long;
        if (part) bar.append(element("rect", { x, y, width: part, height: line - 5, fill: colour(c) }));
        x += part;
      });
      bar.append(element("text", { x: x + 6, y: y + 14 }, sum(counts)));
      picture.append(bar);
    });
    return picture;
  }
  function rangeBars(bars, title) {
    const wide = NARROW ? 340 : 480, high = 110, foot = 20, top = Math.max(...bars.map(([, counts]) => sum(counts)), 1);
    const picture = element("svg", { class: "bars", viewBox: `0 0 ${wide} ${high + foot}`, role: "img", "aria-label": title });
    bars.forEach(([name, counts], k) => {
      let y = high;
      counts.forEach((count, c) => {
        const tall = count / top * (high - 4);
        if (tall) picture.append(element("rect", { x: k * wide / bars.length + 1, y: y - tall, width: wide / bars.length - 2, height: tall, fill: colour(c) }));
        y -= tall;
      });
      picture.lastChild?.append(element("title", {}, tally(name, counts)));
    });
    picture.append(element("text", { x: 0, y: high + 15 }, bars[0][0]), element("text", { x: wide, y: high + 15, "text-anchor": "end" }, bars[bars.length - 1][0]));
    return picture;
  }
  // The weights of a hyperplane as signed bars: those to the right raise the sum that is compared.
  function terms(node) {
    if (!node.question || node.question.terms.length < 2) return [];
    const most = Math.max(...node.question.terms.map(([weight]) => Math.abs(weight)), 1e-300);
    return [html("table", { class: "terms" }, ...node.question.terms.map(([weight, part]) => html("tr", {},
      html("th", { scope: "row" }, part.feature || ""), html("td", {}, String(+weight.toPrecision(4))),
      html("td", { class: "bar" }, html("div", { style: `width:${50 * Math.abs(weight) / most}%;margin-left:${weight < 0 ? 50 - 50 * Math.abs(weight) / most : 50}%;background:${weight < 0 ? colour(1) : colour(0)}` })))))];
  }
  function tell() {
    const node = NODES[chosen], n = sum(node.rows);
    const title = node.leaf ? `Predicts ${CLASSES[node.label]}` : `Splits on: ${node.asks}?`;
    about.replaceChildren(html("h3", {}, title), html("p", {}, rule(node) + (node.leaf ? `, then ${CLASSES[node.label]}.` : " comes here.")));
    if (counted) about.append(html("p", {}, n ? `${n} training ${n === 1 ? "row" : "rows"}` + (node.leaf ? `, ${node.rows[node.label]} of them ${CLASSES[node.label]}.` : ".") : "No training row."), ...shares(node));
    if (!node.leaf) about.append(...histogram(chosen), ...terms(node));
  }
  function choose(id, focus) {
    chosen = id;
    draw();
    tell();
    if (focus) document.getElementById("n" + id).focus({ preventScroll: true });
  }
  function toggle(id) {
    if (NODES[id].leaf) return;
    const before = document.getElementById("n" + id).getBoundingClientRect();
    closed.has(id) ? closed.delete(id) : closed.add(id);
    choose(id, true);
    svg.style.height = Math.max(svg.getBoundingClientRect().height, Math.min((size.height + 24) * view.scale + 32, Math.max(320, innerHeight * 0.7))) + "px";
    // The node stays where it is; what it opens is below it.
    view.x += before.left - document.getElementById("n" + id).getBoundingClientRect().left;
    show();
  }
  function into(id) { // pans so that a node is seen
    const box = svg.getBoundingClientRect(), seen = document.getElementById("n" + id).getBoundingClientRect();
    view.x += Math.max(0, box.left + 8 - seen.left) - Math.max(0, seen.right - box.right + 8);
    view.y += Math.max(0, box.top + 8 - seen.top) - Math.max(0, seen.bottom - box.bottom + 8);
    show();
  }

  // Hands: drag to pan, wheel or two fingers to zoom, a tap chooses, a tap on the chosen node folds.
  const fingers = new Map();
  let moved = 0, pressed = null;
  svg.addEventListener("pointerdown", event => {
    fingers.set(event.pointerId, event);
    moved = 0;
    pressed = event.target.closest(".node");
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener("pointermove", event => {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    if (fingers.size === 1) {
      view.x += event.clientX - before.clientX;
      view.y += event.clientY - before.clientY;
      moved += Math.abs(event.clientX - before.clientX) + Math.abs(event.clientY - before.clientY);
      show();
    } else {
      const other = [...fingers.values()].find(finger => finger.pointerId !== event.pointerId);
      const apart = finger => Math.hypot(finger.clientX - other.clientX, finger.clientY - other.clientY);
      zoom(apart(event) / Math.max(1, apart(before)), other.clientX, other.clientY);
      moved = 99;
    }
    fingers.set(event.pointerId, event);
  });
  const lifted = event => {
    if (!fingers.delete(event.pointerId) || event.type === "pointercancel" || moved > 6 || !pressed) return;
    const id = +pressed.id.slice(1);
    id === chosen && !NODES[id].leaf ? toggle(id) : choose(id, true);
  };
  svg.addEventListener("pointerup", lifted);
  svg.addEventListener("pointercancel", lifted);
  svg.addEventListener("wheel", event => { event.preventDefault(); zoom(Math.exp(-event.deltaY / 400), event.clientX, event.clientY); }, { passive: false });

  svg.addEventListener("keydown", event => {
    const node = NODES[chosen], siblings = node.parent >= 0 ? children[node.parent] : [chosen];
    const steps = {
      ArrowUp: () => node.parent, ArrowDown: () => closed.has(chosen) ? -1 : children[chosen][0] ?? -1,
      ArrowLeft: () => siblings[siblings.indexOf(chosen) - 1] ?? node.parent, ArrowRight: () => siblings[siblings.indexOf(chosen) + 1] ?? (closed.has(chosen) ? -1 : children[chosen][1] ?? -1),
      Home: () => 0,
    };
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); toggle(chosen); return; }
    if (event.key === "+" || event.key === "=") { zoom(1.25); return; }
    if (event.key === "-") { zoom(0.8); return; }
    if (!steps[event.key]) return;
    event.preventDefault();
    const next = steps[event.key]();
    if (next >= 0) { choose(next, true); into(next); }
  });
  document.querySelector(".tools").addEventListener("click", event => {
    const act = event.target.dataset.act;
    if (act === "in") zoom(1.25);
    if (act === "out") zoom(0.8);
    if (act === "open") { closed.clear(); choose(chosen); fit(); }
    if (act === "close") { NODES.forEach(node => { if (!node.leaf && node.parent >= 0) closed.add(node.id); }); choose(0); fit(); }
    if (act === "fit") fit();
  });

  // One row of data: where it goes, and why.
  COLUMNS.forEach((column, at) => {
    let field;
    if (column.kind === "numeric") field = html("input", { type: "number", step: "any", placeholder: "missing", "data-at": at });
    else {
      field = html("select", { "data-at": at }, html("option", { value: "missing" }, "(missing)"));
      column.levels.forEach((level, k) => field.append(html("option", { value: "level" + k }, level)));
      field.append(html("option", { value: "unseen" }, "(another)"));
    }
    form.append(html("label", {}, column.name, field));
  });
  if (!COLUMNS.length) form.append("The tree has no splits.");
  function cellsOf() {
    const cells = new Map();
    form.querySelectorAll("[data-at]").forEach(field => {
      const column = COLUMNS[field.dataset.at];
      if (column.kind === "numeric") cells.set(column.name, field.value === "" ? null : Number(field.value));
      else cells.set(column.name, field.value === "missing" ? null : field.value === "unseen" ? undefined : column.levels[+field.value.slice(5)]);
    });
    return cells;
  }
  // Whether a row goes left; null where the tree refuses a missing cell.
  function left(question, cells) {
    const cell = cells.get(question.feature);
    if (question.kind === "missing") return cell === null;
    if (question.kind === "in") return cell !== null && question.values.includes(cell);
    if (question.kind === "sum") {
      let total = 0;
      for (const [weight, part] of question.terms) {
        if (part.kind === "number") {
          const number = cells.get(part.feature);
          if (number === null) return SEPARATE ? false : null;
          total += weight * number;
        } else total += weight * (left(part, cells) ? 1 : 0);
      }
      return total <= question.values[0];
    }
    if (cell === null) return SEPARATE ? false : null;
    return question.kind === "at most" ? cell <= question.values[0] : !question.values.includes(cell);
  }
  function explain() {
    const cells = cellsOf(), list = html("ol", {});
    on = new Set([0]);
    let node = NODES[0];
    while (!node.leaf) {
      const goes = left(node.question, cells);
      if (goes === null) {
        told.replaceChildren(list, html("p", {}, `The tree refuses this row: it has no value for ${JSON.stringify(node.question.feature ?? "a column that is weighed")}, which is compared here.`));
        draw();
        return;
      }
      node = NODES[children[node.id][goes ? 0 : 1]];
      on.add(node.id);
      const n = sum(node.rows), best = node.label === null ? "" : `; ${node.rows[node.label]} of ${n} training rows here are ${CLASSES[node.label]}`;
      list.append(html("li", {}, node.words + (counted && n ? best : "")));
    }
    told.replaceChildren(html("p", {}, html("strong", {}, `Predicts ${CLASSES[node.label]}`), node.rule.length ? ", because" : " for every row."), list);
    const opened = [...on].filter(id => closed.delete(id));
    draw();
    if (opened.length) fit(0.42);
  }
  form.addEventListener("input", explain);
  form.addEventListener("submit", event => event.preventDefault());

  // A button beside each command, which copies it; without the right to the clipboard it selects the command.
  document.querySelectorAll("[data-copy]").forEach(line => {
    const button = html("button", { type: "button", class: "copy" }, "Copy"), command = line.querySelector("code");
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(command.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(command);
        button.textContent = document.execCommand("copy") ? "Copied" : "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    line.append(button);
  });

  begin();
  draw();
  tell();
  fit();
  window.addEventListener("resize", () => fit());
})();
