#!/usr/bin/env node
// Checks a certificate of odtc against its data, with nothing of odtc: node check.js PROOF.certificate.json [DATA.csv]
//
// It reads the data by itself (data.js), counts what the tree costs, and holds every state against what one label, or
// one split and the bounds of its two sides, leave. All sums are of whole numbers below 2^53, which doubles add exactly.
// Trees under constraints are checked by constrained.js, trees of numbers and of survival by leaf-sums.js.
// Exit code 0 and "proved", or 1 and the first thing that is not so. The page of `odtc report` runs this program, too: only
// main and bytesOf use modules of node.
"use strict";
const { Refused, refuse, expect, EXACT, whole, alike, largest } = require("./values.js");
const { readData } = require("./data.js");
const { MEASURES, scaled, wholeOf } = require("./leaf-costs.js");
const { leftOf, bits, same, featuresOf, rankColumns, countSplits } = require("./columns.js");

// ---- the check ----

function check(facts, data) {
  expect(facts.schema === "odtc.proof/1", "it is no certificate of schema odtc.proof/1");
  if (Object.hasOwn(MEASURES, facts.kind)) return checkLeafSums(facts, data);
  const constrained = facts.kind === "constraints";
  expect(constrained || facts.kind === "labels", `it is of the kind ${facts.kind}, which this checker does not know`);
  const K = data.classes.length, depth = whole(facts.depth, "the depth"), price = whole(facts.penalty, "the price");
  const scale = whole(facts.scale, "the scale"), W = whole(facts.weight_scale, "the scale of weights"), claim = constrained ? null : whole(facts.claim, "the claim");
  expect(depth >= 1 && depth <= 20 && scale >= 1 && W >= 1 && scale % W === 0 && price < scale, "its scales cannot be");
  expect(facts.classes.length === K && facts.classes.every((name, k) => data.classKey(name) === data.classes[k]), "its classes, or their order, are not those of the data");
  expect(facts.loss.length === K && facts.loss.every((line, k) => line.length === K && line.every((v, c) => whole(v, "a loss") >= 0 && (k !== c || v === 0))), "its losses are not a square table with zeros where the label is correct");
  expect(K === 1 || facts.loss.some((line) => line.some((v) => v > 0)), "its losses are all 0");
  const unit = (scale - price) / W, near = (found, told) => Math.abs(found - told) <= 1e-9 * told;
  expect(!data.price || facts.loss.every((line, k) => line.every((v, c) => near(v / unit, data.price(k, c)))), "its losses are not those of its task");
  const weight = data.weight.map((w) => { expect(w >= 0, "a weight of the data is below 0"); return Number(wholeOf(scaled(w, BigInt(W)), "the weights")); });
  const loss = data.y.map((k, i) => facts.loss[k].map((v) => weight[i] * v));
  expect(loss.reduce((sum, line) => sum + line.reduce((a, b) => a + b, 0), 0) < EXACT, "its numbers are too large to be added exactly");
  if (constrained) return checkConstrained(facts, data, weight, loss);
  return checkThresholds(facts, data, loss, { depth, price, scale, claim });
}

// The options that say how the target of a task is read.
const ASKED = ["actions", "treatment", "outcome", "propensity", "scores", "goal", "time", "event", "ridge"];

