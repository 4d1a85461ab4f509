/** The only reader of the process's environment. Not part of config.ts, because a start reads it first. */

export interface Environment {
  readonly [name: string]: string | undefined;
}

export const processEnvironment: Environment = process.env;
/** The value when the process began: a start may change it. */
export const inheritedFontSettings = process.env.FONTCONFIG_FILE;

/** For libraries that have no other settings. @param variables undefined = removes it */
export function setProcessVariables(variables: Readonly<Record<string, string | undefined>>): void {
  for (const [name, value] of Object.entries(variables)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
}
