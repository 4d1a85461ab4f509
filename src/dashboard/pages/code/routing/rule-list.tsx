/** The rules in order, each a sentence that opens into its fields; last, everyone else. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import { may } from '../../../client/session.ts';
import { shortAddress } from '../../../client/format.ts';
import { Button } from '../../../parts/button.tsx';
import { Icon } from '../../../parts/icon.tsx';
import { Menu, MenuItem } from '../../../parts/menu.tsx';
import { conditionsOf, labelsOf, type RuleDraft } from './route-draft.ts';
import { OutcomeFields } from './outcome-fields.tsx';
import { RuleEditor } from './rule-editor.tsx';
import { sentenceOf } from './sentence.ts';
import { SplitText } from './split-fields.tsx';
import { type Reorder, useReorder } from './use-reorder.ts';
import type { RoutingForm } from './use-routing.ts';

export function RuleList({
  form,
  target,
}: {
  readonly form: RoutingForm;
  readonly target: string;
}) {
  const { draft, change } = form;
  const { rules } = draft;
  const [message, setMessage] = useState('');
  /** Key of a just moved rule: a moved row loses the focus. */
  const moved = useRef<number | undefined>(undefined);
  const move = (from: number, to: number): void => {
    const rest = rules.filter((_, at) => at !== from);
    change({ rules: [...rest.slice(0, to), ...rules.slice(from, from + 1), ...rest.slice(to)] });
    moved.current = rules[from]?.key;
    setMessage(`Moved. It is now rule ${to + 1} of ${rules.length}.`);
  };
  const reorder = useReorder(rules.length, move);
  const remove = (key: number): void => {
    change({ rules: rules.filter((rule) => rule.key !== key) });
    setMessage('Rule deleted.');
    reorder.list.current?.focus();
  };
  useEffect(() => {
    const at = rules.findIndex(({ key }) => key === moved.current);
    moved.current = undefined;
    if (at === -1) return;
    reorder.list.current?.children[at]?.querySelector<HTMLElement>('.rule-handle')?.focus();
  }, [rules]);
  return (
    <>
      <p class="unseen" role="status">
        {message}
      </p>
      <ol class="rules" ref={reorder.list} tabIndex={-1} aria-label="Rules">
        {rules.map((rule, at) => (
          <RuleRow
            key={rule.key}
            rule={rule}
            at={at}
            form={form}
            reorder={reorder}
            move={move}
            remove={remove}
          />
        ))}
        <li class={`rule rule-last${reorder.before === rules.length ? ' rule-before' : ''}`}>
          <EveryoneElse form={form} target={target} />
        </li>
      </ol>
    </>
  );
}

interface RowProps {
  readonly rule: RuleDraft;
  readonly at: number;
  readonly form: RoutingForm;
  readonly reorder: Reorder;
  readonly move: (from: number, to: number) => void;
  readonly remove: (key: number) => void;
}

function RuleRow({ rule, at, form, reorder, move, remove }: RowProps) {
  const { draft, change, faults, warnings, openKeys, setOpen } = form;
  const { key } = rule;
  const isOpen = openKeys.has(key);
  const warning = warnings.get(key);
  const classes = [
    'rule',
    ...(reorder.before === at ? ['rule-before'] : []),
    ...(reorder.from === at ? ['rule-dragged'] : []),
    ...(faults.isFaulty(key) ? ['rule-faulty'] : []),
  ];
  const set = (next: RuleDraft): void =>
    change({ rules: draft.rules.map((one) => (one.key === key ? next : one)) });
  return (
    <li class={classes.join(' ')}>
      <div class="rule-head">
        {may('editor') && (
          <button
            type="button"
            class="rule-handle"
            aria-label={`Move rule ${at + 1} with the arrow keys`}
            title="Drag, or use the arrow keys"
            {...reorder.handle(at)}
          >
            <Icon name="grip" />
          </button>
        )}
        <Sentence rule={rule} at={at} />
        {may('editor') && (
          <RowActions rule={rule} at={at} form={form} move={move} remove={remove} />
        )}
      </div>
      {warning !== undefined && (
        <p class="rule-warning">
          <Icon name="warning" size={16} />
          <span>{warning}. Move it up, or delete it.</span>
        </p>
      )}
      {isOpen && (
        <RuleEditor
          rule={rule}
          labels={labelsOf(draft)}
          faults={faults}
          onChange={set}
          hasFocus={form.addedKey === key}
          onDone={() => setOpen(key, 'closed')}
        />
      )}
    </li>
  );
}

