/** The active filters, each with a cross that removes it. Codes and campaigns are shown by name. */
import { useCodeName } from '../../client/code-names.ts';
import { shortAddress } from '../../client/format.ts';
import { useResource } from '../../client/resource.ts';
import { pushQuery } from '../../client/router.ts';
import { Button, ButtonLink } from '../../parts/button.tsx';
import { Chip } from '../../parts/list.tsx';
import { pathTo } from '../../paths.ts';
import { type FilterName, filterLabels, filterNames, keyLabel } from '../state/filters.ts';
import { filterChange, noFilters, type ViewState } from '../state/view-state.ts';

interface ChipProps {
  readonly name: FilterName;
  readonly value: string;
}

export function FilterChips({ state: { filters } }: { readonly state: ViewState }) {
  const shown = filterNames.flatMap((name): ChipProps[] => {
    const value = filters[name];
    return value === undefined ? [] : [{ name, value }];
  });
  if (shown.length === 0) return null;
  return (
    <div class="picked filters" role="group" aria-label="Filters">
      {shown.map(({ name, value }) => {
        if (name === 'code') return <CodeChip key={name} id={value} />;
        if (name === 'campaign') return <CampaignChip key={name} id={value} />;
        return <FilterChip key={name} name={name} text={keyLabel(name, value)} />;
      })}
      {shown.length > 1 && (
        <Button size="small" tone="quiet" onClick={() => pushQuery(noFilters)}>
          Remove all
        </Button>
      )}
      {filters.code !== undefined && (
        <ButtonLink
          size="small"
          tone="quiet"
          icon="open"
          href={pathTo('code', { id: filters.code })}
        >
          Open the code
        </ButtonLink>
      )}
    </div>
  );
}

function FilterChip({ name, text }: { readonly name: FilterName; readonly text: string }) {
  const label = `${filterLabels[name]}: ${text}`;
  return (
    <Chip
      label={label}
      action={`Remove the filter ${label}`}
      onRemove={() => pushQuery(filterChange(name, undefined))}
    />
  );
}

function CodeChip({ id }: { readonly id: string }) {
  const code = useCodeName(id);
  const text =
    code === undefined ? '…' : code === null ? id : (code.name ?? shortAddress(code.target));
  return <FilterChip name="code" text={text} />;
}

function CampaignChip({ id }: { readonly id: string }) {
  const { data, problem } = useResource<{ readonly name: string }>(`/campaigns/${id}`);
  return <FilterChip name="campaign" text={data?.name ?? (problem === undefined ? '…' : id)} />;
}
