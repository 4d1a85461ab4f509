/** The routes of a code in a form: a draft that stays, whatever loads meanwhile, until one PATCH saves its changes. */
import { useEffect, useState } from 'preact/hooks';
import { call } from '../../../client/http.ts';
import { invalidate, storeAnswer } from '../../../client/resource.ts';
import { askBeforeLeaving } from '../../../client/router.ts';
import { useForm } from '../../../client/use-form.ts';
import type { QrCode } from '../../../client/wire.ts';
import { say } from '../../../parts/toast.tsx';
import { type Problem, problemOf } from '../../../client/problem.ts';
import { changeOf, draftOf, type RoutingDraft, type RuleDraft } from './route-draft.ts';
import { RouteFaults } from './route-faults.ts';

export interface RoutingForm {
  readonly draft: RoutingDraft;
  readonly change: (change: Partial<RoutingDraft>) => void;
  readonly isChanged: boolean;
  /** Someone else changed these fields after this draft began. */
  readonly isOutdated: boolean;
  /** Appends rules and opens them. */
  readonly add: (rules: readonly RuleDraft[]) => void;
  /** The first of the rules added last. */
  readonly addedKey: number | undefined;
  readonly discard: () => void;
  readonly save: () => void;
  readonly isBusy: boolean;
  /** Problem of the last save, until the draft changes. */
  readonly problem: Problem | undefined;
  readonly faults: RouteFaults;
  /** Warnings of the last save, by the keys of rules. */
  readonly warnings: ReadonlyMap<number, string>;
  /** Open rules. */
  readonly openKeys: ReadonlySet<number>;
  readonly setOpen: (key: number, state: 'open' | 'closed') => void;
}

interface Base {
  /** The code from which the draft was made. */
  readonly text: string;
  readonly draft: RoutingDraft;
}

const textOf = ({ rules, split, utm, passQuery, startsAt, fallbackUrl }: QrCode): string =>
  JSON.stringify([rules, split, utm, passQuery, startsAt, fallbackUrl]);

const baseOf = (code: QrCode): Base => ({ text: textOf(code), draft: draftOf(code) });

const noFaults = new RouteFaults();

export function useRouting(code: QrCode): RoutingForm {
  const [base, setBase] = useState<Base>(() => baseOf(code));
  const [draft, setDraft] = useState(base.draft);
  const [faults, setFaults] = useState(noFaults);
  const [warnings, setWarnings] = useState<ReadonlyMap<number, string>>(new Map());
  const [openKeys, setOpenKeys] = useState<ReadonlySet<number>>(new Set());
  const [addedKey, setAddedKey] = useState<number>();
  const submission = useForm({});
  const change = changeOf(base.draft, draft);
  const isChanged = Object.keys(change).length > 0;
  const isOther = base.text !== textOf(code);
  useEffect(() => askBeforeLeaving(() => isChanged), [isChanged]);
  const begin = (from: QrCode): RoutingDraft => {
    const next = baseOf(from);
    setBase(next);
    setDraft(next.draft);
    setFaults(noFaults);
    setOpenKeys(new Set());
    setWarnings(warningsOf(from, next.draft));
    return next.draft;
  };
  useEffect(() => {
    if (isOther && !isChanged) begin(code);
  }, [isOther, isChanged]);
  const save = async (): Promise<void> => {
    setFaults(noFaults);
    try {
      const path = `/qr-codes/${code.id}`;
      const answer = await call<QrCode>('PATCH', path, { body: change });
      begin(answer);
      storeAnswer(path, answer);
    } catch (error) {
      const found = new RouteFaults(problemOf(error).faults, draft);
      const faulty = draft.rules.filter(({ key }) => found.isFaulty(key));
      setOpenKeys((before) => new Set([...before, ...faulty.map(({ key }) => key)]));
      setFaults(found);
      throw error;
    }
    invalidate('/qr-codes?', '/events', `/qr-codes/${code.id}/`);
    say('Saved. The new rules apply to every print.');
  };
  return {
    draft,
    change: (part) => setDraft((before) => ({ ...before, ...part })),
    isChanged,
    isOutdated: isOther && isChanged,
    add: (rules) => {
      setDraft((before) => ({ ...before, rules: [...before.rules, ...rules] }));
      setOpenKeys((before) => new Set([...before, ...rules.map(({ key }) => key)]));
      setAddedKey(rules[0]?.key);
    },
    addedKey,
    discard: () => void begin(code),
    save: () => submission.submit(save),
    isBusy: submission.isBusy,
    problem: faults === noFaults ? undefined : submission.problem,
    faults,
    warnings,
    openKeys,
    setOpen: (key, state) =>
      setOpenKeys((before) => {
        const next = new Set(before);
        if (state === 'open') next.add(key);
        else next.delete(key);
        return next;
      }),
  };
}

/** `rules.3` -> the key of that rule. */
function warningsOf({ warnings = [] }: QrCode, { rules }: RoutingDraft): Map<number, string> {
  const found = new Map<number, string>();
  for (const { path, message } of warnings) {
    const rule = rules[Number(path.split('.')[1])];
    if (rule !== undefined) found.set(rule.key, message);
  }
  return found;
}
