// Certificates of the best tree under constraints (kind "constraints"), for check.js.
//
// A case is a root split with a set of columns. With multipliers m the weighted cost of a tree is D cost + sum m uses; a
// tree that costs less than the claim and satisfies all has a weighted cost of at most D (claim - 1) + sum m bound. A
// case whose least weighted cost is greater is excluded (subtrees.js); of the others all trees up to it are listed, and
// none may satisfy everything.
"use strict";
const { expect, whole } = require("./values.js");
const { kindsOf, cutGroups, rankColumns, featuresOf, countSplits } = require("./columns.js");
const { expectTerms, labelCost } = require("./tree.js");
const { rising, splitsOf } = require("./boxes.js");
const stated = require("./constraints.js");
const subtreesOf = require("./subtrees.js");
const oneColumn = require("./one-column.js");

const EXACT = 2 ** 52;
const WIDE = 300, MOST_SPLITS = 50000; // splits from which on a depth of 1 needs no multipliers, and at most
const MOST_APART = 80; // splits of a set of columns that is counted by itself
const MOST_SUMS = 2e9, MOST_SETS = 20000, MOST_LISTED = 5e7;

const total = (line) => line.reduce((a, b) => a + b, 0);

// ---- the problem ----

// How deep a tree has to be, at most: a split that is asked again below itself parts no rows, so that a path needs no
// more branch nodes than there may be different splits; and it has no more than the tree may, if nothing gives one back.
function heightOf(depth, { sums, places: { mostSplits } }) {
  const more = sums.some(({ node, leaf }) => node < 0 || leaf.some((use) => use < 0));
  let height = mostSplits === null || more ? depth : Math.min(depth, Math.max(1, mostSplits));
  for (const { line, bound, node, leaf } of sums) {
    const gives = leaf.some((use) => use < 0) || line.some((uses) => uses.some((use) => use < 0));
    if (node > 0 && !gives) height = Math.min(height, Math.max(1, Math.floor(bound / node)));
  }
  return height;
}

// The cuts of the columns, {at, cut, left}; of those that separate the rows alike the first one counts, if a constraint
// speaks of columns the first one of each feature, and if one speaks of all inputs every one.
function cutsOf({ ranks, sizes }, features, ofColumns, ofInputs) {
  const seen = new Set(), cuts = [];
  cutGroups(ranks).forEach((own, at) => {
    const most = ranks[at].reduce((a, b) => Math.max(a, b), 0);
    for (let cut = 0; cut < sizes[at]; cut++) {
      const lower = own.filter((one) => one.cut <= cut); // the last of them separates the same rows
      const group = cut >= most || !lower.length ? "none" : lower[lower.length - 1].group;
      const key = `${ofColumns ? features[at] : ""} ${group}`;
      if (ofInputs || !seen.has(key)) cuts.push({ at, cut });
      seen.add(key);
    }
  });
  return cuts;
}

// The chains of subtrees.js: the cuts of each column of the certificate, from the last one.
function chainsOf(cuts, { ranks }, column) {
  return ranks.map((rank, at) => {
    const splits = [...cuts.keys()].filter((f) => cuts[f].at === at).reverse();
    const before = [0]; // of each rank how many cuts are lower
    for (const { cut } of cuts.filter((one) => one.at === at)) before[cut + 1] = 1;
    for (let r = 1, count = 0; r < before.length; r++) before[r] = count += before[r] || 0;
    const code = rank.map((r) => splits.length - before[Math.min(r, before.length - 1)]);
    return { splits, code, column: column[splits[0]] };
  }).filter(({ splits }) => splits.length);
}

