#!/usr/bin/env node
// Checks a certificate of odtc against its data, with nothing of odtc: node check.js PROOF.certificate.json [DATA.csv]
//
// It reads the data by itself, counts what the tree costs, and holds every target against what one label, or one test
// and the bounds of its two sides, leave. All sums are of whole numbers below 2^53, which doubles add exactly.
// Exit code 0 and "proved", or 1 and the first thing that is not so.
"use strict";
const fs = require("fs");
const path = require("path");
const zlib = require("zlib");

class Refused extends Error {}
const refuse = (text) => { throw new Refused(text); };
const expect = (holds, text) => holds || refuse(text);
const EXACT = 2 ** 53;
const MISSING = new Set(["", "?", "NA", "N/A", "NaN", "nan", "null", "NULL"]);
const NUMBER = /^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$/;
const PADDED = /^[+-]?0[0-9]/; // a code such as 00123, which is not the number 123

// ---- the data ----

function records(text, sign) {
  // Rows of cells; a quoted cell may hold signs, doubled quotes and line ends.
  const rows = [];
  let row = [], cell = "", quoted = false, begun = false, any = false;
  const endCell = () => { row.push(cell); cell = ""; begun = false; };
  const endRow = () => { if (any) { endCell(); rows.push(row); } row = []; any = false; };
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (quoted) {
      if (c !== '"') cell += c;
      else if (text[i + 1] === '"') { cell += '"'; i++; }
      else quoted = false;
    } else if (c === '"' && !begun) { quoted = begun = any = true; }
    else if (c === sign) { endCell(); any = true; }
    else if (c === "\n" || c === "\r") { if (c === "\r" && text[i + 1] === "\n") i++; endRow(); }
    else { cell += c; begun = any = true; }
  }
  expect(!quoted, "a quoted cell of the data does not close");
  endRow();
  return rows;
}

function readTable(file) {
  let bytes = fs.readFileSync(file);
  if (/\.gz$/i.test(file)) bytes = zlib.gunzipSync(bytes, { maxOutputLength: 2 ** 30 });
  const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes).replace(/^[\r\n]+/, "");
  const header = text.replace(/"[^"]*"/g, "").split(/[\r\n]/, 1)[0];
  const sign = /\.(tsv|tab)(\.gz)?$/i.test(file) ? "\t" : [",", ";", "\t"].find((s) => header.includes(s)) || ",";
  const [first, ...rows] = records(text, sign);
  const names = first.map((name) => name.trim());
  expect(new Set(names).size === names.length && names.every(Boolean), "the data has blank or repeated columns");
  rows.forEach((row, i) => expect(row.length === names.length, `row ${i + 1} of the data has ${row.length} cells`));
  const cells = rows.map((row) => row.map((cell) => (MISSING.has(cell.trim()) ? null : cell.trim())));
  return { names, cells };
}

const isNumber = (word) => NUMBER.test(word) && Number.isFinite(Number(word));
const byCodePoint = (a, b) => {
  const [x, y] = [Array.from(a), Array.from(b)];
  for (let i = 0; i < Math.min(x.length, y.length); i++) if (x[i] !== y[i]) return x[i].codePointAt(0) - y[i].codePointAt(0);
  return x.length - y.length;
};

// A level is known by a key: the number where all levels are numbers as such, else the word.
function levels(words) {
  const distinct = [...new Set(words)];
  const numeric = distinct.every(isNumber);
  const merged = numeric && !distinct.some((w) => PADDED.test(w)) && Math.max(0, ...distinct.map((w) => Math.abs(Number(w)))) < EXACT;
  const key = (word) => (merged ? String(isNumber(String(word)) ? Number(word) + 0 : NaN) : String(word));
  const sorted = numeric ? distinct.sort((a, b) => Number(a) - Number(b) || byCodePoint(a, b)) : distinct.sort(byCodePoint);
  return { key, keys: [...new Set(sorted.map(key))] };
}

