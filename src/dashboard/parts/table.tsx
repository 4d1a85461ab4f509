/** A table with column heads. */
import type { ComponentChildren } from 'preact';

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
  return (
    <div class="table-wrap">
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
