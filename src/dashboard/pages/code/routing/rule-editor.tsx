/** The fields of one rule: its conditions, where it leads, and its name. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { labelLengthMax } from '../../../../model/routing/labels.ts';
import { conditionsMax } from '../../../../model/routing/routing.ts';
import { Button } from '../../../parts/button.tsx';
import { TextField } from '../../../parts/field.tsx';
import { Icon } from '../../../parts/icon.tsx';
import { Menu, MenuItem } from '../../../parts/menu.tsx';
import { ConditionFields, emptyCondition } from './condition-fields.tsx';
import { OutcomeFields } from './outcome-fields.tsx';
import type { RuleDraft } from './route-draft.ts';
import type { RouteFaults } from './route-faults.ts';
import { type ConditionKind, conditionKinds } from './route-choices.ts';
import { addressFault } from './split-fields.tsx';

interface EditorProps {
  readonly rule: RuleDraft;
  readonly labels: ReadonlyMap<number, string>;
  readonly faults: RouteFaults;
  readonly onChange: (rule: RuleDraft) => void;
  /** Just added: takes the focus. */
  readonly hasFocus: boolean;
  readonly onDone: () => void;
}

export function RuleEditor({ rule, labels, faults, onChange, hasFocus, onDone }: EditorProps) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // A suggested rule has its conditions and needs an address.
    const first = Object.keys(rule.if).length === 0 ? '.menu > button' : 'input[type=url]';
    if (hasFocus) place.current?.querySelector<HTMLElement>(first)?.focus();
  }, [hasFocus]);
  const { key, label, split } = rule;
  return (
    <div class="rule-editor" ref={place}>
      <Conditions rule={rule} faults={faults} onChange={onChange} />
      <OutcomeFields
        split={split}
        onSplit={(next) => onChange({ ...rule, split: next, ...keptTarget(rule, next) })}
        single="One destination"
        first={rule.target}
        labels={labels}
        faults={faults}
        fault={faults.atKey(key, 'then.split')}
      >
        <TextField
          label="Destination"
          type="url"
          placeholder="https://example.com/menu"
          value={rule.target}
          onInput={(target) => onChange({ ...rule, target })}
          fault={addressFault(
            rule.target,
            faults.underKey(key, 'then.target') ?? faults.atKey(key, 'then'),
          )}
        />
      </OutcomeFields>
      <TextField
        label="Name in analytics"
        isOptional
        lengthMax={labelLengthMax}
        placeholder={labels.get(key) ?? ''}
        hint={
          split === undefined
            ? 'Use 1 to 40 lowercase letters, digits or hyphens.'
            : 'Use 1 to 40 lowercase letters, digits or hyphens. Scans count under the names above.'
        }
        value={label}
        onInput={(text) => onChange({ ...rule, label: text.trim() })}
        fault={faults.underKey(key, 'label')}
      />
      <RuleFault text={faults.atKey(key)} />
      <p>
        <Button size="small" icon="check" onClick={onDone}>
          Done
        </Button>
      </p>
    </div>
  );
}

/** Back to one destination: the first of the split. */
const keptTarget = (rule: RuleDraft, next: RuleDraft['split']): Partial<RuleDraft> =>
  next === undefined ? { target: rule.split?.[0]?.target ?? rule.target } : {};

const withFields: ReadonlySet<ConditionKind> = new Set(['time', 'date', 'query']);

/** @param field field of the condition; empty = the condition itself */
function faultIn(
  faults: RouteFaults,
  key: number,
  kind: ConditionKind,
  field: string,
): string | undefined {
  const path = `if.${kind}`;
  if (field !== '') return faults.underKey(key, `${path}.${field}`);
  return withFields.has(kind) ? faults.atKey(key, path) : faults.underKey(key, path);
}

function RuleFault({ text }: { readonly text: string | undefined }) {
  return text === undefined ? null : <p class="field-fault">{text}</p>;
}

interface ConditionsProps {
  readonly rule: RuleDraft;
  readonly faults: RouteFaults;
  readonly onChange: (rule: RuleDraft) => void;
}

function Conditions({ rule, faults, onChange }: ConditionsProps) {
  const { key, if: conditions } = rule;
  const shown = conditionKinds.filter(({ value }) => conditions[value] !== undefined);
  const missing = conditionKinds.filter(({ value }) => conditions[value] === undefined);
  const place = useRef<HTMLDivElement>(null);
  const [added, setAdded] = useState<ConditionKind>();
  useEffect(() => {
    if (added === undefined) return;
    place.current?.querySelector<HTMLElement>(`[data-kind=${added}] input`)?.focus();
  }, [added]);
  const add = (kind: ConditionKind): void => {
    onChange({ ...rule, if: { ...conditions, ...emptyCondition(kind) } });
    setAdded(kind);
  };
  const remove = (kind: ConditionKind): void => {
    const { [kind]: _, ...rest } = conditions;
    onChange({ ...rule, if: rest });
    setAdded(undefined);
  };
  const fault = faults.atKey(key, 'if');
  return (
    <div class="form" ref={place}>
      {shown.map(({ value: kind, label, heading }, at) => (
        <section key={kind} class="condition" data-kind={kind} aria-label={label}>
          <header class="condition-head">
            <h3>
              {at === 0 ? 'If' : 'and'} {heading}
            </h3>
            <Button
              tone="quiet"
              size="small"
              icon="close"
              label={`Remove the condition ${label.toLowerCase()}`}
              onClick={() => remove(kind)}
            />
          </header>
          <ConditionFields
            kind={kind}
            conditions={conditions}
            onChange={(change) => onChange({ ...rule, if: { ...conditions, ...change } })}
            faultOf={(field) => faultIn(faults, key, kind, field)}
          />
        </section>
      ))}
      {shown.length === 0 && <p class="soft">Add a condition.</p>}
      <RuleFault text={fault} />
      {shown.length < conditionsMax && (
        <Menu
          align="start"
          buttonClass="button button-plain button-small"
          button={
            <>
              <Icon name="plus" />
              <span>Add condition</span>
            </>
          }
        >
          {missing.map(({ value, label }) => (
            <MenuItem key={value} onClick={() => add(value)}>
              {label}
            </MenuItem>
          ))}
        </Menu>
      )}
    </div>
  );
}