function readData(file, source) {
  const { names, cells } = readTable(file);
  const at = (name) => { const i = names.indexOf(name); expect(i >= 0, `the data has no column ${name}`); return i; };
  const target = at(source.target), weights = source.weights == null ? -1 : at(source.weights);
  const aside = new Set((source.aside || []).map(at));
  const used = names.map((_, j) => j).filter((j) => j !== target && j !== weights);
  const bare = (row) => row[target] === null || (weights >= 0 && row[weights] === null);
  const gap = (row) => used.some((j) => row[j] === null);
  const separate = source.missing === "separate";
  const kept = cells.filter((row) => !bare(row) && (separate || !gap(row)));
  expect(source.missing !== "error" || kept.length === cells.length, "the data has missing cells, and the policy is error");
  // The type of a column is told by all rows, its levels by those that are kept.
  const features = used.filter((j) => !aside.has(j)).map((j) => {
    const all = cells.map((row) => row[j]).filter((cell) => cell !== null);
    const words = kept.map((row) => row[j]);
    let numeric = !(source.categorical || []).includes(names[j]);
    const told = (source.numeric || []).includes(names[j]);
    const flag = !told && numeric && all.length > 0 && all.every((cell) => /^(true|false)$/i.test(cell));
    numeric = numeric && !flag && (told || all.every((cell) => NUMBER.test(cell)));
    if (numeric) {
      const values = words.map((cell) => (cell === null ? NaN : Number(cell) + 0));
      expect(values.every((v, i) => words[i] === null || Number.isFinite(v)), `the column ${names[j]} holds no numbers`);
      return { name: names[j], numeric, cells: values };
    }
    const low = flag ? words.map((w) => w && w.toLowerCase()) : words;
    const { key, keys } = levels(flag ? ["false", "true"] : low.filter((w) => w !== null));
    return { name: names[j], numeric, key, keys, cells: low.map((w) => (w === null ? NaN : keys.indexOf(key(w)))) };
  });
  const label = levels(kept.map((row) => row[target]));
  return {
    features,
    classes: label.keys,
    classKey: label.key,
    y: kept.map((row) => label.keys.indexOf(label.key(row[target]))),
    weight: kept.map((row) => (weights < 0 ? 1 : Number(row[weights]))),
    columns: features.map((f) => f.name),
    aside: used.filter((j) => aside.has(j)).map((j) => names[j]),
    nUnlabelled: cells.filter(bare).length,
    nDropped: cells.length - kept.length,
    missing: source.missing,
    n: kept.length,
  };
}

// ---- tests ----

function leftOf(test, data) {
  // For each row whether it goes left; a missing cell does so only where that is asked.
  const feature = data.features.find((f) => f.name === test.feature);
  expect(feature, `the certificate tests the column ${test.feature}, which is no column of the data`);
  if (test.kind === "missing") return feature.cells.map((v) => Number.isNaN(v));
  if (test.kind === "threshold") {
    expect(Number.isFinite(test.threshold), "a threshold is no finite number");
    return feature.cells.map((v) => v <= test.threshold);
  }
  expect(test.kind === "subset" && Array.isArray(test.values), "a test is of no known kind");
  const wanted = new Set(test.values.map((v) => (feature.numeric ? Number(v) : feature.keys.indexOf(feature.key(v)))));
  return feature.cells.map((v) => !Number.isNaN(v) && v >= (feature.numeric ? -Infinity : 0) && wanted.has(v));
}

const bits = (side) => side.map((left) => (left ? "1" : "0")).join("");
const other = (word) => word.replace(/[01]/g, (c) => (c === "0" ? "1" : "0"));
const same = (word) => (word < other(word) ? word : other(word)); // a split and its complement separate alike

function allSplits(data) {
  const found = new Set();
  for (const feature of data.features) {
    const known = [...new Set(feature.cells.filter((v) => !Number.isNaN(v)))];
    for (const value of known) found.add(same(bits(feature.cells.map((v) => (feature.numeric ? v <= value : v === value)))));
    if (data.missing === "separate") found.add(same(bits(feature.cells.map((v) => Number.isNaN(v)))));
  }
  found.delete(same("0".repeat(data.n)));
  return found;
}

// ---- the check ----

const whole = (value, what) => { expect(Number.isSafeInteger(value) && value >= 0, `${what} is no whole number`); return value; };

