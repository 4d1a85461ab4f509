/** Every part of the bench still runs, and checks its answers before it times anything. A test machine measures nothing. */
import { expect, it } from 'vitest';
import { partNames, runPart, runPartHere } from '../bench/parts.ts';

// One as the bench runs it, the others without a process each.
it.each(partNames)('%s', async (name) => {
  const { question, rows } =
    name === 'sketch' ? await runPart(name, 'quick') : await runPartHere(name);
  expect(question).toMatch(/\?$/);
  expect(rows.length).toBeGreaterThan(0);
  for (const row of rows) expect(row.nanosecondsPerOperation).toBeGreaterThan(0);
});
