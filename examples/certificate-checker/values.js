// Numbers, levels and names as the cells of a table and a certificate hold them, and what is expected of them.
"use strict";

class Refused extends Error {}
const refuse = (text) => { throw new Refused(text); };
const expect = (holds, text) => holds || refuse(text);
const EXACT = 2 ** 53;
const NUMBER = /^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$/;
const PADDED = /^[+-]?0[0-9]/; // a code such as 00123, which is not the number 123

const whole = (value, what) => { expect(Number.isSafeInteger(value) && value >= 0, `${what} is not a whole number`); return value; };
// Whether two JSON values say the same; keys of objects have no order.
const alike = (a, b) => a === b || (a && b && typeof a === "object" && typeof b === "object" && Array.isArray(a) === Array.isArray(b) &&
  Object.keys(a).length === Object.keys(b).length && Object.keys(a).every((key) => key in b && alike(a[key], b[key])));

const isNumber = (word) => NUMBER.test(word) && Number.isFinite(Number(word));
const byCodePoint = (a, b) => {
  const [x, y] = [Array.from(a), Array.from(b)];
  for (let i = 0; i < Math.min(x.length, y.length); i++) if (x[i] !== y[i]) return x[i].codePointAt(0) - y[i].codePointAt(0);
  return x.length - y.length;
};

// The nearest whole number, of two the even one.
const nearest = (v) => { const low = Math.floor(v), over = v - low; return over < 0.5 || (over === 0.5 && low % 2 === 0) ? low : low + 1; };
// A number with as many decimal places as one of this size has digits for.
function decimal(v, size, digits) {
  const places = digits - 1 - (size > 0 ? Number(size.toExponential().split("e")[1]) : 0);
  if (Math.abs(places) >= 300) return v;
  const unit = Number(`1e${Math.abs(places)}`);
  return places >= 0 ? nearest(v * unit) / unit : nearest(v / unit) * unit;
}

// The largest absolute value of a column.
const largest = (lines, column) => lines.reduce((most, line) => Math.max(most, Math.abs(line[column])), 0);

// A number as odtc writes it: the shortest text that reads back as the same double.
function showNumber(v) {
  if (Number.isInteger(v) && Math.abs(v) < 2 ** 53) return String(v);
  if (Math.abs(v) < 1e16 && Math.abs(v) >= 1e-4) return Number.isInteger(v) ? `${v}.0` : String(v);
  const [digits, power] = v.toExponential().split("e");
  return `${digits}e${power[0]}${power.slice(1).padStart(2, "0")}`;
}

// A cell, or a name of a column, without the blanks at its ends, as odtc's reader knows them: U+0085 is one, U+FEFF none.
const BLANKS = "\\t-\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const without = (signs) => { const ends = new RegExp(`^[${signs}]+|[${signs}]+$`, "g"); return (text) => text.replace(ends, ""); };
const [trim, trimName] = [without(BLANKS), without(`${BLANKS}\\u001c-\\u001f`)];

// A level is known by a key: the number where all levels are numbers as such, else the word.
function levels(words) {
  const distinct = [...new Set(words)];
  const numeric = distinct.every(isNumber);
  const merged = numeric && !distinct.some((w) => PADDED.test(w)) && Math.max(0, ...distinct.map((w) => Math.abs(Number(w)))) < EXACT;
  const key = (word) => (merged ? String(isNumber(String(word)) ? Number(word) + 0 : NaN) : String(word));
  const sorted = numeric ? distinct.sort((a, b) => Number(a) - Number(b) || byCodePoint(a, b)) : distinct.sort(byCodePoint);
  return { key, keys: [...new Set(sorted.map(key))] };
}

module.exports = { Refused, refuse, expect, EXACT, NUMBER, PADDED, whole, alike, isNumber, levels, nearest, decimal, largest, showNumber, trim, trimName };