function pose(facts, data, cuts, columns, features, loss, told, price) {
  const depth = heightOf(facts.depth, told), of = cuts.map(({ at }) => features[at]), names = [...new Set(of)];
  const column = of.map((name) => names.indexOf(name));
  expect(column.every((c, f) => !f || c >= column[f - 1]), "its columns are not in groups of one feature");
  const chains = chainsOf(cuts, columns, column), members = kindsOf(chains.map(({ code }) => code)), rowOf = [];
  members.forEach((own, row) => own.forEach((i) => { rowOf[i] = row; }));
  for (const chain of chains) chain.code = members.map(([i]) => chain.code[i]);
  const reaching = (lines) => total(lines.map((line) => Math.max(...line.map(Math.abs)))); // the most that the rows come to
  const summed = (line) => members.map((own) => line[0].map((_, k) => own.reduce((sum, i) => sum + line[i][k], 0)));
  const { span, neverBelow } = told.places, every = [...members.keys()];
  const may = (path) => names.map((name) => {
    const [first, last] = span.get(name) || [0, Infinity];
    const barred = path.some((c) => neverBelow.some(([low, high]) => names[c] === high && name === low));
    return first <= path.length && path.length <= last && !barred;
  });
  const placeOf = new Map(chains.flatMap((chain) => chain.splits.map((f, at) => [f, { code: chain.code, at }])));
  const goes = (f) => { const { code, at } = placeOf.get(f); return (r) => code[r] > at; };
  return {
    depth, column, names, chains, members, rowOf, may, goes, price, every, T: cuts.length, K: data.classes.length,
    sides: (rows, f) => [rows.filter(goes(f)), rows.filter((r) => !goes(f)(r))],
    places: told.places, follows: followsOf(facts, data, members, columns.ranks, features, told.orders),
    rises: told.everywhere.length ? rising(told.everywhere, splitsOf(facts.columns, data), data) : null,
    reach: { cost: reaching(loss), sums: told.sums.map(({ line }) => reaching(line)) },
    cost: summed(loss), sums: told.sums.map(({ line, ...rest }) => ({ ...rest, use: summed(line) })),
    held: told.held.map(({ measure, least }) => ({ least, measure: members.map((own) => total(own.map((i) => measure[i]))) })),
  };
}

// Pairs of rows that differ only in a column with which a class rises: [row, the next row, class].
function followsOf(facts, data, members, ranks, features, orders) {
  const follows = [], kinds = facts.columns.map(({ kind }) => kind);
  for (const { column: name, klass } of orders) {
    const own = features.map((one) => one === name), { cells } = data.features.find((feature) => feature.name === name);
    const plain = kinds.every((kind, c) => !own[c] || ["threshold", "missing"].includes(kind));
    expect(plain, `a split uses numbers of ${name} one by one`);
    const lacks = (i) => Number.isNaN(cells[i]), parted = members.every((some) => some.every(lacks) || !some.some(lacks));
    expect(parted, `no split tells rows that lack ${name} from those that have it`);
    const compared = members.map(([i], r) => ({
      r, lacking: lacks(i), kind: ranks.filter((_, c) => !own[c]).map((rank) => rank[i]).join(),
      number: ranks.reduce((sum, rank, c) => sum + (own[c] && kinds[c] === "threshold" ? rank[i] : 0), 0),
    })).filter(({ lacking }) => !lacking);
    compared.sort((a, b) => (a.kind < b.kind ? -1 : a.kind > b.kind ? 1 : a.number - b.number));
    compared.slice(1).forEach((one, i) => { if (one.kind === compared[i].kind) follows.push([compared[i].r, one.r, klass]); });
  }
  return follows;
}

function columnSets({ names, depth, places: { mostColumns: k, apart } }) {
  const m = names.length, few = (some, most) => expect(some.length <= most, "it has too many sets of columns");
  let sets = [[...names.keys()]];
  const unique = () => { sets = [...new Map(sets.map((set) => [set.join(), set])).values()]; few(sets, MOST_SETS); };
  if (k !== null && k < Math.min(m, 2 ** depth - 1)) {
    sets = [[]];
    for (let c = 0; c < m; c++) {
      sets = sets.concat(sets.filter((set) => set.length < k).map((set) => [...set, c]));
      few(sets, 20 * MOST_SETS);
    }
    sets = sets.filter((set) => set.length === k);
    unique();
  }
  for (const own of apart) {
    sets = sets.flatMap((set) => {
      const both = set.filter((c) => own.has(names[c]));
      return both.length > 1 ? both.map((kept) => set.filter((c) => c === kept || !own.has(names[c]))) : [set];
    });
    unique();
  }
  const largest = (set) => !sets.some((other) => other.length > set.length && set.every((c) => other.includes(c)));
  return apart.length && sets.length <= 1000 ? sets.filter(largest) : sets;
}

// ---- bounds by multipliers ----

