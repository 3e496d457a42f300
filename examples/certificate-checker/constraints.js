// Constraints in words, "NAME[ARGUMENTS] OP NUMBER", for constrained.js: what each of them asks of a tree.
//
//   sums    {line, bound, node, leaf}: by row and label what a tree uses, and per branch node and leaf of a label
//   held    {measure, least}: how much each row counts in its leaf, and by label how much a leaf counts at least
//   places  which columns may be where, and with which others
//   orders  with which columns which class rises, for the rows of the data; everywhere: for all inputs
//
// Numbers are exact fractions. A kind that is not known is refused, so that a proof never leaves out a constraint.
"use strict";
const { expect, refuse, showNumber } = require("./values.js");
const { Fraction, common } = require("./fractions.js");

const EXACT = 2 ** 52;
const total = (line) => line.reduce((a, b) => a + b, 0);
const distinct = (cells) => [...new Set(cells.filter((v) => !Number.isNaN(v)))].sort((a, b) => a - b);
const size = (p) => (p < 0n ? -p : p);

function numberOf(text) {
  const found = /^(-?[0-9]{1,20})(?:\/([1-9][0-9]{0,20})|(?:\.[0-9]{1,30})?(?:e[+-]?[0-9]{1,2})?)$/.exec(text);
  expect(found, `${text} is no decimal number and no fraction`);
  return found[2] ? new Fraction(BigInt(found[1]), BigInt(found[2])) : Fraction.decimal(text);
}

// The arguments between brackets: parted by commas, quoted if they hold one.
function fields(text) {
  const found = [];
  let at = 0;
  while (at <= text.length) {
    while (text[at] === " ") at++;
    let word = "";
    if (text[at] === '"') {
      for (at++; at < text.length && !(text[at] === '"' && text[at + 1] !== '"'); at++) {
        if (text[at] === '"') at++;
        word += text[at];
      }
      at++;
    }
    while (at < text.length && text[at] !== ",") word += text[at++];
    found.push(word.trim());
    at++;
  }
  return found;
}

function parsed(text) {
  const found = /^([A-Za-z0-9_]+)(?:\[([^]*)\])?(?: (<=|>=) (\S+))?$/.exec(text);
  expect(found, `it states ${text}, which is not a constraint NAME OP NUMBER`);
  const [, name, args, op = "", bound = "0"] = found;
  return { name, op, text, args: args ? fields(args) : [], bound: numberOf(bound) };
}

function groupsOf(columns, text) {
  const lacking = (cells) => cells.map((v) => Number.isNaN(v));
  if (columns.has(text)) {
    const { cells } = columns.get(text);
    return [...distinct(cells).map((value) => cells.map((v) => v === value)), lacking(cells)];
  }
  const at = text.lastIndexOf("<=");
  if (at >= 0 && columns.has(text.slice(0, at))) {
    const { cells } = columns.get(text.slice(0, at)), limit = Number(text.slice(at + 2));
    expect(Number.isFinite(limit), `it states groups by ${text}, which is no number`);
    return [cells.map((v) => v <= limit), cells.map((v) => v > limit), lacking(cells)];
  }
  for (let i = 0; i < text.length; i++) {
    if (text[i] !== ":" || !columns.has(text.slice(0, i))) continue;
    const { cells, numeric, keys } = columns.get(text.slice(0, i)), rest = text.slice(i + 1);
    const shown = (v) => (numeric ? showNumber(v) : keys[v]), known = new Set(distinct(cells).map(shown));
    const wanted = known.has(rest) ? [rest] : rest.split("|").map((level) => level.trim());
    expect(wanted.every((level) => known.has(level)), `it states groups by ${text}, of which the data has no rows`);
    const chosen = cells.map((v) => !Number.isNaN(v) && wanted.includes(shown(v)));
    return [chosen, chosen.map((c, j) => !c && !Number.isNaN(cells[j])), lacking(cells)];
  }
  return refuse(`it states groups by ${text}, which is not a column of the data`);
}