function Sentence({ rule, at }: { readonly rule: RuleDraft; readonly at: number }) {
  return (
    <div class="rule-text">
      <p class="rule-if">
        <span class="unseen">Rule {at + 1}: </span>
        {sentenceOf(conditionsOf(rule.if))}
      </p>
      {rule.split === undefined ? (
        <Arrow>{rule.target === '' ? '…' : shortAddress(rule.target)}</Arrow>
      ) : (
        <SplitText split={rule.split} />
      )}
    </div>
  );
}

function Arrow({ children }: { readonly children: ComponentChildren }) {
  return (
    <p class="rule-then">
      <span aria-hidden="true">→ </span>
      <span class="unseen">leads to </span>
      <span class="break">{children}</span>
    </p>
  );
}

type ActionsProps = Omit<RowProps, 'reorder'>;

function RowActions({ rule: { key }, at, form, move, remove }: ActionsProps) {
  const { draft, openKeys, setOpen } = form;
  const isOpen = openKeys.has(key);
  const { rules } = draft;
  return (
    <div class="row-actions">
      <Button
        tone="quiet"
        icon={isOpen ? 'up' : 'edit'}
        label={`${isOpen ? 'Close' : 'Edit'} rule ${at + 1}`}
        onClick={() => setOpen(key, isOpen ? 'closed' : 'open')}
      />
      <Menu
        buttonClass="button button-quiet button-medium button-square"
        button={
          <>
            <Icon name="more" />
            <span class="unseen">More for rule {at + 1}</span>
          </>
        }
      >
        {at > 0 && (
          <MenuItem icon="up" onClick={() => move(at, at - 1)}>
            Move up
          </MenuItem>
        )}
        {at < rules.length - 1 && (
          <MenuItem icon="down" onClick={() => move(at, at + 1)}>
            Move down
          </MenuItem>
        )}
        <MenuItem icon="trash" tone="danger" onClick={() => remove(key)}>
          Delete rule
        </MenuItem>
      </Menu>
    </div>
  );
}

/** The destination if no rule matches. */
function EveryoneElse({ form, target }: { readonly form: RoutingForm; readonly target: string }) {
  const { draft, change, faults } = form;
  const { split, rules } = draft;
  const [isOpen, setOpen] = useState(false);
  const isFaulty = faults.under('split') !== undefined;
  const shown = isOpen || isFaulty;
  return (
    <>
      <div class="rule-head">
        <div class="rule-text">
          <p class="rule-if">{rules.length === 0 ? 'Everyone' : 'Everyone else'}</p>
          {split === undefined ? (
            <Arrow>{shortAddress(target)}</Arrow>
          ) : (
            <SplitText split={split} />
          )}
        </div>
        {may('editor') && (
          <Button
            tone="quiet"
            icon={shown ? 'up' : 'edit'}
            label={shown ? 'Close everyone else' : 'Edit everyone else'}
            onClick={() => setOpen(!shown)}
          />
        )}
      </div>
      {shown && (
        <div class="rule-editor">
          <OutcomeFields
            split={split}
            onSplit={(next) => change({ split: next })}
            single="The destination of the code"
            first={target}
            labels={labelsOf(draft)}
            faults={faults}
            fault={faults.at('split')}
          >
            <p class="field-hint">Use “Change destination” at the top of this page.</p>
          </OutcomeFields>
          {split !== undefined && (
            <p class="field-hint">
              Link previews and search engines get the destination at the top of this page.
            </p>
          )}
        </div>
      )}
    </>
  );
}
