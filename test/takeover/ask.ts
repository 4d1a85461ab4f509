/**
 * One scan as a phone makes it: a connection, a request, an answer, and never seen again.
 *
 *   answered   status and target           reset      the kernel or the service ended it without an answer
 *   refused    nobody listened             timed out  no answer within ten seconds
 *
 * A redirect to its own path is followed on a new connection: a service that has handed a limited code over
 * answers so, and the phone comes back to the process that has the limit.
 */
import { connect } from 'node:net';

export type Fault = 'refused' | 'reset' | 'timed out' | 'astray' | 'unable';

export interface AskedFor {
  readonly port: number;
  readonly path: string;
  /** As it goes out; it asks for the end of the connection. */
  readonly request: string;
}

export interface Answered {
  readonly status: number;
  readonly location: string;
  /** Redirects to itself before it. */
  readonly followed: number;
}

const answerMsMax = 10_000;
/** Of redirects to itself: beyond them the code leads nowhere. */
const followedMax = 200;

export function ask(asked: AskedFor, onEnd: (end: Answered | Fault) => void, followed = 0): void {
  const socket = connect({ port: asked.port, host: '127.0.0.1', noDelay: true });
  let text = '';
  let fault: Fault = 'reset';
  let isOver = false;
  const end = (result: Answered | Fault): void => {
    if (isOver) return;
    isOver = true;
    socket.destroy();
    if (typeof result === 'string' || !leadsToItself(result, asked)) onEnd(result);
    else if (followed >= followedMax) onEnd('astray');
    else ask(asked, onEnd, followed + 1);
  };
  socket.setEncoding('latin1').setTimeout(answerMsMax, () => end('timed out'));
  socket.write(asked.request);
  socket.on('data', (chunk: string) => {
    text += chunk;
    const answer = answerIn(text);
    if (answer !== undefined) end({ ...answer, followed });
  });
  socket.on('error', (error) => {
    const code = 'code' in error ? error.code : '';
    if (code === 'ECONNREFUSED') fault = 'refused';
    // The generator's own: no port, no descriptor.
    else if (code !== 'ECONNRESET' && code !== 'EPIPE') fault = 'unable';
  });
  socket.on('close', () => end(fault));
}

const leadsToItself = ({ status, location }: Answered, { path }: AskedFor): boolean =>
  status === 302 && location === path;

/** @returns undefined while it is not complete */
function answerIn(text: string): Omit<Answered, 'followed'> | undefined {
  const headEnd = text.indexOf('\r\n\r\n');
  if (headEnd === -1) return undefined;
  const head = text.slice(0, headEnd);
  const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0);
  if (text.length < headEnd + 4 + length) return undefined;
  return {
    status: Number(head.slice(9, 12)),
    location: /^location: (.*)$/im.exec(head)?.[1] ?? '',
  };
}
