/** A table with column heads. If it is wider than its container, it scrolls, by keyboard too. */
import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

/** A column head; `wide` = hidden on narrow screens, `unseen` = for screen readers only, `end` = numbers. */
export type Column =
  | string
  | { readonly wide: string }
  | { readonly unseen: string }
  | { readonly end: string };

export const actionsColumn: Column = { unseen: 'Actions' };

interface TableProps {
  /** For screen readers. */
  readonly caption: string;
  readonly columns: readonly Column[];
  /** Rows. */
  readonly children: ComponentChildren;
}

export function Table({ caption, columns, children }: TableProps) {
  const place = useRef<HTMLDivElement>(null);
  const isWide = useOverflow(place);
  const scroller = { tabIndex: 0, role: 'group', 'aria-label': caption } as const;
  return (
    <div ref={place} class="table-wrap" {...(isWide ? scroller : {})}>
      <table class="table">
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <Head key={nameOf(column)} of={column} />
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

/** Whether the content is now wider than the element: both may change their width. */
function useOverflow(place: RefObject<HTMLElement | null>): boolean {
  const [isWide, setWide] = useState(false);
  useEffect(() => {
    const { current } = place;
    if (current === null) return undefined;
    const observer = new ResizeObserver(() => setWide(current.scrollWidth > current.clientWidth));
    observer.observe(current);
    for (const child of current.children) observer.observe(child);
    return () => observer.disconnect();
  }, []);
  return isWide;
}

function Head({ of }: { readonly of: Column }) {
  if (typeof of === 'string') return <th scope="col">{of}</th>;
  const isUnseen = 'unseen' in of;
  return (
    <th scope="col" {...(isUnseen ? {} : { class: 'wide' in of ? 'hide-narrow' : 'end' })}>
      {isUnseen ? <span class="unseen">{of.unseen}</span> : nameOf(of)}
    </th>
  );
}

function nameOf(column: Column): string {
  return typeof column === 'string' ? column : (Object.values(column)[0] ?? '');
}
