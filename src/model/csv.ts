/**
 * Lines of CSV by RFC 4180. A cell that a spreadsheet would run as a formula (= + - @, also full-width or after blanks; tab,
 * CR) gets an apostrophe before it, because strangers choose names, cities and referers.
 */
export type Cell = string | number | null;

export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(cellText).join(',')}\r\n`;
}

/** Also after the text's own apostrophes, so that `unguarded` can remove the added one. */
const formula = /^'*(?:[\t\r]|\s*[=+\-@＝＋－＠])/;

export const unguarded = (cell: string): string =>
  cell.startsWith("'") && formula.test(cell) ? cell.slice(1) : cell;

function cellText(cell: Cell): string {
  if (cell === null) return '';
  if (typeof cell === 'number') return String(cell);
  const guarded = formula.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}
