/**
 * The law of words: one noun per thing, and the field's noun where it has one. Each entry names words that
 * were retired from this code and what to write instead.
 *
 *   parts    parts of an identifier or a file name: `openLaneQueue` and `lane-queue.ts` have the part `lane`
 *   phrases  comments, string literals and documents
 *
 * Plain English shares some of these words ("look up", "in turn", "a report"): such a word is matched as a part
 * alone, in the folders where it had a private meaning, or in the phrases that had it.
 */
import type { File, Finding, Source } from './source.ts';
import { isScript } from './source.ts';

interface Retired {
  readonly instead: string;
  readonly parts?: RegExp;
  readonly phrases?: RegExp;
  /** Where the word is retired; everywhere when it is not given. */
  readonly within?: RegExp;
  /** Identifiers that keep the word: names of the API, of formats on disk and of the platform. */
  readonly but?: RegExp;
}

const inWebhooks = /^(src|test)\/(webhooks|store\/delivery)/;
const inTests = /^(test|bench)\//;

const retired: readonly Retired[] = [
  { instead: 'module, or capacity', parts: /^(rooms?|roomy)$/, phrases: /\b(rooms?|roomy)\b/i },
  {
    instead: 'the plural noun, *Store or *Loader',
    parts: /^books?$/,
    phrases: /\bthe \w+ book\b/,
    // A picture of a book.
    within: /^(?!src\/dashboard\/parts\/icon)/,
  },
  { instead: 'transaction', parts: /^pens?$/, phrases: /\b(the|a) pen\b/ },
  {
    instead: 'endpoint stats',
    parts: /^ledgers?$/,
    phrases: /\bledgers?\b/,
    // The table on disk keeps its name.
    within: /^(?!src\/store\/delivery\/)(src\/|.*webhook)/,
  },
  {
    instead: 'outbox consumer',
    parts: /^followers?$/,
    phrases: /\bfollowers?\b|\bfollow loop/,
  },
  {
    instead: 'campaign scheduler, retry scheduler, billing scheduler',
    parts: /^(EndClock|WheelTick|BillingTimer)$/,
    phrases: /\bend clock\b|\bwheel tick\b|\bbilling timer\b/i,
  },
  {
    instead: 'schedule, pin, expire or unschedule',
    parts: /^(cover|covers|covered|anchor|anchors|anchored|walk|walks)$/,
    within: inWebhooks,
  },
  {
    instead: 'endpoint queue, or fair scheduler',
    parts: /^lanes?$/,
    phrases: /\blanes?\b/i,
  },
  {
    instead: 'in flight, committing, or return to queue',
    parts: /^(flying|flights?|landed|settling|undone)$/,
    phrases: /\bflying\b|(?<!\bin )\bflights?\b|\blanded\b|\bsettling\b/i,
    but: /in_?flight/i,
  },
  { instead: 'recent, recently', parts: /^lately$/, phrases: /\blately\b/i },
  {
    instead: 'retry policy, decide, shouldDisable',
    parts: /^(verdicts?|judge|judges|judged|hopeless)$/,
    phrases: /\b(verdicts?|judges?|judged|hopeless)\b/i,
  },
  {
    instead: 'attempt result, message or channel',
    parts: /^(heard|hear|hears|news)$/,
    phrases: /\b(heard|hears?|news)\b|\bresult window/i,
  },
  {
    instead: 'reply batch, cycle, lock, rotation or yield: one word for each',
    parts: /^turns?$/,
    // A path that turns a corner.
    within: /^(?!src\/images\/draw\/)/,
    phrases:
      /\b(event-loop|this|that|each|one|every|own|the|a|its|whose) turns?(?=[\s'’.,:;)]|$)|\b(by|take|takes|takes its|of its) turns?\b/i,
  },
  {
    instead: 'partition consumer',
    parts: /^inbox(es)?$/,
    phrases: /\binbox(es)?\b/i,
    // Where answers of NATS come to.
    but: /^inboxPrefix$/,
  },
  {
    instead: 'publish, pending links, or bulk load',
    parts: /^(wake|wakes|woken|adopt|adopts|adopted)$/,
    phrases: /\b(adopt|adopts|adopted)\b|\blate links?\b/i,
    // README has the command `cluster adopt`.
    within: /links?\/|codes|app\.ts/,
  },
  { instead: 'delete, or tombstone', parts: /^(retire|retires|retired)$/ },
  {
    instead: 'deleted, or tombstone',
    parts: /^gone$/,
    within: /^(src|test)\/(links|codes|scans)\//,
  },
  {
    instead: 'expire (by time), prune (by count), delete (by a person) or free (memory)',
    parts:
      /^(purge|purges|purged|forget|forgets|forgot|forgotten|reclaim|reclaims|sweep|sweeps|sweeper)$/,
    phrases: /\b(purge[sd]?|forgets?|forgotten|reclaim(s|ed)?|sweep(s|er)?)\b/i,
    // What NATS calls the pruning of a stream.
    within: /^(?!src\/cluster\/nats\/|test\/cluster\/nats\/)/,
  },
  {
    instead: 'prune or expire',
    parts: /^(trims?|trimmed)$/,
    but: /^trim(Start|End)?$/,
    within: /^(src|test)\/(scans|store|outbox|webhooks|engine|codes)\//,
  },
  {
    instead: 'encrypt',
    parts: /^(seals?|sealed|unseal)$/,
    // The field of a stored secret.
    but: /^sealed$/,
    // Encrypted secrets begin with `sealed.` on disk.
    phrases: /\b(seals?|sealed(?!\.)|unseals?)\b/i,
    within: /workspaces|webhooks|store|engine|secret|api\//,
  },
  { instead: 'emitted once', phrases: /\btold (once|twice|again)\b/i },
  { instead: 'inTransaction', parts: /^alongside$/, phrases: /\balongside\b/i },
  { instead: 'remote', parts: /^elsewhere$/ },
  { instead: 'logo store', parts: /^shel(f|ves)$/, phrases: /\bshel(f|ves)\b/i },
  { instead: 'style', parts: /^looks?$/, but: /[lL]ook(Up|Alike)/ },
  { instead: 'background', parts: /^grounds?$/, phrases: /\b(on|of|its|the|one) ground\b/i },
  { instead: 'finder pattern', parts: /^eyes?$/, but: /[eE]ye(Style|Color)/ },
  { instead: 'action', parts: /^deeds?$/, phrases: /\bdeeds?\b/i },
  { instead: 'labels', parts: /^words$/, within: /^src\/dashboard\// },
  { instead: 'sign-in', parts: /^doors?$/, phrases: /\bdoors?\b/i },
  { instead: 'details', parts: /^particulars$/, phrases: /\bparticulars\b/i },
  { instead: 'status', parts: /^standing$/ },
  { instead: 'unknown', parts: /^foreign$/ },
  {
    instead: 'fixture, harness or fake',
    parts: /^(rigs?|desks?|offices?|tills?|zoo|species|cages?|StandIn)$/,
    phrases: /\b(the|a|this|one) (rig|desk|till|zoo|cage|office)\b|\bstand-ins?\b/i,
    within: inTests,
  },
  {
    instead: 'write probe, lower priority, or locked folder',
    phrases: /\btrial (file|write)|\b(give|gives|giving) way\b|\bheld folder/i,
  },
  {
    instead: 'a noun: this sentence must be read twice',
    phrases: /\b([Ww]hoever|[Ww]homever|that which|is none)\b/,
  },
];

/** Names and texts that are not ours to word, and this list. */
const skipped =
  /^(test\/tidy\/vocabulary\.ts|test\/tidy\.test\.ts|test\/fixtures\/.*|package-lock\.json)$/;

export function checkVocabulary(files: readonly File[], sources: readonly Source[]): Finding[] {
  const findings = new Map<string, Finding>();
  const refuse = (path: string, line: number, word: string, { instead }: Retired): void => {
    const message = `"${word}" is retired; write ${instead}`;
    findings.set(`${path}:${line} ${word}`, { path, line, message });
  };
  const checked = files.filter(({ path }) => !skipped.test(path));
  for (const file of checked) {
    const { path, text } = file;
    for (const name of path.replace(/\.\w+$/, '').split('/')) {
      for (const rule of rulesOf(name)) if (isWithin(rule, path)) refuse(path, 1, name, rule);
    }
    if (isScript(file)) continue;
    for (const rule of phrasesOf(file)) {
      matches(rule, text, (word, at) => refuse(path, lineOf(text, at), word, rule));
    }
  }
  for (const source of sources.filter(({ path }) => !skipped.test(path))) {
    const { path } = source;
    const name = (node: { readonly name: string; readonly start: number }): void => {
      for (const rule of rulesOf(node.name)) {
        if (isWithin(rule, path)) refuse(path, source.line(node.start), node.name, rule);
      }
    };
    const rules = phrasesOf(source);
    const text = (value: string, start: number): void => {
      for (const rule of rules) {
        matches(rule, value, (word, at) => refuse(path, source.line(start + at), word, rule));
      }
    };
    source.visit({
      Identifier: name,
      PrivateIdentifier: name,
      JSXIdentifier: name,
      JSXText: ({ value, start }) => text(value, start),
      Literal: ({ value, start }) => typeof value === 'string' && text(value, start),
      TemplateElement: ({ value, start }) => text(value.raw, start),
    });
    for (const { value, start } of source.comments) text(value, start);
  }
  return [...findings.values()];
}

const isWithin = ({ within }: Retired, path: string): boolean => within?.test(path) ?? true;

/** The rules that some text of the file breaks, be it code: most files break none. */
const phrasesOf = ({ path, text }: File): readonly Retired[] =>
  retired.filter((rule) => rule.phrases?.test(text) === true && isWithin(rule, path));

const known = new Map<string, readonly Retired[]>();

/** The rules that a name breaks, wherever it is. */
function rulesOf(name: string): readonly Retired[] {
  const found = known.get(name);
  if (found !== undefined) return found;
  const all = partsOf(name);
  const rules = retired.filter(
    ({ parts, but }) => but?.test(name) !== true && all.some((part) => parts?.test(part)),
  );
  known.set(name, rules);
  return rules;
}

const partBoundary = /(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[-_.$]/;

/** `endClockMs` -> `end`, `clock`, `ms`, and its neighbours together: `EndClock`, `ClockMs`. */
function partsOf(name: string): readonly string[] {
  const single = name.split(partBoundary);
  const pairs = single.slice(1).map((part, i) => capitalized(single[i] ?? '') + capitalized(part));
  return [...single.map((part) => part.toLowerCase()), ...pairs];
}

const capitalized = (part: string): string => part.slice(0, 1).toUpperCase() + part.slice(1);

function matches({ phrases }: Retired, text: string, found: (word: string, at: number) => void) {
  if (phrases === undefined || !phrases.test(text)) return;
  for (const match of text.matchAll(new RegExp(phrases, `g${phrases.flags}`))) {
    found(match[0], match.index);
  }
}

const lineOf = (text: string, at: number): number => text.slice(0, at).split('\n').length;