function expectTerms(facts, data, nCandidateSplits, allSplits, constraints) {
  const found = {
    target: data.target, classes: facts.classes, columns: data.columns, auxiliary: data.auxiliary,
    weights: facts.data.weights == null ? null : facts.data.weights, missing: data.missing, n_rows: data.fileRows,
    n_dropped_missing: data.nDropped - data.nUnlabelled, n_dropped_unlabelled: data.nUnlabelled,
    rows_of_class: data.classes.map((_, k) => data.y.filter((c) => c === k).length),
    depth: facts.depth, n_candidate_splits: nCandidateSplits, all_splits: allSplits, constraints,
  };
  for (const key of ["categorical", "numeric", "ignore", "missing_mark"]) {
    const told = facts.data[key] || [];
    if (told.length) found[key] = told; else expect(!(key in facts.of), `it states ${key}, but none was told`);
  }
  if (facts.data.decimal) found.decimal = facts.data.decimal; else expect(!("decimal" in facts.of), "it states a sign before decimals, but none was told");
  const ofRows = { hold_out: facts.data.hold_out, n_set_aside: data.nSetAside };
  for (const key of Object.keys(ofRows))
    if (facts.data.hold_out) found[key] = ofRows[key]; else expect(!(key in facts.of), `it states ${key}, but no rows are set aside`);
  if (data.task !== "classification") {
    found.task = data.task;
    found.requested = Object.fromEntries(ASKED.filter((key) => facts.data[key] && facts.data[key].length !== 0).map((key) => [key, facts.data[key]]));
  }
  expect(!("n_rows" in facts.data) || facts.data.n_rows === found.n_rows, `it counts ${JSON.stringify(facts.data.n_rows)} rows that it is of, but of this data it is of ${found.n_rows}`);
  for (const key of Object.keys(found))
    expect(alike(facts.of[key], found[key]), `it states ${key} as ${JSON.stringify(facts.of[key])}, but of this data it is ${JSON.stringify(found[key])}`);
}

// What the tree of a certificate says of the data beside splits and labels: whoever takes it out of there believes that.
function expectTree(facts, data) {
  const { tree } = facts, levelsOf = (f, told) => told && JSON.stringify(told.map(f.key)) === JSON.stringify(f.keys);
  const alike = (f, told) => told && f.name === told.name && f.kind === told.kind && (f.numeric || levelsOf(f, told.levels));
  const found = { schema: "odtc.tree/1", task: data.task, target: data.target, classes: facts.classes, missing: data.missing };
  for (const key of Object.keys(found))
    expect(!(key in tree) || JSON.stringify(tree[key]) === JSON.stringify(found[key]), `its tree states ${key} as ${JSON.stringify(tree[key])}, but of this data it is ${JSON.stringify(found[key])}`);
  expect(!("features" in tree) || (tree.features.length === data.features.length && data.features.every((f, j) => alike(f, tree.features[j]))), "its tree states other columns than those of the data");
}

function expectLeaf(node, data, rows) {
  const each = { counts: (i) => data.weight[i], rows: (i) => data.copies[i] }, sums = data.sums || [];
  const found = Object.fromEntries(Object.entries(each).map(([key, of]) => [key, data.classes.map((_, k) => rows.reduce((sum, i) => sum + (data.y[i] === k ? of(i) : 0), 0))]));
  expect(!node.line, "a leaf of its tree predicts a line, which this proof does not cover");
  const isList = (value, of) => Array.isArray(value) && value.every((v) => (of ? isList(v) : typeof v === "number"));
  for (const key of ["counts", "rows", "sums", "curve"]) expect(!(key in node) || isList(node[key], key === "curve"), `the ${key} of a leaf of its tree are no list of numbers`);
  if ((node.sums || []).length) found.sums = (sums[0] || []).map((_, s) => rows.reduce((sum, i) => sum + sums[i][s], 0));
  if ((node.curve || []).length) found.curve = data.curve && rows.length ? data.curve(rows).flat() : [];
  for (const key of Object.keys(found)) {
    if (!(key in node)) continue;
    const told = key === "curve" ? node.curve.flat() : node[key];
    const off = (v) => (key in each ? 1 : key === "sums" ? largest(sums, v) : 0);
    const near = (a, b, v) => Math.abs(a - b) <= 1e-9 * off(v) + 1e-9 * Math.abs(b);
    expect(told.length === found[key].length && found[key].every((value, v) => near(told[v], value, v)), `a leaf of its tree has the ${key} ${told}, on the data they are ${found[key]}`);
  }
}

