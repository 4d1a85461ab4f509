/** Short messages about the last action. Screen readers announce them; they disappear after seconds or on a click. */
import { signal } from '@preact/signals';
import { problemOf } from '../client/problem.ts';
import { Icon } from './icon.tsx';

interface Toast {
  readonly no: number;
  readonly text: string;
  readonly tone: 'good' | 'bad';
}

const shownMs = 5_000;
/** Errors take longer to read. */
const badShownMs = 12_000;
const toastsMax = 4;

const toasts = signal<readonly Toast[]>([]);
let lastNo = 0;

export function say(text: string): void {
  show(text, 'good');
}

export function sayProblem(error: unknown): void {
  const problem = problemOf(error);
  const id = problem.requestId === undefined ? '' : ` (request ${problem.requestId})`;
  const faults = problem.faults.map(({ path, message }) => `${path}: ${message}`);
  const text = faults.length > 0 ? faults.join('. ') : problem.message;
  show(text + id, 'bad');
}

function show(text: string, tone: Toast['tone']): void {
  lastNo += 1;
  const no = lastNo;
  toasts.value = [...toasts.value.slice(1 - toastsMax), { no, text, tone }];
  setTimeout(() => remove(no), tone === 'good' ? shownMs : badShownMs);
}

function remove(no: number): void {
  toasts.value = toasts.value.filter((toast) => toast.no !== no);
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite" aria-label="Messages">
      {toasts.value.map(({ no, text, tone }) => (
        <div key={no} class={`toast toast-${tone}`}>
          <Icon name={tone === 'good' ? 'check' : 'warning'} />
          <span class="toast-text">{text}</span>
          <button type="button" class="toast-close" aria-label="Dismiss" onClick={() => remove(no)}>
            <Icon name="close" size={16} />
          </button>
        </div>
      ))}
    </div>
  );
}
