// Constraints monotone_everywhere[COLUMN,positive=CLASS]: a class rises with a column on all inputs. The leaves of a tree
// divide the inputs into boxes: for each column a set of cells, which are intervals of numbers, levels, a level that the
// data does not have, or a missing cell. An input of a leaf that predicts the class may become one of another leaf exactly
// if some interval of the first is below one of the other, and if they have a cell of each other column in common.
"use strict";
const { expect } = require("./values.js");
const { leftOf } = require("./columns.js");

// The cuts of all columns of a certificate as splits.
function splitsOf(columns, data) {
  return columns.flatMap((column) => {
    if (column.kind !== "threshold") return [column];
    const { cells } = data.features.find(({ name }) => name === column.feature);
    const numbers = () => [...new Set(cells.filter((v) => !Number.isNaN(v)))].sort((a, b) => a - b).slice(0, -1);
    return (column.thresholds || numbers()).map((threshold) => ({ ...column, threshold }));
  });
}

// Whether a tree of some splits rises; a tree is a number of a class, or [split, the tree of its left side, of its right].
function rising(orders, splits, data) {
  const numeric = (column) => data.features.find(({ name }) => name === column).numeric;
  for (const { column } of orders) expect(numeric(column), `a class rises with ${column}, which has no numbers`);
  const features = data.features.filter(({ name }) => splits.some((split) => split.feature === name)).map((feature) => {
    const own = splits.filter((split) => split.feature === feature.name);
    const plain = !feature.numeric || !own.some(({ kind }) => kind === "subset");
    expect(plain, `a split uses numbers of ${feature.name} one by one`);
    const thresholds = own.filter(({ kind }) => kind === "threshold").map(({ threshold }) => threshold);
    const cuts = [...new Set(thresholds)].sort((a, b) => a - b);
    return { ...feature, cells: [...(feature.numeric ? [...cuts, Infinity] : [-1, ...feature.keys.keys()]), NaN] };
  });
  const placeOf = (column) => features.findIndex(({ name }) => name === column);
  const place = splits.map(({ feature }) => placeOf(feature)), left = splits.map((split) => leftOf(split, { features }));
  const leaves = (tree, box) => {
    if (!Array.isArray(tree)) return [{ klass: tree, box }];
    const [f, ...sides] = tree;
    const part = (cells, right) => cells.map((inside, i) => inside && left[f][i] !== Boolean(right));
    return sides.flatMap((side, right) => leaves(side, box.map((cells, c) => (c === place[f] ? part(cells, right) : cells))));
  };
  const meet = (one, two) => one.some((inside, i) => inside && two[i]);
  const falls = ({ column, klass }, one, two) => {
    if (one.klass !== klass || two.klass === klass) return false;
    const own = placeOf(column);
    if (own < 0 || !features.every((_, c) => c === own || meet(one.box[c], two.box[c]))) return false;
    const numbers = (box) => box[own].slice(0, -1), from = numbers(one.box).indexOf(true);
    return from >= 0 && from < numbers(two.box).lastIndexOf(true);
  };
  return (tree) => {
    const all = leaves(tree, features.map(({ cells }) => cells.map(() => true)));
    return !orders.some((order) => all.some((one) => all.some((two) => falls(order, one, two))));
  };
}

module.exports = { splitsOf, rising };