function check(facts, data) {
  expect(facts.schema === "odtc.certificate/1", "it is no certificate of schema odtc.certificate/1");
  const K = data.classes.length, depth = whole(facts.depth, "the depth"), price = whole(facts.price, "the price");
  const scale = whole(facts.scale, "the scale"), W = whole(facts.weight_scale, "the scale of weights"), claim = whole(facts.claim, "the claim");
  expect(depth >= 1 && depth <= 20 && scale >= 1 && W >= 1 && scale % W === 0 && price < scale, "its scales cannot be");
  expect(facts.classes.length === K && facts.classes.every((name, k) => data.classKey(name) === data.classes[k]), "its classes, or their order, are not those of the data");
  expect(facts.loss.length === K && facts.loss.every((line, k) => line.length === K && line.every((v, c) => whole(v, "a loss") >= 0 && (k !== c || v === 0))), "its losses are no square table with zeros where the label is right");
  expect(K === 1 || facts.loss.some((line) => line.some((v) => v > 0)), "its losses are all 0");
  const weight = data.weight.map((w) => {
    const value = w * W, near = Math.round(value);
    expect(w >= 0 && Math.abs(value - near) <= 1e-6 && (near > 0 || w === 0), "the weights of the data are no whole numbers at its scale");
    return near;
  });
  const loss = data.y.map((k, i) => facts.loss[k].map((v) => weight[i] * v));
  expect(loss.reduce((sum, line) => sum + line.reduce((a, b) => a + b, 0), 0) < EXACT, "its numbers are too large to be added exactly");
  const left = facts.tests.map((test) => leftOf(test, data));
  facts.tests.forEach((test, f) => {
    for (const twin of [...(test.same || []), ...(test.complement || [])])
      expect(same(bits(leftOf(twin, data))) === same(bits(left[f])), "a test that is left out as a twin of another separates the rows otherwise");
  });
  const splits = allSplits(data);
  const asked = new Set(left.map((side) => same(bits(side))));
  const absent = [...splits].filter((split) => !asked.has(split)).length;
  if (facts.of) {
    const found = {
      target: facts.data.target, classes: facts.classes, columns: data.columns, aside: data.aside,
      weights: facts.data.weights == null ? null : facts.data.weights, missing: data.missing, n_rows: data.n,
      n_dropped_missing: data.nDropped - data.nUnlabelled, n_dropped_unlabelled: data.nUnlabelled,
      rows_of_class: data.classes.map((_, k) => data.y.filter((c) => c === k).length),
      depth, n_tests: left.length, all_tests: absent === 0, constraints: [],
    };
    for (const key of Object.keys(found))
      expect(JSON.stringify(facts.of[key]) === JSON.stringify(found[key]), `it states ${key} as ${JSON.stringify(facts.of[key])}, but of this data it is ${JSON.stringify(found[key])}`);
  }
  const cost = (node, rows, levelsLeft) => {
    if ("label" in node) {
      const k = data.classes.indexOf(data.classKey(node.label));
      expect(k >= 0, "the tree predicts no class of the data");
      return rows.reduce((sum, i) => sum + loss[i][k], 0);
    }
    expect(levelsLeft > 0, `the tree is deeper than ${depth}`);
    const goes = leftOf(node.split, data);
    return price + cost(node.left, rows.filter((i) => goes[i]), levelsLeft - 1) + cost(node.right, rows.filter((i) => !goes[i]), levelsLeft - 1);
  };
  const paid = cost(facts.tree.root, data.y.map((_, i) => i), depth);
  expect(paid === claim, `the tree costs ${paid / scale} on the data, it claims ${claim / scale}`);
  const least = bound(facts, left, loss, price, depth);
  expect(least === claim, `its targets bound all trees by ${least / scale}, it claims ${claim / scale}`);
  return { objective: claim / scale, tests: left.length, splits: splits.size, absent };
}

