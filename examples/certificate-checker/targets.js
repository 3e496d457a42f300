// What the tasks read of the columns of their targets.
"use strict";
const { expect, isNumber, levels } = require("./values.js");

const WORDS = { 0: false, 1: true, false: false, true: true, no: false, yes: true };
const shortest = (word) => (isNumber(word) ? String(Number(Number(word).toPrecision(6))) : word.toLowerCase());

// The rows of a weight above 0.
function weighty(data, lines) {
  const held = data.weight.map((w) => w > 0), only = (line) => line.filter((_, i) => held[i]);
  const features = (some) => some.map((feature) => ({ ...feature, cells: only(feature.cells) }));
  const more = Object.fromEntries(Object.entries(lines).map(([name, line]) => [name, only(line)]));
  const weight = only(data.weight);
  return { ...data, ...more, weight, features: features(data.features), asideFeatures: features(data.asideFeatures), n: weight.length };
}

function numbersOf(cells, what) {
  expect(cells.every(isNumber), `the data has no finite numbers as ${what}`);
  return cells.map((cell) => Number(cell) + 0);
}

// The lower median of numbers with weights.
function medianOf(numbers, weight) {
  const order = numbers.map((_, i) => i).sort((i, j) => numbers[i] - numbers[j]), half = weight.reduce((a, b) => a + b, 0) * 0.5 * (1 - 1e-12);
  let below = 0;
  return numbers[order.find((i) => (below += weight[i]) >= half)];
}

const classification = {
  columns: (source) => [source.target],
  targeted: (cells, source, data) => {
    const words = cells.map(([cell]) => cell), { key, keys } = levels(words);
    return { ...data, classes: keys, classKey: key, y: words.map((word) => keys.indexOf(key(word))) };
  },
};

const one = (name) => ({ classes: [name], classKey: String });

const regression = {
  columns: (source) => [source.target],
  targeted: (cells, source, data) => {
    const numbers = numbersOf(cells.map(([cell]) => cell), "its target"), { weight } = data, middle = medianOf(numbers, weight);
    const sums = numbers.map((v, i) => [1, weight[i], weight[i] * v, weight[i] * (v - middle), weight[i] * (v - middle) ** 2]);
    return { ...weighty(data, { numbers, sums, y: numbers.map(() => 0) }), ...one("mean") };
  },
};

// The column of events and, of "column=value", the value that is one.
function eventOf({ event }, names) {
  const at = String(event).indexOf("=");
  return names.includes(event) || at < 0 ? [event, null] : [event.slice(0, at), event.slice(at + 1)];
}

const survival = {
  columns: (source, names) => [source.time, eventOf(source, names)[0]],
  targeted: (cells, source, data) => {
    const times = numbersOf(cells.map(([cell]) => cell), "its times"), { weight } = data;
    expect(times.every((time) => time >= 0), "the data has times below 0");
    const [column, value] = eventOf(source, data.targets);
    const isEvent = (word) => {
      if (value !== null) return isNumber(word) && isNumber(value) ? Number(word) === Number(value) : word === value;
      expect(shortest(word) in WORDS, `the column ${column} holds other than 1 for an event and 0 for none`);
      return WORDS[shortest(word)];
    };
    const events = cells.map(([, cell]) => isEvent(cell)), order = times.map((_, i) => i).sort((i, j) => times[i] - times[j]);
    const hazard = new Array(times.length);
    let atRisk = weight.reduce((a, b) => a + b, 0), sum = 0;
    for (let start = 0, end; start < order.length; start = end) {
      for (end = start; end < order.length && times[order[end]] === times[order[start]];) end++;
      const tied = order.slice(start, end), died = tied.reduce((total, i) => total + (events[i] ? weight[i] : 0), 0);
      sum += died ? died / atRisk : 0;
      for (const i of tied) { hazard[i] = sum; atRisk -= weight[i]; }
    }
    const sums = times.map((time, i) => [1, weight[i], weight[i] * hazard[i], events[i] ? weight[i] : 0, time]);
    return { ...weighty(data, { times, events, sums, y: times.map(() => 0) }), ...one("risk") };
  },
};

// Each number is a class of its own, and to answer one for another costs how far they are apart (`price`).
const median = {
  columns: (source) => [source.target],
  targeted: (cells, source, data) => {
    const kept = weighty(data, { numbers: numbersOf(cells.map(([cell]) => cell), "its target") });
    const values = [...new Set(kept.numbers)].sort((a, b) => a - b);
    const price = (k, c) => Math.abs(values[k] - values[c]);
    return { ...kept, classes: values.map(String), classKey: (name) => String(Number(name)), y: kept.numbers.map((v) => values.indexOf(v)), price };
  },
};

const TASKS = { classification, regression, survival, median };

module.exports = (source) => {
  const task = source.task || "classification";
  expect(task in TASKS, `it is of the task ${task}, which this checker does not know`);
  return TASKS[task];
};
