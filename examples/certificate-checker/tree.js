// What a certificate states of its data and its tree, held against the data; the same for all kinds.
"use strict";
const { expect, alike, largest } = require("./values.js");
const { leftOf } = require("./columns.js");

// The options that say how the target of a task is read.
const ASKED = ["actions", "treatment", "outcome", "propensity", "scores", "goal", "time", "event", "ridge"];

// Options of tables by which odtc read the file, and which this checker does not know.
const UNKNOWN = ["header", "separator", "comment", "skip_lines", "on_bad_line", "text_encoding", "sheet", "dates", "only_missing"];
// What a tree may state of a column.
const OF_COLUMN = ["name", "kind", "levels", "ordered", "missing_marks", "has_missing", "layout", "decimal"];

// The terms whose names in the file are not words.
const NAMES = {
  columns: "the columns that splits may use", auxiliary: "the auxiliary columns", weights: "the column of weights", missing: "the policy for missing cells",
  n_rows: "the number of rows", n_dropped_missing: "the number of rows left out for a missing cell",
  n_dropped_unlabelled: "the number of rows left out without a label or a weight", rows_of_class: "the rows of each class",
  n_candidate_splits: "the number of splits", all_splits: "whether its splits are all", hold_out: "the share of the rows that is set aside",
  n_set_aside: "the number of rows that are set aside",
};
const show = (value) => (value === null ? "nothing" : JSON.stringify(value));

function expectTerms(facts, data, nCandidateSplits, allSplits, constraints) {
  const found = {
    target: data.target, classes: facts.classes, columns: data.columns, auxiliary: data.auxiliary,
    weights: facts.data.weights == null ? null : facts.data.weights, missing: data.missing, n_rows: data.fileRows,
    n_dropped_missing: data.nDropped - data.nUnlabelled, n_dropped_unlabelled: data.nUnlabelled,
    rows_of_class: data.classes.map((_, k) => data.y.filter((c) => c === k).length),
    depth: facts.depth, n_candidate_splits: nCandidateSplits, all_splits: allSplits, constraints,
  };
  const told = (key) => facts.data[key] && facts.data[key].length !== 0;
  const state = (key, holds, value) => { if (holds) found[key] = value; };
  for (const key of ["categorical", "numeric", "ignore", "ordered", "missing_mark", "decimal"]) state(key, told(key), facts.data[key]);
  for (const key of UNKNOWN) state(key, key in facts.data, facts.data[key]);
  state("n_skipped_lines", "on_bad_line" in facts.data, facts.of.n_skipped_lines);
  state("hold_out", facts.data.hold_out, facts.data.hold_out);
  state("n_set_aside", facts.data.hold_out, data.nSetAside);
  if (data.task !== "classification") {
    found.task = data.task;
    found.requested = Object.fromEntries(ASKED.filter(told).map((key) => [key, facts.data[key]]));
  }
  const rows = "n_rows" in facts.data ? facts.data.n_rows : found.n_rows;
  expect(rows === found.n_rows, `the certificate covers ${show(rows)} rows, but the data file has ${found.n_rows}`);
  for (const key of Object.keys({ ...found, ...facts.of })) {
    const [told, value] = [facts.of[key], found[key]].map((one) => one ?? null); // a key that is absent says null
    expect(alike(told, value), `it states ${NAMES[key] || key} as ${show(told)}, but of this data it is ${show(value)}`);
  }
}

// What the tree of a certificate says of the data beside splits and labels: whoever takes it out of there believes that.
function expectTree(facts, data) {
  const { tree } = facts, levelsOf = (f, told) => told && show(told.map(f.key)) === show(f.keys);
  const known = (told) => Object.keys(told).every((key) => OF_COLUMN.includes(key));
  const fits = (f, told) => told && known(told) && f.name === told.name && f.kind === told.kind && Boolean(f.ordered) === Boolean(told.ordered) && (f.numeric || levelsOf(f, told.levels));
  const found = { schema: "odtc.tree/1", task: data.task, target: data.target, classes: facts.classes, missing: data.missing };
  for (const key of Object.keys(found)) {
    const same = !(key in tree) || show(tree[key]) === show(found[key]);
    expect(same, `its tree states ${key} as ${show(tree[key])}, but of this data it is ${show(found[key])}`);
  }
  const told = tree.features || data.features.map(() => null);
  const listed = !("features" in tree) || (told.length === data.features.length && data.features.every((f, j) => fits(f, told[j])));
  expect(listed, "its tree states other columns than those of the data");
}

// What a leaf states of its rows; `lines` says whether a line is checked elsewhere.
function expectLeaf(node, data, rows, lines = false) {
  const sums = data.sums || [], total = (of) => rows.reduce((sum, i) => sum + of(i), 0);
  const byClass = (line) => data.classes.map((_, k) => total((i) => (data.y[i] === k ? line[i] : 0)));
  const found = { counts: byClass(data.weight), rows: byClass(data.copies), sums: (sums[0] || []).map((_, s) => total((i) => sums[i][s])) };
  expect(lines || !node.line, "a leaf of its tree predicts a line, which this proof does not cover");
  const isList = (value, of) => Array.isArray(value) && value.every((v) => (of ? isList(v) : typeof v === "number"));
  for (const key of ["counts", "rows", "sums", "curve"])
    expect(!(key in node) || isList(node[key], key === "curve"), `the ${key} of a leaf of its tree are no list of numbers`);
  if ((node.curve || []).length) found.curve = data.curve && rows.length ? data.curve(rows).flat() : [];
  const off = { counts: () => 1, rows: () => 1, sums: (v) => largest(sums, v), curve: () => 0 };
  for (const key of Object.keys(found).filter((key) => key in node)) {
    const told = node[key].flat(), near = (value, v) => Math.abs(told[v] - value) <= 1e-9 * (off[key](v) + Math.abs(value));
    const same = told.length === found[key].length && found[key].every(near);
    expect(same, `a leaf of its tree has the ${key} ${told}, on the data they are ${found[key]}`);
  }
}

// Calls leaf(node, rows) for each leaf of the tree, and branch(node, features above, which rows go left) for each split.
function walk(facts, data, leaf, branch = () => {}) {
  const below = (node, rows, above) => {
    if ("label" in node) return leaf(node, rows);
    expect(above.length < facts.depth, `the tree is deeper than ${facts.depth}`);
    const goes = leftOf(node.split, data), names = [...above, node.split.feature];
    branch(node, above, goes);
    below(node.left, rows.filter((i) => goes[i]), names);
    below(node.right, rows.filter((i) => !goes[i]), names);
  };
  expectTree(facts, data);
  below(facts.tree.root, data.y.map((_, i) => i), []);
}

// What a tree of labels costs, by the costs of rows with each label and the price of a branch node; leaf(k, rows) is
// called for each leaf of label k, and branch as by walk.
function labelCost(facts, data, loss, price, leaf, branch = () => {}) {
  let paid = 0;
  const ofLeaf = (node, rows) => {
    const k = data.classes.indexOf(data.classKey(node.label));
    expect(k >= 0, "the tree predicts no class of the data");
    expectLeaf(node, data, rows);
    leaf(k, rows);
    paid += rows.reduce((sum, i) => sum + loss[i][k], 0);
  };
  walk(facts, data, ofLeaf, (...node) => { branch(...node); paid += price; });
  return paid;
}

module.exports = { ASKED, UNKNOWN, expectTerms, expectTree, expectLeaf, walk, labelCost };
