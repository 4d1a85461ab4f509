/** The changes of a code: its events, newest first. */
import { useEffect, useState } from 'preact/hooks';
import type { RouteRule, RouteVariant } from '../../../model/routing/routing.ts';
import { shortAddress } from '../../client/format.ts';
import { call } from '../../client/http.ts';
import { type Problem, problemOf } from '../../client/problem.ts';
import { useResource } from '../../client/resource.ts';
import { useRetry } from '../../client/use-retry.ts';
import type { EventPage, Page as PageOf, QrCode, ServiceEvent } from '../../client/wire.ts';
import { Empty, ProblemNotice } from '../../parts/notice.tsx';
import { Card, Skeleton } from '../../parts/page.tsx';
import { Time } from '../../parts/time.tsx';
import { ruleText } from './routing/sentence.ts';

interface Member {
  readonly userId: string;
  readonly name: string;
}

/** All events of a workspace are one list: the page searches this many pages of 100. */
const pagesMax = 5;

async function readHistory(codeId: string): Promise<readonly ServiceEvent[]> {
  const found: ServiceEvent[] = [];
  let cursor = '';
  for (let page = 0; page < pagesMax; page += 1) {
    const more = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const answer = await call<EventPage>('GET', `/events?type=qr.updated&limit=100${more}`);
    found.push(...answer.data.filter(({ data }) => data.id === codeId));
    if (answer.nextCursor === undefined) break;
    cursor = answer.nextCursor;
  }
  return found;
}

export function HistoryPart({ code }: { readonly code: QrCode }) {
  const [events, setEvents] = useState<readonly ServiceEvent[]>();
  const [problem, setProblem] = useState<Problem>();
  const members = useResource<PageOf<Member>>('/team/members?limit=100');
  const read = (): void => {
    setProblem(undefined);
    readHistory(code.id).then(setEvents, (error: unknown) => setProblem(problemOf(error)));
  };
  useEffect(read, [code.updatedAt]);
  useRetry(problem, read);
  const nameOf = (userId: unknown): string => {
    if (members.data === undefined) return '…';
    return members.data.data.find((member) => member.userId === userId)?.name ?? 'Former member';
  };
  return (
    <Card
      title="History"
      lead="Recent changes. For a complete log, subscribe a webhook to qr.updated."
    >
      {problem && <ProblemNotice problem={problem} onRetry={read} />}
      {events === undefined && problem === undefined && <Skeleton lines={4} />}
      {events?.length === 0 && <Empty icon="edit" title="No recent changes" />}
      <ol class="feed">
        {events?.map((event) => (
          <li key={event.id} class="attempt">
            <p>
              <b>{nameOf(event.data.updatedBy)}</b>{' '}
              {event.createdAt !== undefined && (
                <span class="soft">
                  <Time iso={event.createdAt} />
                </span>
              )}
            </p>
            <Changes event={event} />
          </li>
        ))}
      </ol>
    </Card>
  );
}

function Changes({ event }: { readonly event: ServiceEvent }) {
  const before = recordOf(event.data.before);
  const after = recordOf(event.data.after);
  return (
    <dl class="facts">
      {Object.keys(after).map((key) => (
        <div key={key} class="fact">
          <dt>{keyLabels[key] ?? key}</dt>
          <dd>
            <span class="soft">{textOf(before[key])}</span>
            <br />
            <span aria-hidden="true">→ </span>
            <span class="unseen">changed to </span>
            {textOf(after[key])}
          </dd>
        </div>
      ))}
    </dl>
  );
}

const keyLabels: Readonly<Record<string, string>> = {
  target: 'Destination',
  name: 'Name',
  tags: 'Tags',
  expiresAt: 'Expires',
  scanLimit: 'Scan limit',
  externalId: 'External ID',
  campaignIds: 'Campaigns',
  design: 'Design',
  metadata: 'Metadata',
  rules: 'Rules',
  split: 'Split',
  utm: 'UTM parameters',
  passQuery: 'Pass on parameters',
  startsAt: 'Starts',
  paused: 'Paused',
  fallbackUrl: 'Fallback',
};

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
    ? Object.fromEntries(Object.entries(value))
    : {};
}

const isRule = (value: object): value is RouteRule => 'if' in value && 'then' in value;
const isVariant = (value: object): value is RouteVariant => 'weight' in value && 'target' in value;

/** An item of a list: a tag, a rule, or a variant of a split. */
function itemText(item: unknown): string {
  if (typeof item !== 'object' || item === null) return String(item);
  if (isRule(item)) return ruleText(item);
  return isVariant(item) ? `${shortAddress(item.target)} (${item.weight})` : JSON.stringify(item);
}

const textLengthMax = 200;
function textOf(value: unknown): string {
  if (value === null || value === undefined) return 'none';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(itemText).join(', ');
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > textLengthMax ? `${text.slice(0, textLengthMax)}…` : text;
}
