// The data of a certificate, read from the bytes of its file (unpacked, if they are gzip) by the words of its object "data".
"use strict";
const { expect, refuse, NUMBER, PADDED, isNumber, levels, trim, trimName } = require("./values.js");
const taskOf = require("./targets.js");
const { heldOut } = require("./held-out.js");
const { plainBy } = require("./written-numbers.js");

const MISSING = new Set(["", "?", "NA", "N/A", "NaN", "nan", "null", "NULL"]);

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

function decoded(bytes, coding) {
  try { return new TextDecoder(coding, { fatal: true }).decode(bytes); } catch { return refuse(`the data file is not ${coding.slice(0, 6).toUpperCase()} text`); }
}

function readTable(file, bytes) {
  expect(/\.(csv|tsv|tab|txt)(\.gz)?$/i.test(file), `expected a file that ends in .csv, .tsv, .tab or .txt, or in one of these and .gz, got ${file}; this checker reads no others, but you can rename a file of such text`);
  const mark = bytes.length < 2 ? 0 : (bytes[0] << 8) | bytes[1], coding = mark === 0xfffe ? "utf-16le" : mark === 0xfeff ? "utf-16be" : "utf-8";
  const text = decoded(bytes, coding).replace(/^[\r\n]+/, ""), named = /^sep=([,;\t|])[\r\n]+/i.exec(text); // Excel's line
  const table = named ? text.slice(named[0].length) : text, header = table.replace(/"[^"]*"/g, "").split(/[\r\n]/, 1)[0];
  const signs = /\.txt(\.gz)?$/i.test(file) ? ["\t", ",", ";"] : [",", ";", "\t"];
  const often = (s) => header.split(s).length, found = signs.reduce((a, s) => (often(s) > often(a) ? s : a));
  const sign = named ? named[1] : /\.(tsv|tab)(\.gz)?$/i.test(file) ? "\t" : !header.includes(found) && header.includes("|") ? "|" : found;
  const [first, ...rows] = records(table, sign);
  expect(first, "the data file is empty");
  const all = first.map(trimName), places = all.map((_, j) => j).filter((j) => !j || all[j]), names = places.map((j) => all[j]);
  expect(new Set(names).size === names.length, "the data has repeated columns");
  rows.forEach((row, i) => expect(row.length === all.length, `row ${i + 1} of the data has ${row.length} cells, and its header ${all.length}`));
  const cells = rows.map((row) => row.map((cell) => (MISSING.has(trim(cell)) ? null : trim(cell))));
  expect(cells.every((row) => row.every((cell, j) => cell === null || !j || all[j])), "the data has cells in a column without a name");
  return { names, cells: cells.map((row) => places.map((j) => row[j])) };
}

function withoutMarks(cells, names, source, plain) {
  // Cells that are written as a mark of their column, or are the same number, are missing. A code such as 099 is no number.
  const number = (text) => (isNumber(plain(text)) && !PADDED.test(text) ? Number(plain(text)) : NaN);
  const marks = names.map(() => []);
  for (const text of source.missing_mark || []) {
    const cuts = text.split("").map((_, i) => i).filter((i) => text[i] === "=");
    const cut = cuts.find((i) => names.includes(text.slice(0, i)) && !(source.ignore || []).includes(text.slice(0, i)));
    expect(cut !== undefined || !text.includes("="), `a mark of missing cells names no column: ${text}`);
    names.forEach((name, j) => { if (cut === undefined || name === text.slice(0, cut)) marks[j].push(trim(cut === undefined ? text : text.slice(cut + 1))); });
  }
  const isMark = (cell, j) => marks[j].some((mark) => cell === mark || number(cell) === number(mark));
  return cells.map((row) => row.map((cell, j) => (cell !== null && marks[j].length && isMark(cell, j) ? null : cell)));
}

// The column and the levels of COL=A<B<C, whose levels may be in double quotes; only COL is the sorted order.
function orderOf(text, names) {
  const ends = [text.length, ...[...text].keys()].filter((i) => i === text.length || text[i] === "=");
  const end = ends.find((i) => names.includes(text.slice(0, i)));
  expect(end !== undefined, `the data has no column of the order ${text}`);
  if (end === text.length) return [text, null];
  const cells = [...`<${text.slice(end + 1)}`.matchAll(/<\s*(?:"((?:[^"]|"")*)"|([^<]*))/g)];
  return [text.slice(0, end), cells.map(([, quoted, plain]) => (quoted === undefined ? plain : quoted.replace(/""/g, '"')).trim())];
}

