/**
 * The path of a request or a scan has no `await`, for a promise would delay the whole reply batch, and no log.
 * It has no schema either: entry-packages.ts keeps zod out of its threads.
 */
import { Visitor } from 'oxc-parser';
import { finding, type Law, type Source } from './source.ts';

/** Beside each file stand its functions that are not on that path and may wait. */
const hotFiles: Readonly<Record<string, readonly string[]>> = {
  // What stops listening waits for open connections.
  'src/http/redirect.worker.ts': ['drain', 'handOver', 'leave'],
  'src/http/redirect.ts': [],
  'src/http/conditional-link.ts': [],
  'src/http/reply-batch.ts': [],
  'src/links/reader.ts': [],
  'src/routes/program-reader.ts': [],
  // The disk sync is awaited beside the path, by a timer or by `power` durability.
  'src/scans/journal/writer.ts': ['close', 'syncAll', 'syncCovering'],
  'src/scans/code-actor.ts': [],
  'src/scans/window.ts': [],
};

const logs = /^src\/telemetry\/.*(log|warning)/;

export const checkHotFiles: Law = (sources) =>
  Object.entries(hotFiles).flatMap(([path, mayWait]) => {
    const source = sources.find((candidate) => candidate.path === path);
    if (source === undefined) return [`${path} is missing; put its new path into hotFiles`];
    const logging = source.imports
      .filter(({ target }) => logs.test(target ?? ''))
      .map(({ offset }) => finding(source, offset, 'a log in a hot file; count it, log elsewhere'));
    return [...logging, ...waits(source, mayWait)];
  });

function waits(source: Source, mayWait: readonly string[]): string[] {
  const message = 'await in a hot file; do the work in this cycle, or move it to a file beside it';
  const allowed: Array<{ readonly start: number; readonly end: number }> = [];
  const offsets: number[] = [];
  new Visitor({
    FunctionDeclaration(node) {
      if (mayWait.includes(node.id?.name ?? '')) allowed.push(node);
    },
    MethodDefinition(node) {
      const { key } = node;
      const isNamed = key.type === 'Identifier' || key.type === 'PrivateIdentifier';
      if (isNamed && mayWait.includes(key.name)) allowed.push(node);
    },
    AwaitExpression: ({ start }) => void offsets.push(start),
    ForOfStatement(node) {
      if (node.await) offsets.push(node.start);
    },
  }).visit(source.program);
  return offsets
    .filter((offset) => !allowed.some(({ start, end }) => start < offset && offset < end))
    .map((offset) => finding(source, offset, message));
}