function treeCost(facts, data, loss, { depth, price }, least) {
  const cost = (node, rows, levelsLeft) => {
    if ("label" in node) {
      const k = data.classes.indexOf(data.classKey(node.label));
      expect(k >= 0, "the tree predicts no class of the data");
      expect(least <= 1 || rows.reduce((sum, i) => sum + data.copies[i], 0) >= least, `a leaf of the tree has fewer than ${least} rows`);
      expectLeaf(node, data, rows);
      return rows.reduce((sum, i) => sum + loss[i][k], 0);
    }
    expect(levelsLeft > 0, `the tree is deeper than ${depth}`);
    const goes = leftOf(node.split, data);
    return price + cost(node.left, rows.filter((i) => goes[i]), levelsLeft - 1) + cost(node.right, rows.filter((i) => !goes[i]), levelsLeft - 1);
  };
  expectTree(facts, data);
  return cost(facts.tree.root, data.y.map((_, i) => i), depth);
}

function checkThresholds(facts, data, loss, { depth, price, scale, claim }) {
  const least = whole(facts.least, "the least rows"), stated = whole(facts.bound, "the bound");
  const columns = rankColumns(facts.columns, data), { splits, absent } = countSplits(data, columns), { ranks, candidates } = columns;
  expectTerms(facts, data, candidates, absent === 0, least > 1 ? [`leaf_rows >= ${least}`] : []);
  const paid = treeCost(facts, data, loss, { depth, price }, least);
  expect(paid === claim, `the tree costs ${paid / scale} on the data, it claims ${claim / scale}`);
  const found = thresholdBound(facts, ranks, loss, data.copies, price, depth, Math.max(1, least));
  expect(found === stated && found <= claim, `its states bound all trees by ${found / scale}, it states ${stated / scale}`);
  return { objective: claim / scale, bound: found / scale, candidates, splits, absent };
}

