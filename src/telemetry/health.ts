/** Health for an operator: named checks that the modules hand in, asked when somebody looks. */

export interface HealthCheck {
  readonly name: string;
  /** What is wrong, for an operator; undefined = nothing. Never a secret or a path of a user's data. */
  readonly problem: () => string | undefined;
}

export interface HealthReport {
  /** Whether to send traffic here. */
  readonly ready: boolean;
  readonly checks: ReadonlyArray<{
    readonly name: string;
    readonly ok: boolean;
    readonly detail: string;
  }>;
}

export function checkHealth(checks: readonly HealthCheck[]): HealthReport {
  const results = checks.map(({ name, problem }) => {
    const detail = problem();
    return { name, ok: detail === undefined, detail: detail ?? 'ok' };
  });
  return { ready: results.every(({ ok }) => ok), checks: results };
}