// The problem at multipliers: what each row costs with each label, and the least costs of subtrees.
function weigh({ K, sums, cost, reach, held, every, price, depth, chains, may }, D, multipliers) {
  expect(multipliers.length === sums.length, "its multipliers are not one number for each sum");
  const sumOf = (of) => total(multipliers.map((m, s) => m * of(sums[s], s))), labels = [...Array(K).keys()];
  const row = every.map((r) => labels.map((k) => D * cost[r][k] + sumOf(({ use }) => use[r][k])));
  const beside = labels.map((k) => sumOf(({ leaf }) => leaf[k])), node = D * price + sumOf((sum) => sum.node);
  expect(Math.min(node, ...beside) >= 0, "its branch nodes or leaves weigh less than nothing");
  const sizes = (of) => sumOf((sum, s) => Math.abs(of(sum, s))), ends = Math.max(...labels.map((k) => sizes(({ leaf }) => leaf[k])));
  const most = D * reach.cost + sizes((_, s) => reach.sums[s]) + (D * price + sizes((sum) => sum.node) + ends) * 2 ** depth + sizes(({ bound }) => bound);
  expect(most < EXACT && multipliers.every((m) => m < EXACT), "its multipliers are too large to be added exactly");
  const values = row.map((line, r) => [...line, ...held.map(({ measure }) => measure[r])]);
  const budget = sumOf(({ bound }) => bound), least = held.map((one) => one.least);
  const trees = subtreesOf({ chains, values, beside, node, least, may });
  return { row, beside, node, trees, limit: (claim) => D * (claim - 1) + budget };
}

// Whether two leaves below a split cost less than the claim, and satisfy sums and conditions.
function twoLeaves({ K, every, sides, cost, sums, held, price }, f, claim) {
  const [left, right] = sides(every, f).map((rows) => [...Array(K).keys()].map((k) => ({
    cost: rows.reduce((sum, r) => sum + cost[r][k], 0),
    uses: sums.map(({ use, leaf }) => rows.reduce((sum, r) => sum + use[r][k], leaf[k])),
    may: held.every(({ measure, least }) => rows.reduce((sum, r) => sum + measure[r], 0) >= least[k]),
  })));
  const fits = (a, b) => a.may && b.may && a.cost + b.cost + price < claim
    && sums.every(({ bound, node }, s) => a.uses[s] + b.uses[s] + node <= bound);
  return left.some((a) => right.some((b) => fits(a, b)));
}

// alive[split][set] of the cases that no pass excludes.
function survivors(problem, D, passes, claim, sets, settled, few) {
  const { depth, every, chains, column } = problem, may = problem.may([]);
  const alive = column.map((c) => sets.map((set, s) => !settled[s] && may[c] && set.includes(c)));
  const sizes = sets.map((set) => column.filter((c) => set.includes(c)).length);
  for (const multipliers of passes) {
    const { row, beside, node, trees, limit } = weigh(problem, D, multipliers);
    if (depth === 1 && problem.T >= WIDE) continue;
    if (depth <= 3) {
      trees.exclude(every, depth, alive, sets, limit(claim));
      continue;
    }
    sets.forEach((set, s) => {
      // Rows that answer all splits of a set alike are in one leaf, so that no tree of any depth over it weighs less
      // than their best labels do.
      const leaves = new Map(), own = chains.filter((chain) => set.includes(chain.column));
      for (const r of every) {
        const key = own.map(({ code }) => code[r]).join(), known = leaves.get(key);
        leaves.set(key, known ? known.map((value, k) => value + row[r][k]) : row[r]);
      }
      const least = total([...leaves.values()].map((labels) => Math.min(...labels)));
      const hopeless = node >= 0 && beside.every((value) => value >= 0) && least > limit(claim);
      if (hopeless) alive.forEach((line) => { line[s] = false; });
      else if (few || (depth === 4 && sizes[s] <= MOST_APART)) {
        const mine = alive.map((line) => [line[s]]);
        trees.exclude(every, depth, mine, [set], limit(claim));
        mine.forEach(([open], f) => { alive[f][s] = open; });
      }
    });
  }
  if (depth === 1 && problem.T >= WIDE) alive.forEach((line, f) => { if (!twoLeaves(problem, f, claim)) line.fill(false); });
  return alive;
}

// ---- lists ----