function readData(file, bytes, source) {
  const { names, cells: written } = readTable(file, bytes), share = source.hold_out || 0;
  expect(typeof share === "number" && share >= 0 && share < 1, "the share of rows that it sets aside is none");
  const at = (name) => { const i = names.indexOf(name); expect(i >= 0, `the data has no column ${name}`); return i; };
  const task = taskOf(source), targets = task.columns(source, names).map(at), weights = source.weights == null ? -1 : at(source.weights);
  expect(typeof source.target === "string", "its target is no text");
  for (const key of ["auxiliary", "categorical", "numeric", "ignore", "ordered", "missing_mark"]) expect(source[key] === undefined || Array.isArray(source[key]), `its ${key} is no list`);
  expect([undefined, null, ".", ","].includes(source.decimal), "its sign before decimals is neither a point nor a comma");
  const plain = source.decimal ? plainBy(source.decimal) : (cell) => cell, numberOf = (cell) => Number(plain(cell) || NaN);
  const every = withoutMarks(written, names, source, plain);
  const out = share ? heldOut(every.length, share) : [], cells = every.filter((_, i) => !out[i]);
  const ofNumbers = source.decimal && !["classification", "policy"].includes(source.task || "classification");
  const auxiliary = new Set((source.auxiliary || []).map(at));
  const ignored = new Set((source.ignore || []).map(at));
  expect(names[0] || ignored.has(0), "column 1 of the data has no name, and is read");
  const used = names.map((_, j) => j).filter((j) => !targets.includes(j) && j !== weights && !ignored.has(j));
  const bare = (row) => targets.some((j) => row[j] === null) || (weights >= 0 && row[weights] === null);
  // A weight is a number of rows, so a row of weight 0 is one without a weight.
  const without = (row) => bare(row) || (weights >= 0 && numberOf(row[weights]) === 0);
  const gap = (row) => used.some((j) => row[j] === null);
  const separate = source.missing === "separate";
  const kept = cells.filter((row) => !without(row) && (separate || !gap(row)));
  expect(source.missing !== "error" || every.every((row) => !bare(row) && !gap(row)), "the data has missing cells, and the policy is error");
  const orders = new Map((source.ordered || []).map((text) => orderOf(text, names)));
  // The type of a column is told by all rows, those set aside among them, its levels by those that are kept.
  const featureOf = (j) => {
    const all = every.map((row) => row[j]).filter((cell) => cell !== null);
    const words = kept.map((row) => row[j]);
    const ordered = orders.has(names[j]);
    let numeric = !ordered && !(source.categorical || []).includes(names[j]);
    const told = (source.numeric || []).includes(names[j]);
    const flag = !told && numeric && all.length > 0 && all.every((cell) => /^(true|false)$/i.test(cell));
    numeric = numeric && !flag && (told || all.every((cell) => NUMBER.test(plain(cell))));
    if (numeric) {
      const values = words.map((cell) => (cell === null ? NaN : numberOf(cell) + 0));
      expect(values.every((v, i) => words[i] === null || Number.isFinite(v)), `the column ${names[j]} holds no numbers`);
      return { name: names[j], kind: "numeric", numeric, cells: values };
    }
    const low = flag ? words.map((w) => w && w.toLowerCase()) : words;
    const { key, keys } = levels(flag ? ["false", "true"] : low.filter((w) => w !== null));
    if (orders.get(names[j])) {
      const given = orders.get(names[j]).map(key);
      expect(keys.every((one) => given.includes(one)), `the order of the column ${names[j]} lacks one of its levels`);
      keys.sort((a, b) => given.indexOf(a) - given.indexOf(b));
    }
    return { name: names[j], kind: flag ? "boolean" : "categorical", numeric, ordered, key, keys, cells: low.map((w) => (w === null ? NaN : keys.indexOf(key(w)))) };
  };
  const weight = kept.map((row) => (weights < 0 ? 1 : numberOf(row[weights])));
  const read = task.targeted(kept.map((row) => targets.map((j) => (ofNumbers ? plain(row[j]) || row[j] : row[j]))), source, {
    task: source.task || "classification",
    target: names[targets[0]],
    targets: targets.map((j) => names[j]),
    features: used.filter((j) => !auxiliary.has(j)).map(featureOf),
    auxiliaryFeatures: used.filter((j) => auxiliary.has(j)).map(featureOf),
    weight,
    columns: used.filter((j) => !auxiliary.has(j)).map((j) => names[j]),
    auxiliary: used.filter((j) => auxiliary.has(j)).map((j) => names[j]),
    nUnlabelled: cells.filter(without).length,
    nDropped: cells.length - kept.length,
    missing: source.missing,
    n: kept.length,
    fileRows: kept.length,
    nSetAside: every.length - cells.length,
  });
  return { ...read, copies: read.copies || read.y.map(() => 1) };
}

module.exports = { readData };
