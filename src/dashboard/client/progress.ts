/**
 * Answers that may take long, with word of how far they are: the service sends events, of which the last is the answer or
 * the reason why there is no answer.
 */
import { Problem, type ProblemDocument, unreachable } from './problem.ts';

/** After a refusal for too much work, which says no time of its own. */
const retrySeconds = 2;

/** @param onShare called with what is done, 0 to 1 @throws Problem */
export async function answerFrom<T>(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  onShare: (share: number) => void,
): Promise<T> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const chunk = await reader.read().catch(() => undefined);
    if (chunk === undefined || chunk.done) throw unreachable();
    const events = (rest + chunk.value).split('\n\n');
    rest = events.pop() ?? '';
    for (const event of events) {
      const [, name, data = 'null'] = /^event: (\w+)\ndata: (.*)$/s.exec(event) ?? [];
      if (name === 'problem') throw problemIn(data);
      // The caller knows the type of the path's answer, as with `response.json()`.
      const told: T & { readonly share: number } = JSON.parse(data);
      if (name === 'result') return told;
      if (name === 'progress') onShare(told.share);
    }
  }
}

function problemIn(text: string): Problem {
  const document: ProblemDocument = JSON.parse(text);
  if (document.code === 'overloaded') return new Problem(503, document, retrySeconds);
  return new Problem(document.code === 'not_found' ? 404 : 422, document);
}
