/** Answers with progress: events that come in pieces, of which the last is the answer or a problem. */
import { expect, test } from 'vitest';
import { Problem } from '../../src/dashboard/client/problem.ts';
import { answerFrom } from '../../src/dashboard/client/progress.ts';

/** What comes of events that are sent in pieces of so many bytes. */
async function read(text: string, pieceBytes = 1_000) {
  const bytes = new TextEncoder().encode(text);
  const pieces = Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_, at) =>
    bytes.slice(at * pieceBytes, (at + 1) * pieceBytes),
  );
  const shares: number[] = [];
  const answer = await answerFrom<unknown>(ReadableStream.from(pieces), (share) => {
    shares.push(share);
  });
  return { shares, answer };
}

const event = (name: string, data: unknown): string =>
  `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

test.each([1, 7, 1_000])('shares, then the answer, in pieces of %i bytes', async (pieceBytes) => {
  const answer = { data: [{ key: 'Zürich, CH', scans: 2 }] };
  const progress = event('progress', { share: 0.25 }) + event('progress', { share: 0.75 });
  const found = await read(progress + event('result', answer), pieceBytes);
  expect(found).toEqual({ shares: [0.25, 0.75], answer });
});

const problems = [
  ['validation_failed', 422, false],
  ['not_found', 404, false],
  ['overloaded', 503, true],
] as const;
test.each(problems)('a problem %s is one of status %i', async (code, status, isRepeated) => {
  const errors = [{ path: 'from', code: 'raw_scans_expired', message: 'Expected later days' }];
  const sent = event('problem', { code, detail: 'No', errors });
  const problem = await read(sent).catch((error: unknown) => error);
  expect(problem).toBeInstanceOf(Problem);
  expect(problem).toMatchObject({ code, status, message: 'No', faults: errors });
  expect(problem).toHaveProperty('retryAtMs', isRepeated ? expect.any(Number) : undefined);
});

test('a stream that ends before its answer is no connection', async () => {
  await expect(read(event('progress', { share: 0.5 }))).rejects.toMatchObject({
    code: 'unreachable',
  });
});