function bound(facts, left, loss, price, depth) {
  // Rows that answer all tests alike are one row; what even their best label costs is counted apart, as no tree avoids it.
  const K = loss[0].length, group = new Map(), rows = [];
  loss.forEach((line, i) => {
    const key = left.map((side) => (side[i] ? "1" : "0")).join("");
    if (!group.has(key)) { group.set(key, rows.length); rows.push({ left: left.map((side) => side[i]), loss: new Array(K).fill(0) }); }
    const row = rows[group.get(key)];
    line.forEach((v, k) => { row.loss[k] += v; });
  });
  for (const row of rows) { row.floor = Math.min(...row.loss); row.extra = row.loss.map((v) => v - row.floor); row.most = Math.max(...row.extra); }
  const F = left.length, chains = new Map();
  facts.tests.forEach((test, f) => { if (test.kind === "threshold") chains.set(test.feature, [...(chains.get(test.feature) || []), f]); });
  for (const chain of chains.values()) chain.sort((a, b) => facts.tests[a].threshold - facts.tests[b].threshold);
  const sum = (some, k) => some.reduce((total, i) => total + rows[i].extra[k], 0);
  const oneLabel = (some) => { let best = Infinity; for (let k = 0; k < K; k++) best = Math.min(best, sum(some, k)); return best; };
  const keyOf = (some) => some.join(",");
  const stump = (some) => {
    // The least cost of one label, or of one test and two labels.
    let best = oneLabel(some);
    for (let f = 0; f < F; f++) {
      const total = new Array(K).fill(0), here = new Array(K).fill(0);
      for (const i of some) for (let k = 0; k < K; k++) { total[k] += rows[i].extra[k]; if (rows[i].left[f]) here[k] += rows[i].extra[k]; }
      best = Math.min(best, price + Math.min(...here) + Math.min(...total.map((v, k) => v - here[k])));
    }
    return best;
  };
  expect(facts.targets.length <= Math.max(1, depth - 1), "it has targets below the last level but one");
  let below = new Map();
  for (let j = facts.targets.length - 1; j >= 0; j--) {
    const here = new Map();
    for (const entry of facts.targets[j].split(";")) {
      if (!entry) continue;
      expect(/^[0-9]{1,16}(,[0-9]{1,9})*$/.test(entry), "a target is not written as numbers between commas");
      const [target, ...literals] = entry.split(",").map(Number);
      expect(target < EXACT, "a target is too large");
      expect(literals.length === j && new Set(literals.map((l) => l >> 1)).size === j && literals.every((l) => l < 2 * F), `a state of level ${j} has other than ${j} literals of different tests`);
      const some = rows.map((_, i) => i).filter((i) => literals.every((l) => rows[i].left[l >> 1] === Boolean(l & 1)));
      expect(some.length > 0, "a state holds no rows");
      const floor = some.reduce((total, i) => total + rows[i].floor, 0), height = depth - j;
      expect(oneLabel(some) + floor >= target, `a cost of at least ${target} is claimed, but one label costs less`);
      const sides = [0, 1].map((side) => left.map((_, f) => some.filter((i) => rows[i].left[f] === (side === 0))));
      const separates = left.map((_, f) => sides[0][f].length > 0 && sides[1][f].length > 0);
      const worth = sides.map((part) => part.map((rest, f) => {
        if (!separates[f]) return 0;
        if (height === 1) return oneLabel(rest);
        if (height === 2) return stump(rest);
        return below.get(keyOf(rest)) || 0;
      }));
      // The left side of a lower threshold is part of that of a higher one, which costs at least as much, and at most
      // what the rows between can cost more; the right side the other way round.
      const gone = left.map((_, f) => sides[0][f].reduce((total, i) => total + rows[i].most, 0));
      const carried = worth.map((part) => part.slice());
      for (const chain of chains.values()) for (let a = 0; a < chain.length; a++) for (let b = 0; b < chain.length; b++) {
        const [f, g] = [chain[a], chain[b]], between = Math.abs(gone[f] - gone[g]);
        carried[0][f] = Math.max(carried[0][f], b <= a ? worth[0][g] : worth[0][g] - between);
        carried[1][f] = Math.max(carried[1][f], b >= a ? worth[1][g] : worth[1][g] - between);
      }
      for (let f = 0; f < F; f++) if (separates[f])
        expect(carried[0][f] + carried[1][f] + price + floor >= target, `a cost of at least ${target} is claimed, but the sides of test ${f} are bounded by less`);
      here.set(keyOf(some), Math.max(here.get(keyOf(some)) || 0, target - floor));
    }
    below = here;
  }
  return rows.reduce((total, row) => total + row.floor, 0) + (below.get(keyOf(rows.map((_, i) => i))) || 0);
}

function main([file, given]) {
  if (!file) { console.error("usage: node check.js PROOF.certificate.json [DATA.csv]"); return 2; }
  try {
    const facts = JSON.parse(fs.readFileSync(file, "utf8"));
    const data = readData(given || path.resolve(path.dirname(file), facts.data.path), facts.data);
    const proof = check(facts, data);
    console.log(`proved: no tree of depth ${facts.depth} over ${proof.tests} tests costs less than ${proof.objective} on ${data.n} rows; ` +
      (proof.absent ? `${proof.absent} of ${proof.splits} ways to separate the rows by one test are not among these` : `these are all ${proof.splits} ways to separate the rows by one test`));
    return 0;
  } catch (problem) {
    console.error(`refused: ${problem instanceof Refused ? problem.message : `${problem.name}: ${problem.message}`}`);
    return 1;
  }
}

if (require.main === module) process.exitCode = main(process.argv.slice(2));
module.exports = { check, readData };
