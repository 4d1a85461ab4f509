/** What was changed on a code, by whom and when: its events, newest first. */
import { useEffect, useState } from 'preact/hooks';
import { call } from '../../client/http.ts';
import { type Problem, problemOf } from '../../client/problem.ts';
import { useResource } from '../../client/resource.ts';
import type { EventPage, Page as PageOf, QrCode, ServiceEvent } from '../../client/wire.ts';
import { Empty, ProblemNotice } from '../../parts/notice.tsx';
import { Card, Skeleton } from '../../parts/page.tsx';
import { Time } from '../../parts/time.tsx';

interface Member {
  readonly userId: string;
  readonly name: string;
}

/** The list of events is the workspace's: so many pages of a hundred are looked through. */
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
  const nameOf = (userId: unknown): string =>
    members.data?.data.find((member) => member.userId === userId)?.name ?? 'Somebody who has left';
  return (
    <Card title="History" lead="Changes of the last days; who follows them all uses webhooks">
      {problem && <ProblemNotice problem={problem} onRetry={read} />}
      {events === undefined && problem === undefined && <Skeleton lines={4} />}
      {events?.length === 0 && <Empty icon="edit" title="Nothing was changed lately" />}
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
          <dt>{key}</dt>
          <dd>
            <s class="soft">{textOf(before[key])}</s> → {textOf(after[key])}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
    ? Object.fromEntries(Object.entries(value))
    : {};
}

const textLengthMax = 200;
function textOf(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > textLengthMax ? `${text.slice(0, textLengthMax)}…` : text;
}