function thresholdBound(facts, columns, loss, counts, price, depth, least) {
  const K = loss[0].length, C = columns.length, group = new Map();
  let rows = [], floor = 0;
  loss.forEach((line, i) => {
    const rank = columns.map((ranks) => ranks[i]), key = rank.join(",");
    if (!group.has(key)) { group.set(key, rows.length); rows.push({ rank, loss: new Array(K).fill(0), count: 0 }); }
    const row = rows[group.get(key)];
    row.count += counts[i];
    line.forEach((v, k) => { row.loss[k] += v; });
  });
  for (const row of rows) { const own = Math.min(...row.loss); floor += own; row.extra = row.loss.map((v) => v - own); row.most = Math.max(...row.extra); }
  if (least === 1) rows = rows.filter((row) => row.most > 0); // all labels cost the same on the others
  const n = rows.length, orders = columns.map((_, c) => rows.map((_, i) => i).sort((a, b) => rows[a].rank[c] - rows[b].rank[c]));
  const label = (inside) => {
    let best = Infinity;
    for (let k = 0; k < K; k++) { let sum = 0; for (let i = 0; i < n; i++) if (inside[i]) sum += rows[i].extra[k]; best = Math.min(best, sum); }
    return best;
  };
  // The cuts of one column among some rows: the rank up to which they send rows left, what these can cost at most, how
  // many rows of the data they are, and the sums per label. The last one has all rows on its left.
  const cutsOf = (inside, c) => {
    const found = [], sums = new Array(K).fill(0);
    found.column = c;
    let moved = 0, held = 0, last = -1;
    for (const i of orders[c]) if (inside[i]) {
      if (rows[i].rank[c] !== last) { found.push(null); last = rows[i].rank[c]; }
      moved += rows[i].most; held += rows[i].count;
      for (let k = 0; k < K; k++) sums[k] += rows[i].extra[k];
      found[found.length - 1] = { rank: last, moved, held, sums: sums.slice() };
    }
    return found;
  };
  // Of cuts that separate the rows alike the first column's counts: sums of random numbers find them, then all rows are
  // compared.
  let state = 12345;
  const random = rows.map(() => (state = (state * 1103515245 + 12345) % 2147483648) + 1), whole = random.reduce((a, b) => a + b, 0);
  const known = new Map(), copies = columns.map(() => new Set());
  columns.forEach((_, c) => {
    const found = [];
    let sum = 0;
    orders[c].forEach((i, at) => {
      sum += random[i];
      if (at + 1 === n || rows[orders[c][at + 1]].rank[c] === rows[i].rank[c]) return;
      const cut = rows[i].rank[c], key = Math.min(sum, whole - sum), left = (d, k) => (row) => row.rank[d] <= k;
      const alike = ([d, k]) => { const one = left(c, cut), two = left(d, k); return rows.every((row) => one(row) === two(row)) || rows.every((row) => one(row) !== two(row)); };
      if ((known.get(key) || []).some(alike)) copies[c].add(cut);
      found.push([key, [c, cut]]);
    });
    for (const [key, cut] of found) known.set(key, [...(known.get(key) || []), cut]);
  });
  const isCopy = (c, from, to) => { for (const cut of copies[c]) if (cut >= from && cut < to) return true; return false; };
  const parts = (cuts, at, need) => at < cuts.length - 1 && cuts[at].held >= need && cuts[cuts.length - 1].held - cuts[at].held >= need;
  const stump = (inside, need) => {
    let best = label(inside);
    for (let c = 0; c < C; c++) {
      const cuts = cutsOf(inside, c), all = cuts.length ? cuts[cuts.length - 1].sums : [];
      cuts.forEach((cut, at) => { if (parts(cuts, at, need)) best = Math.min(best, price + Math.min(...cut.sums) + Math.min(...all.map((v, k) => v - cut.sums[k]))); });
    }
    return best;
  };
  // Bounds at some cuts carried to all of the column: rows that come in cost no more than their most, and, unless leaves
  // need a least number of rows, fewer rows cost no more.
  const carried = (cuts, left, right, whole, falls) => {
    const m = cuts.length, total = cuts[m - 1].moved, L = left.slice(), R = right.slice();
    for (let a = 0; a < m; a++) { L[a] = Math.max(L[a], whole - (total - cuts[a].moved)); R[a] = Math.max(R[a], whole - cuts[a].moved); }
    for (let a = m - 2; a >= 0; a--) L[a] = Math.max(L[a], L[a + 1] - (cuts[a + 1].moved - cuts[a].moved));
    for (let a = 1; a < m; a++) R[a] = Math.max(R[a], R[a - 1] - (cuts[a].moved - cuts[a - 1].moved));
    if (falls) {
      for (let a = 1; a < m; a++) L[a] = Math.max(L[a], L[a - 1]);
      for (let a = m - 2; a >= 0; a--) R[a] = Math.max(R[a], R[a + 1]);
    }
    return [L, R];
  };
  const open = (cuts, sides, whole, need, target) => {
    const free = carried(cuts, sides[0], sides[1], whole[0], true);
    const own = need > 1 ? carried(cuts, sides[2], sides[3], whole[1], false) : free;
    return cuts.map((_, a) => parts(cuts, a, need) && !(copies[cuts.column].size && isCopy(cuts.column, cuts[a].rank, cuts[a + 1].rank)) && Math.max(free[0][a], own[0][a]) + Math.max(free[1][a], own[1][a]) + price < target);
  };
  const holdsPair = (inside, need, target) => {
    for (let c = 0; c < C; c++) {
      const cuts = cutsOf(inside, c), sides = [0, 1, 2, 3].map(() => new Array(cuts.length).fill(0)), done = new Set();
      for (;;) {
        const still = open(cuts, sides, [0, 0], need, target);
        if (!still.includes(true)) break;
        for (let a = 0; a < cuts.length;) {
          if (!still[a]) { a++; continue; }
          let z = a;
          while (z + 1 < cuts.length && still[z + 1]) z++;
          const at = (a + z) >> 1;
          if (done.has(at)) return false;
          done.add(at);
          const halves = [true, false].map((low) => rows.map((row, i) => inside[i] && (row.rank[c] <= cuts[at].rank) === low));
          halves.forEach((half, side) => { sides[side][at] = stump(half, 1); sides[2 + side][at] = need > 1 ? stump(half, need) : 0; });
          a = z + 1;
        }
      }
    }
    return true;
  };
  // Whether no tree of three levels costs less, by sums over pairs of cuts on either side of each. Of each cut the side with
  // fewer rows counts as true, and the sums of the other side are what is left.
  const holdsThree = (inside, target) => {
    const mine = rows.map((_, i) => i).filter((i) => inside[i]), candidates = [];
    for (let c = 0; c < C; c++) {
      const cuts = cutsOf(inside, c);
      cuts.forEach((cut, at) => { if (parts(cuts, at, 1) && !isCopy(c, cut.rank, cuts[at + 1].rank)) candidates.push([c, cut.rank]); });
    }
    const T = candidates.length, lists = mine.map(() => []), truths = candidates.map(([c, rank], t) => {
      const left = mine.map((i) => rows[i].rank[c] <= rank), few = 2 * left.filter(Boolean).length <= mine.length;
      return left.map((low, at) => (low === few && lists[at].push(t), at)).filter((at) => left[at] === few);
    });
    const sumsOf = (some) => {
      const sums = new Array(K).fill(0), pairs = sums.map(() => new Float64Array(T * T));
      for (const at of some) for (let k = 0; k < K; k++) {
        const loss = rows[mine[at]].extra[k], pair = pairs[k];
        sums[k] += loss;
        if (loss) for (const b of lists[at]) for (const c of lists[at]) pair[b * T + c] += loss;
      }
      return { sums, pairs };
    };
    const two = ({ sums, pairs }) => {
      let best = Math.min(...sums);
      for (let b = 0; b < T; b++) {
        let yes = Infinity, no = Infinity, some = Infinity, others = Infinity;
        for (let k = 0; k < K; k++) { const own = pairs[k][b * T + b]; yes = Math.min(yes, own); no = Math.min(no, sums[k] - own); }
        for (let c = 0; c < T; c++) {
          const least = [Infinity, Infinity, Infinity, Infinity];
          for (let k = 0; k < K; k++) {
            const both = pairs[k][b * T + c], one = pairs[k][b * T + b], other = pairs[k][c * T + c];
            least[0] = Math.min(least[0], both); least[1] = Math.min(least[1], one - both);
            least[2] = Math.min(least[2], other - both); least[3] = Math.min(least[3], sums[k] - one - other + both);
          }
          some = Math.min(some, least[0] + least[1]); others = Math.min(others, least[2] + least[3]);
        }
        best = Math.min(best, price + Math.min(yes, price + some) + Math.min(no, price + others));
      }
      return best;
    };
    const every = sumsOf(mine.map((_, at) => at));
    return truths.every((own) => {
      const here = sumsOf(own), rest = { sums: every.sums.map((v, k) => v - here.sums[k]), pairs: every.pairs.map((pair, k) => pair.map((v, at) => v - here.pairs[k][at])) };
      return two(here) + two(rest) + price >= target;
    });
  };
  expect(Array.isArray(facts.states) && facts.states.length >= 1 && facts.states.length <= Math.max(1, depth - 1), "it has states of too many levels, or of none");
  const levels = facts.states.map((text) => (text ? text.split(";") : []).map((entry) => {
    expect(/^f?[0-9]{1,16}(,[0-9]{1,9},[0-9]{1,9},[0-9]{1,9},[0-9]{1,9})*$/.test(entry), "a state is not written as a bound and four numbers a cut");
    const numbers = entry.replace("f", "").split(",").map(Number), points = [];
    for (let i = 1; i < numbers.length; i += 4) points.push(numbers.slice(i, i + 4));
    return { free: entry[0] === "f", target: numbers[0], points, inside: null };
  }));
  expect(levels[0].length === 1 && !(levels[0][0].free && least > 1), "expected one state of all rows at level 0");
  levels[0][0].inside = rows.map(() => true);
  levels.forEach((states, j) => states.forEach((state, at) => {
    const height = depth - j, inside = state.inside, need = state.free ? 1 : least, where = `state ${at + 1} of level ${j}`;
    expect(inside, `nothing leads to ${where}`);
    expect(state.target < EXACT, "a bound is too large");
    if (!inside.includes(true)) { expect(state.target === 0 && !state.points.length, `${where} holds no rows`); return; }
    expect(label(inside) >= state.target, `${where} claims ${state.target}, but one label costs less`);
    if (height <= 2) {
      expect(!state.points.length, `${where} names states of a level that there is not`);
      if (state.target <= price) return;
      expect(height === 2 ? holdsPair(inside, need, state.target) : stump(inside, need) >= state.target, `${where} claims ${state.target}, but some tree costs less`);
      return;
    }
    if (height === 3 && !state.points.length && least === 1) {
      expect(state.target <= price || holdsThree(inside, state.target), `${where} claims ${state.target}, but some tree costs less`);
      return;
    }
    const name = (number, rowsOf) => {
      if (!number) return null;
      const child = (levels[j + 1] || [])[number - 1];
      expect(child, `${where} names a state that there is not`);
      expect(!state.free || child.free || least === 1, `${where} has a bound of other trees`);
      // A state of several cuts holds the rows that they have in common, each of its sides these and more.
      if (!child.inside) child.inside = rowsOf;
      else if (least === 1 || child.free) child.inside = child.inside.map((v, i) => v && rowsOf[i]);
      else expect(rowsOf.every((v, i) => v === child.inside[i]), `${where} names a state of other rows`);
      return child;
    };
    const all = columns.map((_, c) => cutsOf(inside, c)), bounds = all.map((cuts) => [0, 1, 2, 3].map(() => new Array(cuts.length).fill(0))), whole = [0, 0];
    for (const [c, k, a, b] of state.points) {
      if (c === C) {
        expect(a === 0 && b > 0, `${where} has no state of all rows`);
        const child = name(b, inside);
        if (child.free || least === 1) whole[0] = Math.max(whole[0], child.target);
        whole[1] = Math.max(whole[1], child.target);
        continue;
      }
      expect(c < C, `${where} evaluates a column that there is not`);
      const place = all[c].filter((cut) => cut.rank <= k).length - 1;
      expect(place >= 0 && place < all[c].length - 1, `${where} evaluates a split that separates no rows`);
      [a, b].forEach((number, side) => {
        const child = name(number, rows.map((row, i) => inside[i] && (row.rank[c] <= k) === (side === 0)));
        if (!child) return;
        if (child.free || least === 1) bounds[c][side][place] = Math.max(bounds[c][side][place], child.target);
        bounds[c][2 + side][place] = Math.max(bounds[c][2 + side][place], child.target);
      });
    }
    all.forEach((cuts, c) => expect(!open(cuts, bounds[c], whole, need, state.target).includes(true), `${where} claims ${state.target}, but the sides of a split of column ${c} are bounded by less`));
  }));
  return floor + levels[0][0].target;
}

