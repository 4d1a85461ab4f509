/** Shown while a code does not lead to its destination: the reason, the fallback, and where to change it. */
import { shortAddress } from '../../client/format.ts';
import { may } from '../../client/session.ts';
import type { QrCode } from '../../client/wire.ts';
import { Notice } from '../../parts/notice.tsx';
import { Time } from '../../parts/time.tsx';
import { pathTo } from '../../paths.ts';

/** The place to change it: a part of this page, or the button above. */
const states = {
  paused: { title: 'This code is paused', part: undefined, action: '' },
  not_started: { title: 'This code has not started', part: 'routes', action: 'Change its start' },
  expired: { title: 'This code has expired', part: 'details', action: 'Change its end' },
  used_up: {
    title: 'This code has reached its scan limit',
    part: 'details',
    action: 'Change its limit',
  },
} as const;

export function NotWorking({ code }: { readonly code: QrCode }) {
  const { id, status, fallbackUrl } = code;
  if (status === 'active') return null;
  const { title, part, action } = states[status];
  return (
    <Notice tone="warn" title={title}>
      <p>
        {fallbackUrl === null ? (
          'A scan shows a page that explains this'
        ) : (
          <>
            A scan leads to{' '}
            <a class="break" href={fallbackUrl} target="_blank" rel="noreferrer">
              {shortAddress(fallbackUrl)}
            </a>
          </>
        )}
        <Since code={code} />.{' '}
        {may('editor') &&
          (part === undefined ? (
            'Resume it with the button above.'
          ) : (
            <a href={`${pathTo('code', { id })}?part=${part}`}>{action}</a>
          ))}
      </p>
    </Notice>
  );
}

function Since({ code: { status, startsAt, expiresAt } }: { readonly code: QrCode }) {
  if (status === 'not_started' && startsAt !== null) {
    return (
      <>
        {' '}
        until <Time iso={startsAt} style="full" />
      </>
    );
  }
  if (status === 'expired' && expiresAt !== null) {
    return (
      <>
        {' '}
        since <Time iso={expiresAt} style="full" />
      </>
    );
  }
  return null;
}