// Whether some tree over the columns, with this root, satisfies everything and costs less than the claim.
function holdsOne(problem, D, root, set, multipliers, claim) {
  const { K, names, column, cost, sums, held, places, price, depth } = problem, path = [column[root]];
  const { beside, node, trees, limit } = weigh(problem, D, multipliers);
  const counts = places.mostSplits !== null && places.mostSplits < 2 ** depth - 1;
  const maskOf = (own) => names.reduce((mask, name, c) => mask | (own.has(name) ? 1n << BigInt(c) : 0n), 0n);
  const together = places.together.map(maskOf);
  const absent = places.together.map((own) => [...own].some((name) => !names.includes(name)));
  const number = (mask) => { let n = 0; for (; mask; mask &= mask - 1n) n++; return n; };
  if (!problem.may([])[column[root]]) return false;
  let listed = 0;
  const first = problem.every.map(() => []), second = problem.every.map(() => []);
  problem.follows.forEach(([low, high, klass], p) => {
    first[low].push([1n << BigInt(p), klass]);
    second[high].push([1n << BigInt(p), klass]);
  });
  const leaves = (rows, most) => {
    const weights = trees.sumsOf(rows), found = [];
    for (let k = 0; k < K; k++) {
      const w = weights[k] + beside[k];
      if (w > most || held.some(({ least }, h) => weights[K + h] < least[k])) continue;
      let [low, high] = [0n, 0n];
      for (const r of rows) {
        for (const [bit, klass] of first[r]) if (klass === k) low |= bit;
        for (const [bit, klass] of second[r]) if (klass !== k) high |= bit;
      }
      const uses = sums.map(({ use, leaf }) => rows.reduce((sum, r) => sum + use[r][k], leaf[k]));
      const v = [rows.reduce((sum, r) => sum + cost[r][k], 0), ...uses];
      found.push({ w, v, asked: 0n, columns: 0n, label: together.length ? k : -1, low, high, tree: problem.rises ? k : null });
    }
    return found;
  };
  // A split above two subtrees; null if no tree may hold it.
  const join = (f, a, b) => {
    if (a.label >= 0 && a.label === b.label) return null;
    const low = a.low | b.low, high = a.high | b.high, asked = counts ? a.asked | b.asked | (1n << BigInt(f)) : 0n;
    if (low & high || (counts && number(asked) > places.mostSplits)) return null;
    const columns = together.length ? a.columns | b.columns | (1n << BigInt(column[f])) : 0n;
    const v = a.v.map((x, i) => x + b.v[i] + (i ? sums[i - 1].node : price));
    return { w: a.w + b.w + node, v, asked, columns, label: -1, low, high, tree: problem.rises ? [f, a.tree, b.tree] : null };
  };
  const cheapest = (some) => {
    const kept = new Map();
    for (const one of some) {
      const key = [one.v.slice(1).join(), one.asked, one.columns, one.label, one.low, one.high, JSON.stringify(one.tree)].join("/");
      if (!kept.has(key) || one.v[0] < kept.get(key).v[0]) kept.set(key, one);
    }
    return [...kept.values()].sort((a, b) => a.w - b.w);
  };
  // Calls visit(one, two) for the subtrees of both sides of a split that weigh no more than `room` together, if the
  // least of either side is `left` and `right`.
  const pairs = (parts, height, path, room, [left, right], visit) => {
    if (!(left + right <= room)) return;
    const [ones, twos] = [list(parts[0], height, path, room - right), list(parts[1], height, path, room - left)];
    for (const one of ones) for (const two of twos) {
      if (one.w + two.w > room) break;
      expect(++listed < MOST_LISTED, "the lists of subtrees of a case are too long for this checker");
      visit(one, two);
    }
  };
  const list = (rows, height, path, most) => {
    const found = leaves(rows, most);
    if (height) trees.roots(rows, height, path, [set], (chain, from, to, left, right) => {
      const parts = problem.sides(rows, chain.splits[from]), splits = chain.splits.slice(from, to);
      pairs(parts, height - 1, [...path, chain.column], most - node, [left[0], right[0]], (one, two) => {
        found.push(...splits.map((f) => join(f, one, two)).filter(Boolean));
      });
    });
    return cheapest(found);
  };
  const parts = problem.sides(problem.every, root), floors = parts.map((part) => trees.subtrees(part, depth - 1, path, [set])[0]);
  const fits = ({ v, columns, tree }) => v[0] < claim && sums.every(({ bound }, s) => v[1 + s] <= bound)
    && together.every((mask, t) => !(columns & mask) || ((columns & mask) === mask && !absent[t]))
    && (!problem.rises || problem.rises(tree));
  let found = false;
  pairs(parts, depth - 1, path, limit(claim) - node, floors, (one, two) => {
    const both = join(root, one, two);
    found = found || (both !== null && fits(both));
  });
  return found;
}

