/** The filters of the list of codes. The search waits until typing stops. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { codeStatuses } from '../../../model/code.ts';
import { useResource } from '../../client/resource.ts';
import { setQuery } from '../../client/router.ts';
import { searchFieldId } from '../../client/shortcuts.ts';
import { SelectField, TextField } from '../../parts/field.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Chip } from '../../parts/list.tsx';
import type { Campaign } from '../campaigns/campaign-labels.ts';
import { statusLabels } from './code-status.tsx';
import { codeTypeOptions } from './code-types.ts';
import { useTags } from './tags.ts';

const pauseMs = 300;

const kinds = [
  { value: '', label: 'Dynamic and static' },
  { value: 'true', label: 'Dynamic' },
  { value: 'false', label: 'Static' },
] as const;

const statuses = [
  { value: '', label: 'Any status' },
  ...codeStatuses.map((value) => ({ value, label: statusLabels[value] })),
] as const;

const types = [{ value: '', label: 'All types' }, ...codeTypeOptions] as const;

export function CodeFilters({ query }: { readonly query: URLSearchParams }) {
  const set = (name: string, value: string): void => setQuery({ [name]: value, page: undefined });
  const [tag, setTag] = useState(query.get('tag') ?? '');
  useLater({
    typed: tag,
    onTyped: setTag,
    known: query.get('tag') ?? '',
    apply: (text) => set('tag', text),
  });
  const tags = useTags();
  const campaign = query.get('campaign');
  return (
    <>
      <search class="codes-filters">
        <SearchField value={query.get('search') ?? ''} onChange={(text) => set('search', text)} />
        <SelectField
          label="Kind"
          value={kinds.find(({ value }) => value === query.get('dynamic'))?.value ?? ''}
          options={kinds}
          onChange={(value) => set('dynamic', value)}
        />
        <SelectField
          label="Type"
          value={types.find(({ value }) => value === query.get('type'))?.value ?? ''}
          options={types}
          onChange={(value) => set('type', value)}
        />
        <SelectField
          label="Status"
          value={statuses.find(({ value }) => value === query.get('status'))?.value ?? ''}
          options={statuses}
          onChange={(value) => set('status', value)}
        />
        <TextField label="Tag" value={tag} onInput={setTag} placeholder="Any" suggestions={tags} />
      </search>
      {campaign !== null && <CampaignFilter id={campaign} onClear={() => set('campaign', '')} />}
    </>
  );
}

interface CampaignFilterProps {
  readonly id: string;
  readonly onClear: () => void;
}

/** A filter set on the campaign's page and removed here. */
function CampaignFilter({ id, onClear }: CampaignFilterProps) {
  const { data } = useResource<Campaign>(`/campaigns/${id}`);
  return (
    <p class="picked">
      <Chip
        label={`Campaign: ${data?.name ?? '…'}`}
        action="Show all campaigns"
        onRemove={onClear}
      />
    </p>
  );
}

interface SearchProps {
  readonly value: string;
  readonly onChange: (text: string) => void;
}

function SearchField({ value, onChange }: SearchProps) {
  const [text, setText] = useState(value);
  const field = useRef<HTMLInputElement>(null);
  useLater({ typed: text, onTyped: setText, known: value, apply: onChange });
  useEffect(() => {
    if (new URLSearchParams(location.search).get('focus') !== 'search') return;
    setQuery({ focus: undefined });
    field.current?.focus();
  }, []);
  return (
    <div class="field search">
      <label class="field-label" for={searchFieldId}>
        Search
      </label>
      <Icon name="search" />
      <input
        ref={field}
        id={searchFieldId}
        class="input"
        type="search"
        placeholder="Name, address, short code"
        value={text}
        autocomplete="off"
        onInput={(event) => setText(event.currentTarget.value)}
      />
    </div>
  );
}

interface Later {
  readonly typed: string;
  readonly onTyped: (text: string) => void;
  /** The search in effect. */
  readonly known: string;
  readonly apply: (text: string) => void;
}

/** Applies the text a moment after the last key, and follows changes from outside. */
function useLater({ typed, onTyped, known, apply }: Later): void {
  const applied = useRef(known);
  useEffect(() => {
    if (known === applied.current) return;
    applied.current = known;
    onTyped(known);
  }, [known]);
  useEffect(() => {
    const text = typed.trim();
    if (text === applied.current) return undefined;
    const timer = setTimeout(() => {
      applied.current = text;
      apply(text);
    }, pauseMs);
    return () => clearTimeout(timer);
  }, [typed]);
}
