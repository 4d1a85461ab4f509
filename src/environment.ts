/** The process's environment: read here and nowhere else. Apart from config.ts, because a start reads it before all else. */

export interface Environment {
  readonly [name: string]: string | undefined;
}

export const processEnvironment: Environment = process.env;
/** As the process began: a start in it may have set another. */
export const inheritedFontSettings = process.env.FONTCONFIG_FILE;

/** For libraries that read nothing else. @param variables undefined = removed */
export function setProcessVariables(variables: Readonly<Record<string, string | undefined>>): void {
  for (const [name, value] of Object.entries(variables)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
}
