/**
 * All rows of a breakdown in a dialog, with a search. There may be 10,000 rows: the dialog draws some at a time, so
 * that opening and typing stay fast. The search covers all rows.
 */
import { useMemo, useState } from 'preact/hooks';
import { formatNumber } from '../client/format.ts';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { ExportButton } from '../parts/export-button.tsx';
import { TextField } from '../parts/field.tsx';
import { type BarProps, BarRows, OtherRow } from './bar-rows.tsx';
import type { Row } from './rows.ts';

interface AllProps extends BarProps {
  /** Most scans first. */
  readonly rows: readonly Row[];
  readonly other: number;
  readonly total: number;
  readonly onClose: () => void;
}

/** Rows drawn at once: takes 10 ms. */
const rowsAtOnce = 200;

export function AllRows(props: AllProps) {
  const { name, rows, labelOf, csv, other, total, selected, onSelect, onClose } = props;
  const [search, setSearch] = useState('');
  const [count, setCount] = useState(rowsAtOnce);
  const plain = useMemo(() => rows.map(({ key }) => plainOf(labelOf(key))), [rows]);
  const found = useMemo(() => {
    const wanted = plainOf(search.trim());
    return rows.filter((_, index) => plain[index]?.includes(wanted) === true);
  }, [rows, plain, search]);
  const choose = (key: string | undefined): void => {
    onSelect?.(key);
    onClose();
  };
  const more = Math.min(rowsAtOnce, found.length - count);
  return (
    <Dialog title={name} width="wide" clickBeside="closes" onClose={onClose}>
      <TextField
        label={`Search ${name.toLowerCase()}`}
        type="search"
        hasFocus
        value={search}
        onInput={(text) => {
          setSearch(text);
          setCount(rowsAtOnce);
        }}
      />
      <p class="soft" role="status">
        {found.length === rows.length
          ? `${formatNumber(rows.length)} in total`
          : `${formatNumber(found.length)} of ${formatNumber(rows.length)}`}
      </p>
      <BarRows
        name={name}
        rows={found.slice(0, count)}
        labelOf={labelOf}
        total={total}
        most={rows[0]?.scans ?? 0}
        selected={selected}
        onSelect={onSelect === undefined ? undefined : choose}
      />
      {more > 0 && (
        <Button tone="quiet" onClick={() => setCount(count + rowsAtOnce)}>
          {`Show ${formatNumber(more)} more`}
        </Button>
      )}
      {other > 0 && search === '' && <OtherRow scans={other} total={total} />}
      {csv !== undefined && (
        <footer class="dialog-foot">
          <ExportButton {...csv} label="CSV" of={name} />
        </footer>
      )}
    </Dialog>
  );
}

/** Ignores case and accents: `Zurich` finds Zürich. */
const plainOf = (text: string): string =>
  text
    .normalize('NFD')
    .replaceAll(/\p{Diacritic}/gu, '')
    .toLowerCase();
