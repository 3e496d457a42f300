// Numbers as people write them: 1.234,50 € and 5 % with a decimal comma, $1,234.50 with a point.
"use strict";

const BLANKS = " \u00a0\u202f\u2009", MARKS = [".", ",", ...BLANKS, "'", "\u2019"];
const CODES = "USD EUR GBP CHF JPY CNY AUD CAD NZD SEK NOK DKK ISK PLN CZK HUF RON BGN TRY UAH RUB INR BRL MXN ZAR KRW SGD HKD THB";
const BESIDE = `(?:\\p{Sc}|%|‰|${CODES.split(" ").join("|")}|kr\\.?|zł|Kč|Ft|Fr\\.)`;

function plainBy(decimal) {
  // The function that makes "1234.50" of "1.234,50 €", and of texts that are not numbers "".
  const grouped = MARKS.filter((m) => m !== decimal).map((m) => `\\d{1,3}(?:[${m}]\\d{3})+`).join("|");
  const sign = "([-+\u2212])?", gap = `[${BLANKS}]?`;
  const digits = `(?:(${grouped}|\\d+)(?:[${decimal}](\\d*))?|[${decimal}](\\d+))`;
  const form = new RegExp(`^${sign}${gap}(${BESIDE})?${gap}${sign}${digits}([eE][-+]?\\d+)?${gap}(${BESIDE})?$`, "u");
  return (cell) => {
    const found = form.exec(cell);
    if (!found || (found[1] && found[3]) || (found[2] && found[8])) return "";
    const [, first, , second, whole = "0", decimals, alone, exponent = ""] = found;
    const minus = (first || second) === "\u2212" ? "-" : first || second || "";
    return `${minus}${whole.replace(/\D/g, "")}.${decimals || alone || ""}0${exponent}`;
  };
}

module.exports = { plainBy };
