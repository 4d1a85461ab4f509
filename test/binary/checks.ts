/** A list of checks, tried in its order: a line each, and a sum at the end. */

/** Returns why something cannot be tried here; undefined = it can. */
type LeaveOut<Subject> = (subject: Subject) => string | undefined;
/** @throws Error when it does not hold */
type Run<Subject> = (subject: Subject) => Promise<void> | void;

export interface Check<Subject> {
  /** A sentence. */
  readonly proves: string;
  /** Also part of the short form, which follows a build. */
  readonly isShort: boolean;
  readonly leftOut?: LeaveOut<Subject>;
  readonly run: Run<Subject>;
}

/** Of both forms. */
export const short = <Subject>(proves: string, run: Run<Subject>): Check<Subject> => ({
  proves,
  isShort: true,
  run,
});

/** Of the whole form alone. */
export const whole = <Subject>(proves: string, run: Run<Subject>): Check<Subject> => ({
  proves,
  isShort: false,
  run,
});

/** As `whole`, where nothing speaks against it. */
export const unless = <Subject>(
  leftOut: LeaveOut<Subject>,
  proves: string,
  run: Run<Subject>,
): Check<Subject> => ({ ...whole(proves, run), leftOut });

export interface Tally {
  readonly tried: number;
  readonly failed: readonly string[];
  readonly leftOut: number;
}

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
  let leftOut = 0;
  for (const check of checks) {
    const reason = check.leftOut?.(subject);
    const fault = reason === undefined ? await faultOf(check, subject) : undefined;
    if (reason !== undefined) leftOut += 1;
    if (fault !== undefined) failed.push(check.proves);
    const result = reason === undefined ? (fault === undefined ? 'ok' : 'FAIL') : '--';
    const why = reason === undefined ? (fault ?? '') : `; left out: ${reason}`;
    console.log(`  ${result.padEnd(5)} ${check.proves}${why}`);
  }
  return { tried: checks.length - leftOut, failed, leftOut };
}

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
