/** Boxes with text: problems and their remedy, hints, empty states. */
import type { ComponentChildren } from 'preact';
import { plural } from '../client/format.ts';
import type { Problem } from '../client/problem.ts';
import { useSecondsUntil } from '../client/use-retry.ts';
import { Button } from './button.tsx';
import { Icon, type IconName } from './icon.tsx';

interface NoticeProps {
  readonly tone?: 'info' | 'bad' | 'good' | 'warn';
  readonly title?: string;
  readonly children?: ComponentChildren;
}

const icons = { info: 'info', bad: 'warning', warn: 'warning', good: 'check' } as const;

/** Screen readers announce the results of actions, but not hints. */
const roles = { info: undefined, bad: 'alert', warn: undefined, good: 'status' } as const;

export function Notice({ tone = 'info', title, children }: NoticeProps) {
  return (
    <div class={`notice notice-${tone}`} role={roles[tone]}>
      <Icon name={icons[tone]} />
      <div class="notice-body">
        {title !== undefined && <p class="notice-title">{title}</p>}
        {children}
      </div>
    </div>
  );
}

interface ProblemProps {
  readonly problem: Problem;
  /** Repeats the request; after a limit, the caller also repeats it by itself. */
  readonly onRetry?: () => void;
}

const titles: Readonly<Record<string, string>> = {
  rate_limited: 'Rate limit reached',
  daily_cap_reached: 'Daily limit reached',
  forbidden: 'Your role does not allow this',
  not_found: 'Not found',
  unreachable: 'No connection',
  overloaded: 'The service is busy',
};

/** A problem in the API's words, with the request id for the operator. */
export function ProblemNotice({ problem, onRetry }: ProblemProps) {
  const { code, faults, requestId, retryAtMs } = problem;
  return (
    <Notice
      tone={code === 'rate_limited' ? 'warn' : 'bad'}
      title={titles[code] ?? 'Something went wrong'}
    >
      {/* The countdown shows the wait instead. */}
      {(code !== 'rate_limited' || retryAtMs === undefined) && <p>{problem.message}</p>}
      {faults.length > 1 && (
        <ul>
          {faults.map(({ path, message }) => (
            <li key={path}>
              <b>{path}</b>: {message}
            </li>
          ))}
        </ul>
      )}
      {retryAtMs !== undefined && (
        <Countdown atMs={retryAtMs} action={onRetry === undefined ? 'Try again' : 'Retrying'} />
      )}
      {requestId !== undefined && <p class="notice-id">Request {requestId}</p>}
      {onRetry !== undefined && (
        <Button size="small" icon="refresh" onClick={onRetry}>
          Try again
        </Button>
      )}
    </Notice>
  );
}

interface CountdownProps {
  readonly atMs: number;
  readonly action: string;
}

/** A timer, which screen readers do not announce every second. */
function Countdown({ atMs, action }: CountdownProps) {
  const seconds = useSecondsUntil(atMs);
  return (
    <p role="timer">
      {seconds === 0 ? `${action} now.` : `${action} in ${plural(seconds, 'second')}.`}
    </p>
  );
}

interface EmptyProps {
  readonly icon: IconName;
  readonly title: string;
  readonly children?: ComponentChildren;
}

/** An empty state, and the next step. */
export function Empty({ icon, title, children }: EmptyProps) {
  return (
    <div class="empty">
      <span class="empty-icon">
        <Icon name={icon} size={26} />
      </span>
      <h3>{title}</h3>
      {children}
    </div>
  );
}
