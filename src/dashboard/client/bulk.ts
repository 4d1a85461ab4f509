/** A bulk request: the file is sent unchanged, and the answer arrives line by line as rows are created. */
import { send } from './http.ts';

export interface RowError {
  readonly index: number;
  readonly code: string;
  readonly detail: string;
}

export interface BulkProgress {
  readonly created: number;
  readonly failed: number;
  readonly errors: readonly RowError[];
}

interface Line {
  readonly index?: number;
  readonly status?: number;
  readonly error?: {
    readonly code: string;
    readonly detail: string;
    readonly errors?: ReadonlyArray<{ readonly path: string; readonly message: string }>;
  };
  readonly created?: number;
  readonly failed?: number;
}

/** Errors shown one by one. */
const errorsShownMax = 200;

/** @param onProgress called for every piece of the answer @throws Problem */
export async function createMany(
  file: { readonly data: Blob; readonly type: string },
  onProgress: (progress: BulkProgress) => void,
  signal: AbortSignal,
): Promise<BulkProgress> {
  const response = await send('POST', '/qr-codes/bulk', {
    raw: file,
    accept: 'application/x-ndjson',
    signal,
  });
  let progress: BulkProgress = { created: 0, failed: 0, errors: [] };
  for await (const lines of linesOf(response)) {
    progress = lines.reduce(withLine, progress);
    onProgress(progress);
  }
  return progress;
}

/** The complete lines of each piece of the answer. */
async function* linesOf(response: Response): AsyncGenerator<readonly Line[]> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (reader === undefined) return;
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    const texts = (rest + (value ?? '')).split('\n');
    rest = done ? '' : (texts.pop() ?? '');
    yield texts
      .filter((text) => text.trim() !== '')
      .map((text) => {
        const line: Line = JSON.parse(text);
        return line;
      });
    if (done) return;
  }
}

function withLine(progress: BulkProgress, line: Line): BulkProgress {
  if (line.index === undefined) return progress;
  if (line.error === undefined) return { ...progress, created: progress.created + 1 };
  const { code, detail, errors = [] } = line.error;
  const faults = errors.map(({ path, message }) => `${path}: ${message}`).join('. ');
  const error = { index: line.index, code, detail: faults === '' ? detail : faults };
  const isShown = progress.errors.length < errorsShownMax;
  return {
    ...progress,
    failed: progress.failed + 1,
    errors: isShown ? [...progress.errors, error] : progress.errors,
  };
}

/** Approximate number of rows: lines without a CSV's header; undefined for a JSON list. */
export async function estimateRows(file: Blob, type: string): Promise<number | undefined> {
  if (type === 'application/json') return undefined;
  const text = await file.text();
  const lines = text.split('\n').filter((line) => line.trim() !== '').length;
  return Math.max(0, type === 'text/csv' ? lines - 1 : lines);
}