// ---- the tree ----

function treeCost(facts, data, problem, told, loss) {
  const uses = told.sums.map(() => 0), splits = new Map(), predicted = problem.members.map(() => new Set());
  const { span, neverBelow, together, apart, mostColumns, mostSplits } = told.places;
  const leaf = (k, rows) => {
    told.sums.forEach(({ line, leaf }, s) => { uses[s] += rows.reduce((sum, i) => sum + line[i][k], leaf[k]); });
    const enough = told.held.every(({ measure, least }) => rows.reduce((sum, i) => sum + measure[i], 0) >= least[k]);
    expect(enough, "a leaf of the tree does not satisfy its constraints on leaves");
    rows.forEach((i) => predicted[problem.rowOf[i]].add(k));
  };
  const branch = ({ split: { feature: name }, left, right }, above, goes) => {
    const [from, to] = span.get(name) || [0, Infinity], barred = neverBelow.some(([low, high]) => low === name && above.includes(high));
    expect(from <= above.length && above.length <= to && !barred, `the tree splits on ${name} at a place that its constraints bar`);
    told.sums.forEach((sum, s) => { uses[s] += sum.node; });
    splits.set(`${name} ${goes.map(Number).join("")}`, name);
    const alike = "label" in left && left.label === right.label;
    expect(!together.length || !alike, "a node of the tree has two leaves of one class");
  };
  const paid = labelCost(facts, data, loss, problem.price, leaf, branch);
  const columns = new Set(splits.values()), shared = (names) => [...names].filter((name) => columns.has(name)).length;
  const satisfied = uses.every((use, s) => use <= told.sums[s].bound)
    && (mostColumns === null || columns.size <= mostColumns) && (mostSplits === null || splits.size <= mostSplits)
    && apart.every((names) => shared(names) < 2) && together.every((names) => [0, names.size].includes(shared(names)))
    && problem.follows.every(([low, high, k]) => !predicted[low].has(k) || [...predicted[high]].every((c) => c === k));
  expect(satisfied, "the tree does not satisfy its constraints");
  if (problem.rises) {
    const own = [];
    const shape = ({ split, left, right, label }) => (split ? [own.push(split) - 1, shape(left), shape(right)] : data.classes.indexOf(label));
    const tree = shape(facts.tree.root);
    expect(rising(told.everywhere, own, data)(tree), "the tree does not rise on all inputs as its constraints require");
  }
  return paid;
}

// ---- the check ----

// Refuses a certificate of more than this checker can count; `few` states whether all trees can be counted at once.
function sizesOf(depth, T) {
  const few = 2 ** (depth - 1) * T ** depth <= MOST_SUMS;
  return { few, possible: T >= 1 && depth >= 1 && ((few && depth <= 4) || (depth <= 8 && T <= MOST_SPLITS)) };
}

function checkCases(facts, problem, sets, walked, claim, D, few) {
  const place = new Map(sets.map((set, s) => [set.join(), s])), settled = sets.map(() => false), cases = [];
  const none = (found, columns) => {
    const less = "satisfies the constraints and costs less, or its multipliers do not show the contrary";
    expect(!found, `a tree over ${columns.join(", ")} ${less}`);
  };
  for (const { root, columns, multipliers } of facts.cases) {
    const set = columns.map((name) => problem.names.indexOf(name)).sort((a, b) => a - b), s = place.get(set.join());
    expect(s !== undefined && (root === undefined || whole(root, "a root") < problem.T), "it lists a case that is none");
    if (root !== undefined) {
      cases.push({ root, columns, multipliers, set, s });
      continue;
    }
    const other = "which are not trees over nested splits of one column";
    expect(walked[s], `it lists all trees over ${columns.join(", ")} as one case, ${other}`);
    if (settled[s]) continue;
    none(oneColumn.holdsOne(problem, walked[s], D, multipliers, weigh(problem, D, multipliers).limit(claim), claim), columns);
    settled[s] = true;
  }
  const alive = survivors(problem, D, facts.passes, claim, sets, settled, few);
  for (const { root, columns, multipliers, set, s } of cases) {
    if (!alive[root][s]) continue;
    if (!few && problem.depth > 3 && walked[s]) continue; // the lists are far too long
    none(holdsOne(problem, D, root, set, multipliers, claim), columns);
    alive[root][s] = false;
  }
  expect(!alive.some((line) => line.includes(true)), "some cases are neither excluded by multipliers nor listed");
}

