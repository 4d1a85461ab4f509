/** A table with column heads. */
import type { ComponentChildren } from 'preact';

/** A column head; `wide` = hidden on narrow screens, `unseen` = for screen readers only. */
export type Column = string | { readonly wide: string } | { readonly unseen: string };

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
  const isWide = typeof of !== 'string' && 'wide' in of;
  const isUnseen = typeof of !== 'string' && 'unseen' in of;
  return (
    <th scope="col" {...(isWide ? { class: 'hide-narrow' } : {})}>
      {isUnseen ? <span class="unseen">{nameOf(of)}</span> : nameOf(of)}
    </th>
  );
}

function nameOf(column: Column): string {
  if (typeof column === 'string') return column;
  return 'wide' in column ? column.wide : column.unseen;
}
