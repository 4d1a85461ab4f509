/**
 * Scans by hour of the week: a table of seven days and 24 hours with colored cells, which a screen reader reads as a
 * table. Each cell has its full text, shown on hover and focus. The arrow keys move between cells.
 */
import { useRef, useState } from 'preact/hooks';
import { formatNumber, plural } from '../client/format.ts';
import { Empty } from '../parts/notice.tsx';
import { Skeleton } from '../parts/page.tsx';
import { ColorLegend } from './color-legend.tsx';
import { stepClass, stepsOf } from './color-steps.ts';
import { type Row, sumOf } from './rows.ts';
import { Tips } from './tips.tsx';

const days = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
export type WeekStart = 'mon' | 'sat' | 'sun';

interface HeatProps {
  /** By hour of the week, `mon-00`; undefined while they load. */
  readonly rows: readonly Row[] | undefined;
  readonly weekStart: WeekStart;
}

interface Hour {
  /** `Monday 14:00` */
  readonly name: string;
  readonly scans: number;
}

const hours = Array.from({ length: 24 }, (_, hour) => String(hour).padStart(2, '0'));
const weekdays = (weekday: 'long' | 'short'): string[] => {
  const names = new Intl.DateTimeFormat(undefined, { weekday, timeZone: 'UTC' });
  // 5 January 1970 was a Monday.
  return days.map((_, index) => names.format((4 + index) * 86_400_000));
};
const [longNames, shortNames] = [weekdays('long'), weekdays('short')];
/** Height of the content while it loads: that of the table. */
const placeHeight = 300;

export function HeatMap({ rows, weekStart }: HeatProps) {
  if (rows === undefined) return <Skeleton height={placeHeight} />;
  if (sumOf(rows) === 0) return <Empty icon="clock" title="No scans in this period" />;
  const scans = new Map(rows.map((row) => [row.key, row.scans]));
  const first = days.indexOf(weekStart);
  const week = days.map((_, index) => (first + index) % days.length);
  const cells = week.map((day) =>
    hours.map((hour): Hour => ({
      name: `${longNames[day] ?? ''} ${hour}:00`,
      scans: scans.get(`${days[day] ?? ''}-${hour}`) ?? 0,
    })),
  );
  const busiest = cells.flat().reduce((best, hour) => (hour.scans > best.scans ? hour : best));
  const steps = stepsOf(busiest.scans, 'even');
  return (
    <div class="heat">
      <p class="soft">
        Most on {busiest.name}: {plural(busiest.scans, 'scan')}
      </p>
      <Cells cells={cells} names={week.map((day) => shortNames[day] ?? '')} steps={steps} />
      <ColorLegend steps={steps} most={busiest.scans} />
    </div>
  );
}

interface CellsProps {
  readonly cells: ReadonlyArray<readonly Hour[]>;
  readonly names: readonly string[];
  readonly steps: readonly number[];
}

function Cells({ cells, names, steps }: CellsProps) {
  const table = useRef<HTMLTableElement>(null);
  /** The only cell in the Tab order. */
  const [at, setAt] = useState({ day: 0, hour: 0 });
  const move = (event: KeyboardEvent): void => {
    const next = nextOf(event.key, at);
    if (next === undefined) return;
    event.preventDefault();
    setAt(next);
    table.current?.tBodies[0]?.rows[next.day]?.cells[next.hour + 1]?.focus();
  };
  return (
    <Tips>
      <table class="heat-table" ref={table} onKeyDown={move}>
        <caption class="unseen">Scans by hour of the week</caption>
        <thead>
          <tr>
            <td />
            {hours.map((hour) => (
              <th key={hour} scope="col">
                <span class="unseen">{hour}:00</span>
                <span aria-hidden="true">{Number(hour) % 3 === 0 ? hour : ''}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {cells.map((row, day) => (
            <tr key={names[day]}>
              <th scope="row">{names[day]}</th>
              {row.map(({ name, scans }, hour) => (
                <td
                  key={name}
                  class={`heat-cell ${stepClass(scans, steps)}`}
                  data-tip={`${name}, ${plural(scans, 'scan')}`}
                  tabIndex={day === at.day && hour === at.hour ? 0 : -1}
                  onFocus={() => setAt({ day, hour })}
                >
                  <span class="unseen">
                    {name}, {formatNumber(scans)} {scans === 1 ? 'scan' : 'scans'}
                  </span>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Tips>
  );
}

interface Place {
  readonly day: number;
  readonly hour: number;
}

function nextOf(key: string, { day, hour }: Place): Place | undefined {
  const [lastDay, lastHour] = [days.length - 1, hours.length - 1];
  if (key === 'ArrowLeft') return { day, hour: Math.max(0, hour - 1) };
  if (key === 'ArrowRight') return { day, hour: Math.min(lastHour, hour + 1) };
  if (key === 'ArrowUp') return { day: Math.max(0, day - 1), hour };
  if (key === 'ArrowDown') return { day: Math.min(lastDay, day + 1), hour };
  if (key === 'Home') return { day, hour: 0 };
  return key === 'End' ? { day, hour: lastHour } : undefined;
}
