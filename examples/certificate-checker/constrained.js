// Certificates of the best tree under constraints (kind "constraints"), for check.js beside this file.
//
// The constraints are read from their words, with exact fractions. A case is a root split with a set of columns. With
// multipliers m the weighted cost of a tree is D cost + sum m uses; a tree that costs less than the claim and satisfies
// all has a weighted cost of at most D (claim - 1) + sum m bound. A case whose least weighted cost is greater is
// excluded; of the others all trees up to it are listed, and none may satisfy everything.
"use strict";
const EXACT = 2 ** 52;
const sweeps = require("./sweeps.js");
const oneColumn = require("./one-column.js");
const { showNumber } = require("./values.js");
const WIDE = 300, MOST_SWEPT = 50000; // splits from which on, and up to which, those of a column are swept
const MOST_APART = 80; // splits of a set of columns that is counted by itself
const MOST_SUMS = 2e9, MOST_SETS = 20000, MOST_LISTED = 5e7;

module.exports = ({ expect, refuse, whole, leftOf, rankColumns, featuresOf, countSplits, bits, same, expectTerms, expectTree, expectLeaf }) => {
  // ---- constraints in words ----

  function fraction(text) {
    const found = /^(-?)([0-9]{1,20})(?:\.([0-9]{1,30}))?(?:e(-?[0-9]{1,2}))?$/.exec(text);
    expect(found, `${text} is no decimal number`);
    const [, sign, digits, behind = "", power = "0"] = found, shift = Number(power) - behind.length;
    let p = BigInt(sign + digits + behind), q = 1n;
    if (shift >= 0) p *= 10n ** BigInt(shift); else q = 10n ** BigInt(-shift);
    const d = gcd(p < 0n ? -p : p, q);
    return { p: p / d, q: q / d };
  }
  const gcd = (a, b) => { while (b) [a, b] = [b, a % b]; return a; };
  const floorOf = (p, q) => { const d = p / q; return p % q !== 0n && p < 0n ? d - 1n : d; };
  const floorTimes = ({ p, q }, n, by = 1n) => Number(floorOf(p * BigInt(n), q * by));
  const ceilTimes = ({ p, q }, n) => -Number(floorOf(-p * BigInt(n), q));

  function fields(text) {
    // The arguments between brackets: parted by commas, quoted if they hold one.
    const found = [];
    let at = 0;
    while (at <= text.length) {
      while (text[at] === " ") at++;
      let word = "";
      if (text[at] === '"') {
        for (at++; at < text.length && !(text[at] === '"' && text[at + 1] !== '"'); at++) { if (text[at] === '"') at++; word += text[at]; }
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
    const [, name, args, op = "", bound] = found;
    return { name, op, text, args: args ? fields(args) : [], bound: fraction(bound === undefined ? "0" : bound) };
  }

  function stated(texts, data, weight, loss, unit) {
    const K = data.classes.length, n = data.n, sums = [], held = [], orders = [];
    const places = { span: new Map(), neverBelow: [], apart: [], together: [], mostColumns: null, mostSplits: null };
    const total = (line) => line.reduce((a, b) => a + b, 0);
    const zeros = () => data.y.map(() => new Array(K).fill(0));
    const exact = (size, given) => expect(size < BigInt(EXACT), `the numbers of ${given.text} are too large to be added exactly`);
    const big = (p) => (p < 0n ? -p : p);
    const columns = new Map([...data.features, ...data.auxiliaryFeatures].map((feature) => [feature.name, feature]));
    const names = data.features.map((feature) => feature.name);
    const one = (given) => { expect(given.args.length === 1, `it states ${given.text}, which names one class`); return given.args[0]; };
    const classOf = (name) => { const k = data.classes.indexOf(name); expect(k >= 0, `it states a constraint on the class ${name}, which the data does not have`); return k; };
    const bare = (given) => expect(!given.args.length, `it states ${given.text}, which takes no arguments`);
    const count = (given) => { expect(given.bound.q === 1n && given.bound.p >= 0n, `it states ${given.text}, which counts no whole number`); return Number(given.bound.p); };
    const inside = (k) => data.y.map((c) => c === k);
    const masked = (mask) => weight.map((w, i) => (mask[i] ? w : 0));
    const said = (values, k) => zeros().map((line, i) => { line[k] = values[i]; return line; });
    const right = (values) => zeros().map((line, i) => { line[data.y[i]] = values[i]; return line; });
    const add = (line, bound, node = 0, leaf = new Array(K).fill(0)) => sums.push({ line, bound, node, leaf });
    const minus = (line) => line.map((row) => row.map((v) => -v));
    const atLeast = (line, share, sum) => add(minus(line), -ceilTimes(share, sum));
    const keyed = (given, ...keys) => {
      const found = new Map(given.args.map((arg) => [arg.split("=", 1)[0].trim(), arg.includes("=") ? arg.slice(arg.indexOf("=") + 1).trim() : ""]));
      expect(given.args.length === keys.length && keys.every((key) => found.has(key)), `it states ${given.text}, whose arguments are no ${keys.join(" and ")}`);
      return keys.map((key) => found.get(key));
    };
    const groups = (text) => {
      const lacking = (cells) => cells.map((v) => Number.isNaN(v));
      if (columns.has(text)) {
        const { cells } = columns.get(text), known = [...new Set(cells.filter((v) => !Number.isNaN(v)))].sort((a, b) => a - b);
        return [...known.map((value) => cells.map((v) => v === value)), lacking(cells)];
      }
      const at = text.lastIndexOf("<=");
      if (at >= 0 && columns.has(text.slice(0, at))) {
        const { cells } = columns.get(text.slice(0, at)), limit = Number(text.slice(at + 2));
        expect(Number.isFinite(limit), `it states groups by ${text}, which is no number`);
        return [cells.map((v) => v <= limit), cells.map((v) => v > limit), lacking(cells)];
      }
      for (let i = 0; i < text.length; i++) if (text[i] === ":" && columns.has(text.slice(0, i))) {
        const { cells, numeric, keys } = columns.get(text.slice(0, i)), rest = text.slice(i + 1);
        const shown = (v) => (numeric ? showNumber(v) : keys[v]), known = new Set(cells.filter((v) => !Number.isNaN(v)).map(shown));
        const wanted = known.has(rest) ? [rest] : rest.split("|").map((level) => level.trim());
        expect(wanted.every((level) => known.has(level)), `it states groups by ${text}, of which the data has no rows`);
        const chosen = cells.map((v) => !Number.isNaN(v) && wanted.includes(shown(v)));
        return [chosen, chosen.map((c, j) => !c && !Number.isNaN(cells[j])), lacking(cells)];
      }
      return refuse(`it states groups by ${text}, which is not a column of the data`);
    };
    const gaps = (...among) => (given) => {
      const [text, positive] = keyed(given, "group", "positive"), k = classOf(positive), of = inside(k), parts = groups(text);
      for (const which of among) {
        const mine = parts.map((part) => masked(part.map((g, i) => g && (which === null || of[i] === which)))).filter((w) => w.some((v) => v));
        for (const g of mine) for (const h of mine) if (g !== h) {
          const [a, b] = [total(g), total(h)], shared = Number(gcd(BigInt(a), BigInt(b)));
          exact(BigInt(a) * BigInt(b) / BigInt(shared), given);
          add(said(g.map((v, i) => (b / shared) * v - (a / shared) * h[i]), k), floorTimes(given.bound, BigInt(a) * BigInt(b), BigInt(shared)));
        }
      }
    };
    const least = (k, number) => data.classes.map((_, c) => (c === k ? number : -Infinity));
    const place = (change) => (given) => {
      const named = [...new Set(given.args)];
      expect(named.length && named.every((name) => names.includes(name)), `it states ${given.text}, which does not name a column of the data`);
      change(given, named);
    };
    const spans = (of, first, last) => { for (const name of of) { const [a, b] = places.span.get(name) || [0, Infinity]; places.span.set(name, [Math.max(a, first), Math.min(b, last)]); } };
    const level = (given) => { expect(given.args.length === 1 && given.bound.q === 1n && given.bound.p >= 0n, `it states ${given.text}, which is not a depth of one column`); return Number(given.bound.p); };
    const several = (given, named) => { expect(named.length > 1, `it states ${given.text}, which names two columns or more`); return new Set(named); };
    const smaller = (a, b) => (a === null ? b : Math.min(a, b));
    const kinds = {
      "accuracy>=": (given) => atLeast(right(weight), given.bound, total(weight)),
      "recall>=": (given) => { const k = classOf(given.args[0]), w = masked(inside(k)); atLeast(said(w, k), given.bound, total(w)); },
      "false_negative_rate<=": (given) => { const k = classOf(given.args[0]), w = masked(inside(k)), { p, q } = given.bound; atLeast(said(w, k), { p: q - p, q }, total(w)); },
      "false_positive_rate<=": (given) => { const k = classOf(given.args[0]), w = masked(inside(k).map((c) => !c)); add(said(w, k), floorTimes(given.bound, total(w))); },
      "precision>=": (given) => {
        const k = classOf(given.args[0]), of = inside(k), { p, q } = given.bound;
        exact((big(p) > q ? big(p) : q) * BigInt(total(weight)), given);
        add(said(weight.map((w, i) => w * (Number(p) - (of[i] ? Number(q) : 0))), k), 0);
      },
      "f1>=": (given) => {
        const k = classOf(given.args[0]), of = inside(k), { p, q } = given.bound;
        exact((big(p) + 2n * q) * BigInt(total(weight)), given);
        add(said(weight.map((w, i) => w * (Number(p) - (of[i] ? 2 * Number(q) : 0))), k), -Number(p) * total(masked(of)));
      },
      "balanced_accuracy>=": (given) => {
        bare(given);
        const each = data.classes.map((_, k) => total(masked(inside(k)))), some = each.filter((w) => w).map(BigInt);
        const shared = some.reduce((a, b) => a / gcd(a, b) * b, 1n);
        exact(shared * BigInt(K), given);
        const factor = each.map((w) => (w ? Number(shared / BigInt(w)) : 0));
        atLeast(right(weight.map((w, i) => w * factor[data.y[i]])), given.bound, shared * BigInt(some.length));
      },
      "cost<=": (given) => { bare(given); add(loss, floorTimes(given.bound, unit)); },
      "group_accuracy>=": (given) => { for (const group of groups(keyed(given, "group")[0])) { const w = masked(group); if (w.some((v) => v)) atLeast(right(w), given.bound, total(w)); } },
      "statistical_parity<=": gaps(null),
      "equal_opportunity<=": gaps(true),
      "predictive_equality<=": gaps(false),
      "equalised_odds<=": gaps(true, false),
      "leaf_rows>=": (given) => { bare(given); held.push({ measure: data.copies, least: new Array(K).fill(count(given)) }); },
      "leaf_class_rows>=": (given) => { const k = classOf(one(given)); held.push({ measure: inside(k).map(Number), least: least(k, count(given)) }); },
      "leaf_precision>=": (given) => {
        const { p, q } = given.bound;
        exact((big(p) + q) * BigInt(total(weight)), given);
        for (const name of given.args.length ? [one(given)] : data.classes) {
          const k = classOf(name), of = inside(k);
          held.push({ measure: weight.map((w, i) => w * ((of[i] ? Number(q) : 0) - Number(p))), least: least(k, 0) });
        }
      },
      "branch_nodes<=": (given) => { bare(given); add(zeros(), count(given), 1); },
      "leaves<=": (given) => { bare(given); add(zeros(), count(given) - 1, 1); },
      "class_leaves<=": (given) => { const k = classOf(one(given)); add(zeros(), count(given), 0, data.classes.map((_, c) => Number(c === k))); },
      "features<=": (given) => { bare(given); places.mostColumns = smaller(places.mostColumns, count(given)); },
      "splits<=": (given) => { bare(given); places.mostSplits = smaller(places.mostSplits, count(given)); },
      "forbid_root": place((given, named) => spans(named, 1, Infinity)),
      "require_root": place((given, named) => spans(names.filter((name) => !named.includes(name)), 1, Infinity)),
      "not_below": place((given) => { expect(given.args.length === 2, `it states ${given.text}, which names two columns`); places.neverBelow.push(given.args); }),
      "never_together": place((given, named) => places.apart.push(several(given, named))),
      "together": place((given, named) => places.together.push(several(given, named))),
      "deepest<=": place((given, named) => spans(named, 0, level(given))),
      "shallowest>=": place((given, named) => spans(named, level(given), Infinity)),
      "monotone": (given) => {
        const [key, ...rest] = (given.args[1] || "").split("=");
        expect(given.args.length === 2 && key.trim() === "positive", `it states ${given.text}, which is not monotone[COLUMN,positive=CLASS]`);
        expect(names.includes(given.args[0]), `it states ${given.text}, which does not name a column of the data`);
        orders.push({ column: given.args[0], klass: classOf(rest.join("=").trim()) });
      },
    };
    for (const text of texts) {
      const given = parsed(text), key = given.name + given.op;
      expect(Object.hasOwn(kinds, key), `it states ${text}, a kind of constraint that this checker does not know`);
      kinds[key](given);
    }
    if (places.together.length || [...places.span.values()].some(([first]) => first > 1)) held.push({ measure: data.copies, least: new Array(K).fill(1) });
    return { sums, held, places, orders };
  }

  // ---- the problem ----

  // How deep a tree has to be, at most: a split that is asked again below itself parts no rows, so that a path needs no
  // more branch nodes than there may be different splits; and it has no more than the tree may, if nothing gives one back.
  function heightOf(depth, told) {
    const most = told.places.mostSplits, more = told.sums.some(({ node, leaf }) => node < 0 || leaf.some((use) => use < 0));
    let height = most === null || more ? depth : Math.min(depth, Math.max(1, most));
    for (const { line, bound, node, leaf } of told.sums) {
      const gives = leaf.some((use) => use < 0) || line.some((uses) => uses.some((use) => use < 0));
      if (node > 0 && !gives) height = Math.min(height, Math.max(1, Math.floor(bound / node)));
    }
    return height;
  }

  // The cuts of the columns, each with its feature; of those that separate the rows alike the first one counts, if a
  // constraint speaks of columns the first one of each feature.
  function cutsOf({ ranks, sizes }, features, ofColumns) {
    const seen = new Set(), left = [], of = [];
    ranks.forEach((rank, c) => {
      for (let k = 0; k < sizes[c]; k++) {
        const side = rank.map((r) => r <= k), key = (ofColumns ? features[c] + " " : "") + same(bits(side));
        if (seen.has(key)) continue;
        seen.add(key);
        left.push(side);
        of.push(features[c]);
      }
    });
    return { left, of };
  }

  function pose(facts, data, { left, of }, { ranks }, features, loss, told, price) {
    const depth = heightOf(facts.depth, told), T = left.length, names = [...new Set(of)];
    const column = of.map((name) => names.indexOf(name));
    expect(column.every((c, f) => !f || c >= column[f - 1]), "its columns are not in groups of one feature");
    const at = new Map(), rows = [], rowOf = [];
    for (let i = 0; i < data.n; i++) {
      const key = left.map((side) => (side[i] ? "1" : "0")).join("");
      if (!at.has(key)) { at.set(key, rows.length); rows.push({ goes: left.map((side) => side[i]), members: [] }); }
      rowOf.push(at.get(key));
      rows[at.get(key)].members.push(i);
    }
    const summed = (line) => rows.map(({ members }) => line[0].map((_, k) => members.reduce((sum, i) => sum + line[i][k], 0)));
    const { span, neverBelow } = told.places;
    const spanOf = (name) => span.get(name) || [0, Infinity];
    const may = (path) => column.map((_, f) => spanOf(of[f])[0] <= path.length && path.length <= spanOf(of[f])[1] && path.every((g) => !neverBelow.some(([low, high]) => of[g] === high && of[f] === low)));
    const follows = [];
    for (const { column: name, klass } of told.orders) {
      const own = features.map((one) => one === name), kinds = facts.columns.map(({ kind }) => kind);
      expect(kinds.every((kind, c) => !own[c] || ["threshold", "missing"].includes(kind)), `a split uses numbers of ${name} one by one`);
      const known = rows.map(({ members: [i] }, r) => ({ r, kind: ranks.filter((_, c) => !own[c]).map((rank) => rank[i]).join(), number: ranks.reduce((sum, rank, c) => sum + (own[c] && kinds[c] === "threshold" ? rank[i] : 0), 0) }));
      const { cells } = data.features.find((feature) => feature.name === name), lacks = (i) => Number.isNaN(cells[i]);
      expect(rows.every(({ members }) => members.every(lacks) || !members.some(lacks)), `no split tells rows that lack ${name} from those that have it`);
      const compared = known.filter(({ r }) => !lacks(rows[r].members[0]));
      compared.sort((a, b) => (a.kind < b.kind ? -1 : a.kind > b.kind ? 1 : a.number - b.number));
      for (let i = 1; i < compared.length; i++) if (compared[i].kind === compared[i - 1].kind) follows.push([compared[i - 1].r, compared[i].r, klass]);
    }
    return {
      depth, T, K: data.classes.length, column, names, rows, rowOf, may, follows, price, places: told.places,
      cost: summed(loss), sums: told.sums.map(({ line, ...rest }) => ({ ...rest, use: summed(line) })),
      held: told.held.map(({ measure, least }) => ({ least, measure: rows.map(({ members }) => members.reduce((sum, i) => sum + measure[i], 0)) })),
    };
  }

  function columnSets(problem) {
    const m = problem.names.length, { mostColumns: k, apart } = problem.places;
    let sets = [[...Array(m).keys()]];
    const unique = () => { sets = [...new Map(sets.map((set) => [set.join(), set])).values()]; expect(sets.length <= MOST_SETS, "it has too many sets of columns"); };
    if (k !== null && k < Math.min(m, 2 ** problem.depth - 1)) {
      sets = [[]];
      for (let c = 0; c < m; c++) { sets = sets.concat(sets.filter((set) => set.length < k).map((set) => [...set, c])); expect(sets.length <= 20 * MOST_SETS, "it has too many sets of columns"); }
      sets = sets.filter((set) => set.length === k);
      unique();
    }
    for (const names of apart) {
      const not = new Set(problem.names.map((name, c) => (names.has(name) ? c : -1)));
      sets = sets.flatMap((set) => { const both = set.filter((c) => not.has(c)); return both.length > 1 ? both.map((kept) => set.filter((c) => c === kept || !not.has(c))) : [set]; });
      unique();
    }
    if (apart.length && sets.length <= 1000) sets = sets.filter((set) => !sets.some((other) => other.length > set.length && set.every((c) => other.includes(c))));
    return sets;
  }

  // ---- bounds by multipliers ----

  function weigh(problem, D, multipliers) {
    expect(Array.isArray(multipliers) && multipliers.length === problem.sums.length, "its multipliers are not one number for each sum");
    multipliers.forEach((m) => whole(m, "a multiplier"));
    const total = (line) => line.reduce((a, b) => a + b, 0), { K, sums } = problem;
    const row = problem.rows.map((_, r) => problem.cost[r].map((cost, k) => D * cost + total(multipliers.map((m, s) => m * sums[s].use[r][k]))));
    const size = total(problem.rows.map((_, r) => Math.max(...problem.cost[r].map((cost, k) => D * Math.abs(cost) + total(multipliers.map((m, s) => m * Math.abs(sums[s].use[r][k])))))));
    const beside = Array.from({ length: K }, (_, k) => total(multipliers.map((m, s) => m * sums[s].leaf[k])));
    const node = D * problem.price + total(multipliers.map((m, s) => m * sums[s].node)), budget = total(multipliers.map((m, s) => m * sums[s].bound));
    expect(size + (node + Math.max(...beside)) * 2 ** problem.depth + total(multipliers.map((m, s) => m * Math.abs(sums[s].bound))) < EXACT, "its multipliers are too large to be added exactly");
    const { held, T } = problem, H = held.length, wide = K + H;
    // Sums of one set of rows by label, then by condition; and of those that go left at each split.
    const values = problem.rows.map((_, r) => [...row[r], ...held.map(({ measure }) => measure[r])]);
    const lefts = () => (problem.lefts = problem.lefts || problem.rows.map(({ goes }) => goes.map((left, f) => (left ? f : -1)).filter((f) => f >= 0)));
    const all = (rows) => { const found = new Float64Array(wide); for (const r of rows) for (let v = 0; v < wide; v++) found[v] += values[r][v]; return found; };
    const each = (rows) => { const found = new Float64Array(T * wide), asked = lefts(); for (const r of rows) for (const f of asked[r]) for (let v = 0; v < wide; v++) found[f * wide + v] += values[r][v]; return found; };
    const leaf = (found, from = 0) => {
      let best = Infinity;
      label: for (let k = 0; k < K; k++) {
        for (let h = 0; h < H; h++) if (found[from + K + h] < held[h].least[k]) continue label;
        best = Math.min(best, found[from + k] + beside[k]);
      }
      return best;
    };
    const swept = problem.swept ? problem.swept({ values, beside, node, held }) : null;
    const stumps = (rows, may) => {
      if (swept) return swept.stumps(rows, may);
      const total = all(rows), left = each(rows), rest = new Float64Array(wide);
      return may.map((asked, f) => {
        if (!asked) return Infinity;
        for (let v = 0; v < wide; v++) rest[v] = total[v] - left[f * wide + v];
        return leaf(left, f * wide) + leaf(rest);
      });
    };
    const sides = (rows, f) => [rows.filter((r) => problem.rows[r].goes[f]), rows.filter((r) => !problem.rows[r].goes[f])];
    // The least weighted cost of a subtree over each set of columns.
    const subtrees = (rows, height, path, sets) => {
      if (swept && height) return swept.subtrees(rows, path, sets);
      const alone = leaf(all(rows)), found = sets.map(() => alone), may = height ? problem.may(path) : [];
      const used = new Set(sets.flat());
      if (height === 1) {
        const best = problem.names.map(() => Infinity);
        stumps(rows, may.map((asked, f) => asked && used.has(problem.column[f]))).forEach((value, f) => { best[problem.column[f]] = Math.min(best[problem.column[f]], value); });
        sets.forEach((set, s) => { for (const c of set) found[s] = Math.min(found[s], node + best[c]); });
      } else if (height) for (const c of used) {
        const here = sets.map((set, s) => (set.includes(c) ? s : -1)).filter((s) => s >= 0), mine = here.map((s) => sets[s]);
        for (let f = 0; f < T; f++) if (may[f] && problem.column[f] === c) {
          const [a, b] = sides(rows, f).map((side) => subtrees(side, height - 1, [...path, f], mine));
          here.forEach((s, i) => { found[s] = Math.min(found[s], node + a[i] + b[i]); });
        }
      }
      return found;
    };
    return { row, beside, node, leaf, all, sides, subtrees, stumps, swept, limit: (claim) => D * (claim - 1) + budget };
  }

  function twoLeaves(problem, f, claim) {
    // Whether two leaves below a split cost less than the claim, and satisfy sums and conditions.
    const sides = [true, false].map((left) => problem.rows.map((_, r) => r).filter((r) => problem.rows[r].goes[f] === left));
    const labels = [...Array(problem.K).keys()];
    const told = sides.map((rows) => labels.map((k) => ({
      cost: rows.reduce((sum, r) => sum + problem.cost[r][k], 0),
      uses: problem.sums.map(({ use, leaf }) => rows.reduce((sum, r) => sum + use[r][k], leaf[k])),
      may: problem.held.every(({ measure, least }) => rows.reduce((sum, r) => sum + measure[r], 0) >= least[k]),
    })));
    return told[0].some((a) => a.may && told[1].some((b) => b.may && a.cost + b.cost + problem.price < claim && problem.sums.every(({ bound, node }, s) => a.uses[s] + b.uses[s] + node <= bound)));
  }

  function survivors(problem, D, passes, claim, sets, settled, few) {
    const every = problem.rows.map((_, r) => r), may = problem.may([]);
    const alive = problem.column.map((c, f) => sets.map((set, s) => !settled[s] && may[f] && set.includes(c)));
    if (problem.oneTest) {
      passes.forEach((multipliers) => weigh(problem, D, multipliers));
      alive.forEach((line, f) => { if (!twoLeaves(problem, f, claim)) line.fill(false); });
      return alive;
    }
    // Rows that answer all splits of a set alike are in one leaf, so that no tree of any depth over it weighs less than
    // their best labels do.
    if (problem.depth > 3) for (const multipliers of passes) {
      const { row, beside, node, limit } = weigh(problem, D, multipliers);
      if (node >= 0 && beside.every((value) => value >= 0)) sets.forEach((set, s) => {
        if (!alive.some((line) => line[s])) return;
        const candidates = [...problem.column.keys()].filter((f) => set.includes(problem.column[f])), leaves = new Map();
        problem.rows.forEach(({ goes }, r) => {
          const key = candidates.map((f) => (goes[f] ? "1" : "0")).join(""), known = leaves.get(key);
          leaves.set(key, known ? known.map((value, k) => value + row[r][k]) : row[r]);
        });
        if ([...leaves.values()].reduce((sum, labels) => sum + Math.min(...labels), 0) > limit(claim)) alive.forEach((line) => { line[s] = false; });
      });
    }
    const single = !few && problem.depth > 3; // too many for one pass
    if (single && problem.depth > 4) return alive;
    for (const multipliers of passes) {
      const weighed = weigh(problem, D, multipliers), limit = weighed.limit(claim);
      if (weighed.swept) {
        weighed.swept.exclude(alive, sets, limit);
        continue;
      }
      for (let f = 0; f < problem.T; f++) {
        const here = sets.map((_, s) => s).filter((s) => alive[f][s] && (!single || problem.column.filter((c) => sets[s].includes(c)).length <= MOST_APART));
        if (single) for (const s of here) {
          const [[a], [b]] = weighed.sides(every, f).map((side) => weighed.subtrees(side, problem.depth - 1, [f], [sets[s]]));
          if (weighed.node + a + b > limit) alive[f][s] = false;
        }
        if (single || !here.length) continue;
        const [a, b] = weighed.sides(every, f).map((side) => weighed.subtrees(side, problem.depth - 1, [f], here.map((s) => sets[s])));
        here.forEach((s, i) => { if (weighed.node + a[i] + b[i] > limit) alive[f][s] = false; });
      }
    }
    return alive;
  }

  // ---- lists ----

  function holdsOne(problem, D, root, set, multipliers, claim) {
    // Whether some tree over the columns, with this root, satisfies everything and costs less than the claim.
    const weighed = weigh(problem, D, multipliers), { K, sums, held, places } = problem, node = weighed.node;
    const inside = problem.column.map((c) => set.includes(c)), may = (path) => problem.may(path).map((asked, f) => asked && inside[f]);
    const counts = places.mostSplits !== null && places.mostSplits < 2 ** problem.depth - 1;
    const together = places.together.map((names) => problem.names.reduce((mask, name, c) => (names.has(name) ? mask | (1n << BigInt(c)) : mask), 0n));
    const absent = places.together.map((names) => [...names].some((name) => !problem.names.includes(name)));
    const number = (mask) => { let n = 0; for (; mask; mask &= mask - 1n) n++; return n; };
    if (!may([])[root]) return false;
    let listed = 0;
    const first = problem.rows.map(() => []), second = problem.rows.map(() => []);
    problem.follows.forEach(([low, high, klass], p) => { first[low].push([1n << BigInt(p), klass]); second[high].push([1n << BigInt(p), klass]); });
    const leaves = (rows, limit) => {
      const total = weighed.all(rows), found = [];
      for (let k = 0; k < K; k++) {
        const w = total[k] + weighed.beside[k];
        if (w > limit || held.some(({ least }, h) => total[K + h] < least[k])) continue;
        let low = 0n, high = 0n;
        for (const r of rows) { for (const [bit, klass] of first[r]) if (klass === k) low |= bit; for (const [bit, klass] of second[r]) if (klass !== k) high |= bit; }
        const v = [rows.reduce((sum, r) => sum + problem.cost[r][k], 0), ...sums.map(({ use, leaf }) => rows.reduce((sum, r) => sum + use[r][k], leaf[k]))];
        found.push({ w, v, asked: 0n, columns: 0n, label: together.length ? k : -1, low, high });
      }
      return found;
    };
    const join = (f, a, b) => {
      // A split above two subtrees; null if no tree may hold it.
      if (a.label >= 0 && a.label === b.label) return null;
      const low = a.low | b.low, high = a.high | b.high, asked = counts ? a.asked | b.asked | (1n << BigInt(f)) : 0n;
      if (low & high || (counts && number(asked) > places.mostSplits)) return null;
      const columns = together.length ? a.columns | b.columns | (1n << BigInt(problem.column[f])) : 0n;
      return { w: a.w + b.w + node, v: a.v.map((x, i) => x + b.v[i] + (i ? sums[i - 1].node : problem.price)), asked, columns, label: -1, low, high };
    };
    const cheapest = (some) => {
      const kept = new Map();
      for (const one of some) { const key = [one.v.slice(1).join(), one.asked, one.columns, one.label, one.low, one.high].join("/"), known = kept.get(key); if (!known || one.v[0] < known.v[0]) kept.set(key, one); }
      return [...kept.values()].sort((a, b) => a.w - b.w);
    };
    const least = (rows, height, path) => weighed.subtrees(rows, height, path, [set])[0];
    const trees = (rows, height, path, limit) => {
      const found = leaves(rows, limit), room = limit - node, asked = height ? may(path) : [];
      const quick = height === 1 ? weighed.stumps(rows, asked) : null;
      const each = height === 2 && weighed.swept ? [] : null; // of splits that part rows
      if (each) weighed.swept.subtrees(rows, path, [set], false, each);
      for (let f = 0; f < asked.length; f++) if (asked[f] && !(quick && quick[f] > room) && !(each && !(each[f] && each[f][0] + each[f][1] <= room))) {
        const parts = weighed.sides(rows, f), floor = each ? each[f] : parts.map((part) => least(part, height - 1, [...path, f]));
        if (!(floor[0] + floor[1] <= room)) continue;
        const [zero, one] = parts.map((part, t) => trees(part, height - 1, [...path, f], room - floor[1 - t]));
        for (const a of zero) for (const b of one) {
          if (a.w + b.w > room) break;
          expect(++listed < MOST_LISTED, "the lists of subtrees of a case are too long for this checker");
          const both = join(f, a, b);
          if (both) found.push(both);
        }
      }
      return cheapest(found);
    };
    const parts = weighed.sides(problem.rows.map((_, r) => r), root), floor = parts.map((part) => least(part, problem.depth - 1, [root]));
    const limit = weighed.limit(claim) - node;
    if (!(floor[0] + floor[1] <= limit)) return false;
    const [zero, one] = parts.map((part, t) => trees(part, problem.depth - 1, [root], limit - floor[1 - t]));
    for (const a of zero) for (const b of one) {
      if (a.w + b.w > limit) break;
      expect(++listed < MOST_LISTED, "the lists of subtrees of a case are too long for this checker");
      const both = join(root, a, b);
      if (!both || both.v[0] >= claim || sums.some(({ bound }, s) => both.v[1 + s] > bound)) continue;
      if (together.every((mask, t) => !(both.columns & mask) || ((both.columns & mask) === mask && !absent[t]))) return true;
    }
    return false;
  }

  // ---- the tree ----

  function treeCost(facts, data, problem, told, loss) {
    const uses = told.sums.map(() => 0), asked = new Map(), { span, neverBelow, together, apart, mostColumns, mostSplits } = told.places;
    const predicted = problem.rows.map(() => new Set());
    const cost = (node, rows, path) => {
      if ("label" in node) {
        const k = data.classes.indexOf(node.label);
        expect(k >= 0, "the tree predicts no class of the data");
        expectLeaf(node, data, rows);
        told.sums.forEach(({ line, leaf }, s) => { uses[s] += rows.reduce((sum, i) => sum + line[i][k], leaf[k]); });
        expect(told.held.every(({ measure, least }) => rows.reduce((sum, i) => sum + measure[i], 0) >= least[k]), "a leaf of the tree does not satisfy its constraints on leaves");
        rows.forEach((i) => predicted[problem.rowOf[i]].add(k));
        return rows.reduce((sum, i) => sum + loss[i][k], 0);
      }
      expect(path.length < facts.depth, `the tree is deeper than ${facts.depth}`);
      const name = node.split.feature, [from, to] = span.get(name) || [0, Infinity], goes = leftOf(node.split, data);
      expect(from <= path.length && path.length <= to && !neverBelow.some(([low, high]) => low === name && path.includes(high)), `the tree splits on ${name} at a place that its constraints bar`);
      told.sums.forEach((sum, s) => { uses[s] += sum.node; });
      asked.set(name + " " + bits(goes), name);
      expect(!together.length || !("label" in node.left && node.left.label === node.right.label), "a node of the tree has two leaves of one class");
      return problem.price + cost(node.left, rows.filter((i) => goes[i]), [...path, name]) + cost(node.right, rows.filter((i) => !goes[i]), [...path, name]);
    };
    expectTree(facts, data);
    const paid = cost(facts.tree.root, data.y.map((_, i) => i), []), columns = new Set(asked.values());
    const shared = (names) => [...names].filter((name) => columns.has(name)).length;
    const satisfied = uses.every((use, s) => use <= told.sums[s].bound) && (mostColumns === null || columns.size <= mostColumns) && (mostSplits === null || asked.size <= mostSplits) && apart.every((names) => shared(names) < 2) && together.every((names) => [0, names.size].includes(shared(names)));
    expect(satisfied && problem.follows.every(([low, high, k]) => !(predicted[low].has(k) && [...predicted[high]].some((c) => c !== k))), "the tree does not satisfy its constraints");
    return paid;
  }

  // ---- the check ----

  return function check(facts, data, weight, table) {
    const { penalty: price, scale } = facts, columns = rankColumns(facts.columns, data), features = featuresOf(facts.columns), D = whole(facts.multiplier_scale, "the scale of multipliers");
    expect(D >= 1 && Math.max(D, scale, price) < EXACT, "its scales cannot be");
    const infeasible = facts.claim === null;
    expect(infeasible === (facts.tree === null) && infeasible === (facts.bound === null), "it has only some of a tree, a claim and a bound");
    const told = stated(facts.constraints, data, weight, table, scale - price), depth = heightOf(facts.depth, told);
    const { span, neverBelow, apart: separate, together, mostColumns } = told.places;
    const ofColumns = span.size + neverBelow.length + separate.length + together.length > 0 || mostColumns !== null;
    const cuts = cutsOf(columns, features, ofColumns), T = cuts.left.length;
    const few = depth <= 4 && 2 ** (depth - 1) * T ** depth <= MOST_SUMS, tooLarge = "it is of more splits, or deeper, than a certificate under constraints can be";
    expect(T >= 1 && depth >= 1 && (few || (depth <= 8 && T <= MOST_SWEPT)), tooLarge);
    const loss = infeasible ? table.map((line) => line.map(() => 0)) : table, paying = infeasible ? 1 : whole(facts.claim, "the claim"), claim = infeasible ? 1 : whole(facts.bound, "the bound");
    expect(paying < EXACT && claim <= paying, "its claim or its bound cannot be");
    const problem = pose(facts, data, cuts, columns, features, loss, told, infeasible ? 0 : price);
    problem.oneTest = depth === 1 && T >= WIDE;
    if (depth > 1 && depth <= 3 && T >= WIDE) problem.swept = sweeps(problem);
    const sets = told.places.mostColumns === 0 ? [] : columnSets(problem), walked = oneColumn.nestedSets(problem, sets);
    if (!few && depth > 3) {
      // Sets of columns by themselves, if nothing is said of splits.
      const apart = sets.filter((_, s) => !walked[s]).map((set) => problem.column.filter((c) => set.includes(c)).length);
      const plain = !told.places.span.size && !told.places.neverBelow.length;
      expect(sets.length && (!apart.length || (plain && depth === 4 && apart.every((size) => size <= MOST_APART) && apart.reduce((sum, size) => sum + 8 * size ** 4, 0) <= MOST_SUMS)), tooLarge);
    }
    const paid = infeasible ? paying : treeCost(facts, data, problem, told, loss);
    expect(paid === paying, `the tree costs ${paid / scale} on the data, it claims ${paying / scale}`);
    data.classes.forEach((name, k) => {
      const fits = told.sums.every(({ line, leaf, bound }) => line.reduce((sum, row) => sum + row[k], leaf[k]) <= bound) && told.held.every(({ measure, least }) => measure.reduce((a, b) => a + b, 0) >= least[k]);
      expect(!(fits && loss.reduce((sum, row) => sum + row[k], 0) < claim), `a leaf of the class ${name} alone satisfies all, and costs less`);
    });
    if (told.places.mostColumns !== 0) {
      const place = new Map(sets.map((set, s) => [set.join(), s])), settled = sets.map(() => false), cases = [];
      const none = (left, columns) => expect(!left, `a tree over ${columns.join(", ")} satisfies the constraints and costs less, or its multipliers do not show the contrary`);
      for (const one of facts.cases) {
        const { root, columns, multipliers } = one, set = columns.map((name) => problem.names.indexOf(name)).sort((a, b) => a - b), s = place.get(set.join());
        expect(s !== undefined && (root === undefined || whole(root, "a root") < T), "it lists a case that is none");
        if (root !== undefined) {
          cases.push({ root, columns, multipliers, set, s });
          continue;
        }
        expect(walked[s], `it lists all trees over ${columns.join(", ")} as one case, which are not trees over nested splits of one column`);
        if (settled[s]) continue;
        none(oneColumn.holdsOne(problem, walked[s], D, multipliers, weigh(problem, D, multipliers).limit(claim), claim, expect), columns);
        settled[s] = true;
      }
      const alive = survivors(problem, D, facts.passes, claim, sets, settled, few);
      for (const { root, columns, multipliers, set, s } of cases) {
        if (!alive[root][s]) continue;
        if (!few && depth > 3 && walked[s]) continue; // the lists are far too long
        none(holdsOne(problem, D, root, set, multipliers, claim), columns);
        alive[root][s] = false;
      }
      expect(!alive.some((line) => line.includes(true)), "some cases are neither excluded by multipliers nor listed");
    }
    const { splits, absent } = countSplits(data, columns, ofColumns || told.orders.length > 0 ? features : null);
    expectTerms(facts, data, columns.candidates, absent === 0, facts.constraints);
    return { objective: infeasible ? Infinity : paid / scale, bound: infeasible ? Infinity : claim / scale, candidates: columns.candidates, splits, absent, infeasible };
  };
};
