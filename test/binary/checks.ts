/** A list of named checks, tried in its order: a line each, and a sum at the end. */

export interface Check<Subject> {
  readonly name: string;
  readonly proves: string;
  /** Also part of the short form, beside a build. */
  readonly isShort?: true;
  /** Why it cannot be tried here; undefined = it can. */
  readonly leftOut?: (subject: Subject) => string | undefined;
  /** @throws Error when what it proves does not hold */
  readonly run: (subject: Subject) => Promise<void> | void;
}

export interface Tally {
  readonly tried: number;
  readonly failed: readonly string[];
  readonly leftOut: readonly string[];
}

const nameWidth = 22;
/** Of what went wrong: a log may be long. */
const textMax = 2_000;

/** Tries every check, also after one that failed. */
export async function tryAll<Subject>(
  heading: string,
  checks: ReadonlyArray<Check<Subject>>,
  subject: Subject,
): Promise<Tally> {
  console.log(`\n${heading}`);
  const failed: string[] = [];
  const leftOut: string[] = [];
  for (const check of checks) {
    const reason = check.leftOut?.(subject);
    if (reason !== undefined) {
      leftOut.push(check.name);
      console.log(`  --    ${check.name.padEnd(nameWidth)} left out: ${reason}`);
      continue;
    }
    const fault = await faultOf(check, subject);
    if (fault !== undefined) failed.push(check.name);
    console.log(
      `  ${fault === undefined ? 'ok   ' : 'FAIL '} ${nameAndProof(check)}${fault ?? ''}`,
    );
  }
  return { tried: checks.length - leftOut.length, failed, leftOut };
}

const nameAndProof = ({ name, proves }: Check<never>): string =>
  `${name.padEnd(nameWidth)} ${proves}`;

/** @returns what went wrong, indented; undefined when all is well */
async function faultOf<Subject>(
  { run }: Check<Subject>,
  subject: Subject,
): Promise<string | undefined> {
  try {
    await run(subject);
    return undefined;
  } catch (error) {
    const { message, stack = '' } = error instanceof Error ? error : new Error(String(error));
    const [place = ''] = /^ +at .*test\/binary\/(?!walk|checks).*$/m.exec(stack) ?? [];
    return `\n${`${message.slice(0, textMax)}\n${place.trim()}`.replaceAll(/^/gm, '        ')}`;
  }
}
