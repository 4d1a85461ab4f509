/** Events as text. */
import type { ComponentChildren } from 'preact';
import { type EventKind, hiddenEmail } from '../../model/event.ts';
import { capitalize, countryName, formatMoment, shortAddress } from '../client/format.ts';
import { useCodeName } from '../client/code-names.ts';
import type { ServiceEvent } from '../client/wire.ts';
import { pathTo } from '../paths.ts';
import type { IconName } from './icon.tsx';

export const eventIcons: Readonly<Record<EventKind, IconName>> = {
  'qr.created': 'plus',
  'qr.updated': 'edit',
  'qr.deleted': 'trash',
  'qr.scanned': 'scan',
  'qr.silent': 'warning',
  'qr.spiked': 'warning',
  'qr.target_failed': 'warning',
  'qr.target_recovered': 'check',
  'campaign.created': 'calendar',
  'campaign.ended': 'calendar',
  'subscription.created': 'card',
  'subscription.updated': 'card',
  'subscription.canceled': 'card',
  'member.invited': 'person',
  'member.joined': 'team',
};

export const eventLabels: Readonly<Record<EventKind, string>> = {
  'qr.created': 'Code created',
  'qr.updated': 'Code updated',
  'qr.deleted': 'Code deleted',
  'qr.scanned': 'Code scanned',
  'qr.silent': 'No scans',
  'qr.spiked': 'Unusually many scans',
  'qr.target_failed': 'Destination fails',
  'qr.target_recovered': 'Destination works again',
  'campaign.created': 'Campaign created',
  'campaign.ended': 'Campaign ended',
  'subscription.created': 'Paid plan started',
  'subscription.updated': 'Plan changed',
  'subscription.canceled': 'Plan canceled',
  'member.invited': 'Member invited',
  'member.joined': 'Member joined',
};

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** One line about an event, and a second one in a softer color. */
export function EventText({ event }: { readonly event: ServiceEvent }) {
  const { event: kind, data } = event;
  const id = textOf(data.qrId) || textOf(data.id);
  if (kind === 'qr.scanned') {
    const where = [textOf(data.city), countryName(textOf(data.country))].filter(
      (part) => part !== '',
    );
    return (
      <Lines
        first={
          <>
            Scan of <CodeName id={id} />
          </>
        }
        second={[where.join(', '), capitalize(textOf(data.device)), textOf(data.os)]
          .filter((part) => part !== '')
          .join(' · ')}
      />
    );
  }
  if (kind === 'qr.created') {
    return (
      <Lines
        first={
          <>
            New code <CodeName id={id} />
          </>
        }
        second={textOf(data.target)}
      />
    );
  }
  if (kind === 'qr.updated') {
    const keys =
      typeof data.after === 'object' && data.after !== null ? Object.keys(data.after) : [];
    return (
      <Lines
        first={
          <>
            Updated <CodeName id={id} />
          </>
        }
        second={keys.join(', ')}
      />
    );
  }
  return <OtherText event={event} id={id} />;
}

/** Events that are not about a code. */
function OtherText({ event, id }: { readonly event: ServiceEvent; readonly id: string }) {
  const { event: kind, data } = event;
  if (kind === 'member.invited' || kind === 'member.joined') {
    const second = [textOf(data.email), textOf(data.role)]
      .filter((part) => part !== '' && part !== hiddenEmail)
      .join(' · ');
    return <Lines first={eventLabels[kind]} second={second} />;
  }
  if (textOf(data.watchId) !== '') return <WatchText event={event} />;
  if (kind === 'campaign.created' || kind === 'campaign.ended') {
    const name = textOf(data.name);
    const link = <a href={pathTo('campaign', { id })}>{name === '' ? 'campaign' : name}</a>;
    return (
      <Lines
        first={
          <>
            {eventLabels[kind]}: {link}
          </>
        }
        second=""
      />
    );
  }
  const effectiveAt = textOf(data.effectiveAt);
  return (
    <Lines
      first={eventLabels[kind]}
      second={effectiveAt === '' ? textOf(data.plan) : `Until ${formatMoment(effectiveAt)}`}
    />
  );
}

/** Events of alerts. */
function WatchText({ event: { event: kind, data } }: { readonly event: ServiceEvent }) {
  const [qrCodeId, campaignId] = [textOf(data.qrCodeId), textOf(data.campaignId)];
  const href =
    qrCodeId !== ''
      ? pathTo('code', { id: qrCodeId })
      : campaignId !== ''
        ? pathTo('campaign', { id: campaignId })
        : pathTo('alerts');
  const link = (
    <a dir="auto" href={href}>
      {textOf(data.name)}
    </a>
  );
  const second = textOf(data.target) || `Since ${formatMoment(textOf(data.since))}`;
  return (
    <Lines
      first={
        <>
          {eventLabels[kind]}: {link}
        </>
      }
      second={second}
    />
  );
}

function Lines({ first, second }: { readonly first: ComponentChildren; readonly second: string }) {
  return (
    <div class="feed-text">
      <span class="two-lines">{first}</span>
      {second !== '' && <span class="row-sub two-lines">{second}</span>}
    </div>
  );
}

const tailLength = 6;

/** A code's name; the end of its id while the name loads, and after the code is deleted. */
function CodeName({ id }: { readonly id: string }) {
  const known = useCodeName(id);
  const tail = `…${id.slice(-tailLength)}`;
  if (known === null) return <span>{tail}</span>;
  const label = known === undefined ? tail : (known.name ?? shortAddress(known.target));
  return (
    <a dir="auto" href={pathTo('code', { id })}>
      {label}
    </a>
  );
}