const checkLeafSums = require("./leaf-sums.js")({ expectTerms, expectTree });
const checkConstrained = require("./constrained.js")({ expect, refuse, whole, leftOf, rankColumns, featuresOf, countSplits, bits, same, expectTerms, expectTree, expectLeaf });

// What is priced other than a unit of weight for each error.
function pricesOf({ loss, classes, penalty: price, scale, weight_scale: W }, proof) {
  const lambda = loss ? price / scale : proof.lambda, said = lambda ? [`lambda ${Number(lambda.toPrecision(10))}`] : [];
  const costs = (loss || []).flatMap((line, k) => line.map((v, c) => [k, c, (v * W) / (scale - price)])).filter(([k, c]) => k !== c);
  if (costs.some(([, , v]) => Math.abs(v - 1) > 1e-12)) said.push(`costs ${costs.map(([k, c, v]) => `${classes[k]}:${classes[c]}=${Number(v.toPrecision(10))}`).join(", ")}`);
  return said.length ? ` (${said.join(" and ")})` : "";
}

// What the claim is relative to.
function termsOf(facts, data) {
  const read = (key, words) => (facts.data[key] || []).map((name) => `${name} is read as ${words}`);
  const left = [[data.nSetAside, "set aside at random"], [data.nDropped - data.nUnlabelled, "with missing cells"], [data.nUnlabelled, "without a label or a weight"]];
  const asked = ASKED.filter((key) => facts.data[key] && facts.data[key].length !== 0).map((key) => `${key} ${[].concat(facts.data[key]).join(", ")}`);
  return [
    ...(data.task === "classification" ? [] : [`task ${data.task}`, ...asked]),
    `target '${data.target}' (${facts.classes.join(", ")})`,
    facts.data.weights == null ? "every row counts 1" : `weights in column '${facts.data.weights}'`,
    ...read("categorical", "a category"), ...read("numeric", "numbers"),
    ...((facts.data.ignore || []).length ? [`not read are ${facts.data.ignore.map((name) => name || "column 1 (no name)").join(", ")}`] : []),
    ...(facts.data.decimal ? [`numbers are as people write them, with '${facts.data.decimal}' before decimals`] : []),
    ...((facts.data.missing_mark || []).length ? [`also missing: ${facts.data.missing_mark.join(", ")}`] : []),
    ...(data.auxiliary.length ? [`no split uses ${data.auxiliary.join(", ")}`] : []),
    `rows left out: ${left.filter(([n]) => n).map(([n, why]) => `${n} ${why}`).join(", ") || "none"}`,
    ...(data.missing === "separate" ? ["splits may separate missing cells"] : []),
  ].join("; ");
}

