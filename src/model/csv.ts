/**
 * Lines of CSV by RFC 4180: CRLF, quotes where needed.
 *
 * A cell that a spreadsheet would run as a formula (= + - @, also full-width or after blanks; tab, CR)
 * gets an apostrophe before it: names, cities and referers are chosen by strangers, and the file is opened by a person.
 */
export type Cell = string | number | null;

export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(cellText).join(',')}\r\n`;
}

/** Also behind apostrophes that the text has itself, so that one taken off gives the text again. */
const formula = /^'*(?:[\t\r]|\s*[=+\-@＝＋－＠])/;

/** The text of a cell that `csvLine` wrote. */
export const unguarded = (cell: string): string =>
  cell.startsWith("'") && formula.test(cell) ? cell.slice(1) : cell;

function cellText(cell: Cell): string {
  if (cell === null) return '';
  if (typeof cell === 'number') return String(cell);
  const guarded = formula.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}
