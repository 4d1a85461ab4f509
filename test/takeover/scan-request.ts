/**
 * One scan on a connection of its own: connect, request, response, close. It has one of these outcomes:
 *
 *   response        status and target               refused      nobody listened
 *   reset           closed without a response       timed out    no response within ten seconds
 *   redirect loop   redirected to itself too often  local error  of the generator: no port, no descriptor
 *
 * A redirect to its own path is followed on a new connection: a process that has handed over a code with a scan limit
 * answers so, until the connection reaches the process that counts against the limit.
 */
import { connect } from 'node:net';
import { agentOf, parseAnswer, requestText } from '../crash/scanners.ts';

export type Fault = 'refused' | 'reset' | 'timed out' | 'redirect loop' | 'local error';

export interface ScanRequest {
  readonly path: string;
  /** As it is sent, with `Connection: close`. */
  readonly text: string;
  readonly onResponse: (status: number, location: string) => void;
  readonly onFault?: () => void;
}

export interface ScanResponse {
  readonly status: number;
  readonly location: string;
}

const responseMsMax = 10_000;
const selfRedirectsMax = 200;

/** `refererStart` tells whose ledger has the scan. */
export function requestOnNewConnection(path: string, visitor: number, refererStart: string) {
  const agent = agentOf(visitor).text;
  const referer = `${refererStart}${visitor}`;
  return requestText({ path, visitor, agent, referer, connection: 'close' });
}

export function send(
  port: number,
  scan: ScanRequest,
  onEnd: (end: ScanResponse | Fault) => void,
  selfRedirects = 0,
): void {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  let received = '';
  let fault: Fault = 'reset';
  let isOver = false;
  const end = (result: ScanResponse | Fault): void => {
    if (isOver) return;
    isOver = true;
    socket.destroy();
    const isSelfRedirect =
      typeof result === 'object' && result.status === 302 && result.location === scan.path;
    if (!isSelfRedirect) onEnd(result);
    else if (selfRedirects >= selfRedirectsMax) onEnd('redirect loop');
    else send(port, scan, onEnd, selfRedirects + 1);
  };
  socket.setEncoding('latin1').setTimeout(responseMsMax, () => end('timed out'));
  socket.write(scan.text);
  socket.on('data', (chunk: string) => {
    received += chunk;
    const answer = parseAnswer(received);
    if (answer !== undefined) end(answer);
  });
  socket.on('error', (error) => {
    const code = 'code' in error ? error.code : '';
    if (code === 'ECONNREFUSED') fault = 'refused';
    else if (code !== 'ECONNRESET' && code !== 'EPIPE') fault = 'local error';
  });
  socket.on('close', () => end(fault));
}
