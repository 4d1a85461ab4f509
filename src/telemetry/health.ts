/** Health for an operator: named checks that the modules hand in, asked when somebody looks. */

export interface HealthCheck {
  readonly name: string;
  /** What is wrong, for an operator; undefined = nothing. Never a secret or a path of a user's data. */
  readonly problem: () => string | undefined;
  /** Its problem is told, and the service is ready all the same. */
  readonly isWarning?: true;
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
  let ready = true;
  const results = checks.map(({ name, problem, isWarning }) => {
    const detail = problem();
    if (detail !== undefined && isWarning !== true) ready = false;
    return { name, ok: detail === undefined, detail: detail ?? 'ok' };
  });
  return { ready, checks: results };
}