function checkConstrained(facts, data, weight, table) {
  const { penalty: price, scale } = facts, D = whole(facts.multiplier_scale, "the scale of multipliers");
  const columns = rankColumns(facts.columns, data), features = featuresOf(facts.columns);
  expect(D >= 1 && Math.max(D, scale, price) < EXACT, "the certificate is damaged: its scales or its penalty are not valid");
  const multipliers = (all) => Array.isArray(all) && all.every((m) => whole(m, "a multiplier") >= 0);
  expect(Array.isArray(facts.passes) && facts.passes.every(multipliers), "its passes are not lists of multipliers");
  const isCase = (one) => Array.isArray(one.columns) && multipliers(one.multipliers);
  expect(Array.isArray(facts.cases) && facts.cases.every(isCase), "its cases are not columns with multipliers");
  const infeasible = facts.claim === null, whether = [facts.tree === null, facts.bound === null];
  expect(whether.every((one) => one === infeasible), "it has only some of a tree, a claim and a bound");
  const told = stated(facts.constraints, data, weight, table, scale - price), depth = heightOf(facts.depth, told);
  const { span, neverBelow, apart: separate, together, mostColumns } = told.places;
  const ofColumns = span.size + neverBelow.length + separate.length + together.length > 0 || mostColumns !== null;
  const cuts = cutsOf(columns, features, ofColumns, told.everywhere.length > 0), { few, possible } = sizesOf(depth, cuts.length);
  const tooLarge = "it is of more splits, or deeper, than a certificate under constraints can be";
  expect(possible, tooLarge);
  // That no tree satisfies the constraints is shown as "none costs less than 1" where every tree costs 0.
  const loss = infeasible ? table.map((line) => line.map(() => 0)) : table;
  const paying = infeasible ? 1 : whole(facts.claim, "the claim"), claim = infeasible ? 1 : whole(facts.bound, "the bound");
  expect(paying < EXACT && claim <= paying, "the certificate is damaged: its claim or its bound is not valid");
  const problem = pose(facts, data, cuts, columns, features, loss, told, infeasible ? 0 : price);
  const sets = mostColumns === 0 ? [] : columnSets(problem), walked = oneColumn.nestedSets(problem, sets);
  if (depth > 4 || (!few && depth > 3)) {
    // Sets of columns by themselves, if nothing is said of splits.
    const apart = sets.filter((_, s) => !walked[s]).map((set) => problem.column.filter((c) => set.includes(c)).length);
    const counted = !span.size && !neverBelow.length && depth === 4 && apart.every((size) => size <= MOST_APART)
      && total(apart.map((size) => 8 * size ** 4)) <= MOST_SUMS;
    expect(sets.length && (!apart.length || counted), tooLarge);
  }
  const paid = infeasible ? paying : treeCost(facts, data, problem, told, loss);
  expect(paid === paying, `the tree costs ${paid / scale} on the data, it claims ${paying / scale}`);
  data.classes.forEach((name, k) => {
    const used = told.sums.every(({ line, leaf, bound }) => line.reduce((sum, row) => sum + row[k], leaf[k]) <= bound);
    const enough = told.held.every(({ measure, least }) => total(measure) >= least[k]);
    const cheaper = total(loss.map((row) => row[k])) < claim;
    expect(!(used && enough && cheaper), `a leaf of the class ${name} alone satisfies all, and costs less`);
  });
  if (mostColumns !== 0) checkCases(facts, problem, sets, walked, claim, D, few);
  const { splits, absent } = countSplits(data, columns, ofColumns || told.orders.length + told.everywhere.length > 0 ? features : null);
  expectTerms(facts, data, columns.candidates, absent === 0, facts.constraints);
  const objective = infeasible ? Infinity : paid / scale, bound = infeasible ? Infinity : claim / scale;
  return { objective, bound, candidates: columns.candidates, splits, absent, infeasible };
}

module.exports = { checkConstrained };
