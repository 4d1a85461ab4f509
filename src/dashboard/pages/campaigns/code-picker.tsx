/** Picks codes: a search, its results, and the picked codes as chips. */
import { useEffect, useState } from 'preact/hooks';
import { useResource } from '../../client/resource.ts';
import type { Page as PageOf, QrCodeItem } from '../../client/wire.ts';
import { CheckField, TextField } from '../../parts/field.tsx';
import { Chip } from '../../parts/list.tsx';
import { Ready, Skeleton } from '../../parts/page.tsx';
import { nameOf } from '../codes/codes-table.tsx';
import type { CampaignWithCodes } from './campaign-labels.ts';

interface PickerProps {
  readonly chosen: readonly string[];
  /** Codes with names known before the search. */
  readonly known: CampaignWithCodes['qrCodes'];
  readonly onChange: (ids: readonly string[]) => void;
  readonly fault: string | undefined;
}

const pauseMs = 300;
const limit = 30;
const chipsMax = 40;

export function CodePicker({ chosen, known, onChange, fault }: PickerProps) {
  const [text, setText] = useState('');
  const [search, setSearch] = useState('');
  const [names, setNames] = useState<ReadonlyMap<string, string>>(
    () =>
      new Map(known.map(({ id, name, target }) => [id, nameOf({ name, target: target ?? '' })])),
  );
  useEffect(() => {
    const timer = setTimeout(() => setSearch(text.trim()), pauseMs);
    return () => clearTimeout(timer);
  }, [text]);
  const filter = search === '' ? '' : `&search=${encodeURIComponent(search)}`;
  const found = useResource<PageOf<QrCodeItem>>(`/qr-codes?limit=${limit}&dynamic=true${filter}`);
  useEffect(() => {
    const seen = (found.data?.data ?? []).map((code): [string, string] => [code.id, nameOf(code)]);
    if (seen.length > 0) setNames((before) => new Map([...before, ...seen]));
  }, [found.data]);
  const toggle = (id: string): void =>
    onChange(chosen.includes(id) ? chosen.filter((other) => other !== id) : [...chosen, id]);
  return (
    <div class="form">
      <TextField
        label="Codes"
        type="search"
        value={text}
        onInput={setText}
        fault={fault}
        placeholder="Search by name, address or short code"
        hint={`${chosen.length} selected`}
      />
      <Chips chosen={chosen} names={names} onRemove={toggle} />
      <Ready of={found} skeleton={<Skeleton height={200} />}>
        {({ data }) => (
          <div class="pick-list" tabIndex={0} role="group" aria-label="Codes to choose from">
            {data.length === 0 && <p class="pick-empty soft">No codes match.</p>}
            {data.map((code) => (
              <CheckField
                key={code.id}
                label={nameOf(code)}
                hint={code.target}
                checked={chosen.includes(code.id)}
                onChange={() => toggle(code.id)}
              />
            ))}
          </div>
        )}
      </Ready>
    </div>
  );
}

interface ChipsProps {
  readonly chosen: readonly string[];
  readonly names: ReadonlyMap<string, string>;
  readonly onRemove: (id: string) => void;
}

function Chips({ chosen, names, onRemove }: ChipsProps) {
  if (chosen.length === 0) return null;
  return (
    <div class="picked">
      {chosen.slice(0, chipsMax).map((id) => {
        const name = names.get(id) ?? `…${id.slice(-6)}`;
        return (
          <Chip key={id} label={name} action={`Remove ${name}`} onRemove={() => onRemove(id)} />
        );
      })}
      {chosen.length > chipsMax && <span class="soft">and {chosen.length - chipsMax} more</span>}
    </div>
  );
}