module.exports = function stated(texts, data, weight, loss, unit) {
  const K = data.classes.length, sums = [], held = [], orders = [], everywhere = [];
  const places = { span: new Map(), neverBelow: [], apart: [], together: [], mostColumns: null, mostSplits: null };
  const columns = new Map([...data.features, ...data.auxiliaryFeatures].map((feature) => [feature.name, feature]));
  const names = data.features.map((feature) => feature.name);
  const exact = (number, given) => {
    expect(number < BigInt(EXACT), `the numbers of ${given.text} are too large to be added exactly`);
  };

  // Arguments.
  const bare = (given) => expect(!given.args.length, `it states ${given.text}, which takes no arguments`);
  const isCount = ({ bound }) => bound.below === 1n && bound.above >= 0n;
  const count = (given) => {
    expect(isCount(given), `it states ${given.text}, which counts no whole number`);
    return Number(given.bound.above);
  };
  const classOf = (name) => {
    const k = data.classes.indexOf(name);
    expect(k >= 0, `it states a constraint on the class ${name}, which the data does not have`);
    return k;
  };
  const oneClass = (given) => {
    expect(given.args.length === 1, `it states ${given.text}, which names one class`);
    return classOf(given.args[0]);
  };
  const keyed = (given, ...keys) => {
    const found = new Map(given.args.map((arg) => {
      const [key, ...rest] = arg.split("=");
      return [key.trim(), rest.join("=").trim()];
    }));
    const fits = given.args.length === keys.length && keys.every((key) => found.has(key));
    expect(fits, `it states ${given.text}, whose arguments are no ${keys.join(" and ")}`);
    return keys.map((key) => found.get(key));
  };

  // Lines: by row what it uses with each label.
  const inside = (k) => data.y.map((c) => c === k);
  const masked = (mask) => weight.map((w, i) => (mask[i] ? w : 0));
  const zeros = () => data.y.map(() => new Array(K).fill(0));
  const said = (values, k) => zeros().map((line, i) => { line[k] = values[i]; return line; });
  const right = (values) => zeros().map((line, i) => { line[data.y[i]] = values[i]; return line; });
  const add = (line, bound, node = 0, leaf = new Array(K).fill(0)) => sums.push({ line, bound, node, leaf });
  const atMost = (line, share, sum) => add(line, Number(share.floor(BigInt(sum))));
  const atLeast = (line, share, sum) => atMost(line.map((row) => row.map((v) => -v)), share.times(new Fraction(-1n)), sum);

  const gaps = (...among) => (given) => {
    const [text, positive] = keyed(given, "group", "positive"), k = classOf(positive), of = inside(k);
    const parts = groupsOf(columns, text);
    for (const which of among) {
      const counted = parts.map((part) => masked(part.map((g, i) => g && (which === null || of[i] === which))));
      const mine = counted.filter((w) => w.some((v) => v));
      for (const g of mine) for (const h of mine) {
        if (g === h) continue;
        const [a, b] = [total(g), total(h)].map(BigInt), shared = common(a, b);
        exact(a * b / shared, given);
        const difference = g.map((v, i) => Number(b / shared) * v - Number(a / shared) * h[i]);
        atMost(said(difference, k), given.bound, a * b / shared);
      }
    }
  };
  // Where a row is predicted the class: p, less `q` for a row of the class.
  const shareOf = (k, p, q) => {
    const of = inside(k);
    return said(weight.map((w, i) => w * (Number(p) - (of[i] ? Number(q) : 0))), k);
  };
  const least = (k, number) => data.classes.map((_, c) => (c === k ? number : -Infinity));

  // Places.
  const place = (change) => (given) => {
    const named = [...new Set(given.args)], known = named.length && named.every((name) => names.includes(name));
    expect(known, `it states ${given.text}, which does not name a column of the data`);
    change(given, named);
  };
  const spans = (of, first, last) => {
    for (const name of of) {
      const [a, b] = places.span.get(name) || [0, Infinity];
      places.span.set(name, [Math.max(a, first), Math.min(b, last)]);
    }
  };
  const level = (given) => {
    expect(given.args.length === 1 && isCount(given), `it states ${given.text}, which is not a depth of one column`);
    return Number(given.bound.above);
  };
  const several = (given, named) => {
    expect(named.length > 1, `it states ${given.text}, which names two columns or more`);
    return new Set(named);
  };
  const smaller = (a, b) => (a === null ? b : Math.min(a, b));

  const order = (given) => {
    const [key, ...rest] = (given.args[1] || "").split("="), named = given.args.length === 2 && key.trim() === "positive";
    expect(named, `it states ${given.text}, which is not ${given.name}[COLUMN,positive=CLASS]`);
    expect(names.includes(given.args[0]), `it states ${given.text}, which does not name a column of the data`);
    return { column: given.args[0], klass: classOf(rest.join("=").trim()) };
  };
  const kinds = {
    "accuracy>=": (given) => atLeast(right(weight), given.bound, total(weight)),
    "recall>=": (given) => {
      const k = classOf(given.args[0]), w = masked(inside(k));
      atLeast(said(w, k), given.bound, total(w));
    },
    "false_negative_rate<=": (given) => {
      const k = classOf(given.args[0]), w = masked(inside(k));
      atLeast(said(w, k), new Fraction(1n).minus(given.bound), total(w));
    },
    "false_positive_rate<=": (given) => {
      const k = classOf(given.args[0]), w = masked(inside(k).map((c) => !c));
      atMost(said(w, k), given.bound, total(w));
    },
    "precision>=": (given) => {
      const k = classOf(given.args[0]), { above: p, below: q } = given.bound;
      exact((size(p) > q ? size(p) : q) * BigInt(total(weight)), given);
      add(shareOf(k, p, q), 0);
    },
    "f1>=": (given) => {
      const k = classOf(given.args[0]), { above: p, below: q } = given.bound;
      exact((size(p) + 2n * q) * BigInt(total(weight)), given);
      add(shareOf(k, p, 2n * q), -Number(p) * total(masked(inside(k))));
    },
    "balanced_accuracy>=": (given) => {
      bare(given);
      const each = data.classes.map((_, k) => total(masked(inside(k)))), some = each.filter((w) => w).map(BigInt);
      const shared = some.reduce((a, b) => a / common(a, b) * b, 1n);
      exact(shared * BigInt(K), given);
      const factor = each.map((w) => (w ? Number(shared / BigInt(w)) : 0));
      atLeast(right(weight.map((w, i) => w * factor[data.y[i]])), given.bound, shared * BigInt(some.length));
    },
    "cost<=": (given) => { bare(given); atMost(loss, given.bound, unit); },
    "group_accuracy>=": (given) => {
      for (const w of groupsOf(columns, keyed(given, "group")[0]).map(masked))
        if (w.some((v) => v)) atLeast(right(w), given.bound, total(w));
    },
    "statistical_parity<=": gaps(null),
    "equal_opportunity<=": gaps(true),
    "predictive_equality<=": gaps(false),
    "equalised_odds<=": gaps(true, false),
    "leaf_rows>=": (given) => { bare(given); held.push({ measure: data.copies, least: new Array(K).fill(count(given)) }); },
    "leaf_class_rows>=": (given) => {
      const k = oneClass(given);
      held.push({ measure: inside(k).map(Number), least: least(k, count(given)) });
    },
    "leaf_precision>=": (given) => {
      const { above, below } = given.bound;
      exact((size(above) + below) * BigInt(total(weight)), given);
      for (const k of given.args.length ? [oneClass(given)] : data.classes.keys()) {
        const of = inside(k), measure = weight.map((w, i) => w * ((of[i] ? Number(below) : 0) - Number(above)));
        held.push({ measure, least: least(k, 0) });
      }
    },
    "branch_nodes<=": (given) => { bare(given); add(zeros(), count(given), 1); },
    "leaves<=": (given) => { bare(given); add(zeros(), count(given) - 1, 1); },
    "class_leaves<=": (given) => {
      const k = oneClass(given);
      add(zeros(), count(given), 0, data.classes.map((_, c) => Number(c === k)));
    },
    "features<=": (given) => { bare(given); places.mostColumns = smaller(places.mostColumns, count(given)); },
    "splits<=": (given) => { bare(given); places.mostSplits = smaller(places.mostSplits, count(given)); },
    "forbid_root": place((given, named) => spans(named, 1, Infinity)),
    "require_root": place((given, named) => spans(names.filter((name) => !named.includes(name)), 1, Infinity)),
    "not_below": place((given) => {
      expect(given.args.length === 2, `it states ${given.text}, which names two columns`);
      places.neverBelow.push(given.args);
    }),
    "never_together": place((given, named) => places.apart.push(several(given, named))),
    "together": place((given, named) => places.together.push(several(given, named))),
    "deepest<=": place((given, named) => spans(named, 0, level(given))),
    "shallowest>=": place((given, named) => spans(named, level(given), Infinity)),
    "monotone": (given) => orders.push(order(given)),
    "monotone_everywhere": (given) => everywhere.push(order(given)),
  };
  for (const text of texts) {
    const given = parsed(text), key = given.name + given.op;
    expect(Object.hasOwn(kinds, key), `it states ${text}, a kind of constraint that this checker does not know`);
    kinds[key](given);
  }
  const settled = places.together.length || everywhere.length || [...places.span.values()].some(([first]) => first > 1);
  if (settled) held.push({ measure: data.copies, least: new Array(K).fill(1) });
  return { sums, held, places, orders, everywhere };
};