// The two lines that state what a certificate proves on the bytes of a data file.
function statements(facts, file, bytes) {
  const data = readData(file, bytes, facts.data), proof = check(facts, data);
  const kept = (facts.of && facts.of.constraints) || [], asked = kept.length ? ` that satisfies ${kept.join(" and ")}` : "";
  return [
    (proof.infeasible ? `proved: no tree of depth ${facts.depth} over ${proof.candidates} splits${asked.replace(" that", "")} on ${data.fileRows} rows; `
      : `proved: no tree of depth ${facts.depth} over ${proof.candidates} splits${asked} costs less than ${proof.bound} on ${data.fileRows} rows${pricesOf(facts, proof)}; `) +
      (proof.bound < proof.objective ? `its own tree costs ${proof.between ? "up to " : ""}${proof.objective}; ` : "") +
      (proof.absent ? `${proof.absent} of ${proof.splits} ways to separate the rows by one split are not among these` : `these are all ${proof.splits} ways to separate the rows by one split`),
    `of: ${termsOf(facts, data)}`,
  ];
}

const OTHER_FILE = "the data file is not the one that the certificate was made of (its SHA-256 differs); it proves its tree here too";
const refusal = (problem) => `refused: ${problem instanceof Refused ? problem.message : `${problem.name}: ${problem.message}`}`;

function bytesOf(file) {
  const bytes = require("fs").readFileSync(file);
  return /\.gz$/i.test(file) ? require("zlib").gunzipSync(bytes, { maxOutputLength: 2 ** 30 }) : bytes;
}

function main([file, given]) {
  if (!file) { console.error("usage: node check.js PROOF.certificate.json [DATA.csv]"); return 2; }
  const [crypto, fs, path] = ["crypto", "fs", "path"].map(require);
  try {
    const facts = JSON.parse(fs.readFileSync(file, "utf8")), source = given || path.resolve(path.dirname(file), facts.data.path);
    for (const line of statements(facts, source, bytesOf(source))) console.log(line);
    const digest = crypto.createHash("sha256").update(fs.readFileSync(source)).digest("hex");
    if (facts.data.sha256 && facts.data.sha256 !== digest) console.error(OTHER_FILE);
    return 0;
  } catch (problem) {
    console.error(refusal(problem));
    return 1;
  }
}

if (require.main === module) process.exitCode = main(process.argv.slice(2));
module.exports = { check, statements, refusal, bytesOf, OTHER_FILE };
