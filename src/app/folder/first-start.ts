/**
 * The first start: makes the first workspace, and stores its secrets until they have been shown once.
 *
 *   secrets -> first-start.json -> ONE transaction: workspace, owner, key -> shown -> file deleted
 *
 * The file (0600) is synced before the owner exists. If a start dies before the transaction, the next start makes other
 * secrets; after it, the next start shows these secrets, possibly a second time.
 *
 *   { "userId": "usr_…", "email": "…", "password": "…", "apiKey": "…" }
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseJson, readIfThere, replaceFile, syncFolder } from '../../platform/small-files.ts';

const fileName = 'first-start.json';

export interface FirstSecrets {
  readonly userId: string;
  readonly email: string;
  /** As given, or the generated one. */
  readonly password: string;
  readonly apiKey: string;
}

export interface FirstStartOptions {
  readonly dataDir: string;
  /**
   * Makes the first workspace; resolves to undefined if one exists.
   * @param save receives the secrets before the workspace is stored
   */
  readonly make: (save: (secrets: FirstSecrets) => void) => Promise<FirstSecrets | undefined>;
  readonly hasUser: (userId: string) => boolean;
}

export class FirstStart {
  readonly #options: FirstStartOptions;

  constructor(options: FirstStartOptions) {
    this.#options = options;
  }

  /** Makes the first workspace of an empty store. @returns secrets not shown yet, of this start or an earlier one */
  async open(): Promise<FirstSecrets | undefined> {
    const made = await this.#options.make((secrets) => {
      replaceFile(this.#file, JSON.stringify(secrets));
    });
    return made ?? this.#saved();
  }

  /** Deletes the secrets, once they have been shown. */
  shown(): void {
    rmSync(this.#file, { force: true });
    syncFolder(this.#options.dataDir);
  }

  get #file(): string {
    return join(this.#options.dataDir, fileName);
  }

  /** Undefined also without the owner: it was never made, or a restore replaced it. */
  #saved(): FirstSecrets | undefined {
    const secrets = parse(String(readIfThere(this.#file) ?? ''));
    const isCurrent = secrets !== undefined && this.#options.hasUser(secrets.userId);
    return isCurrent ? secrets : undefined;
  }
}

function parse(text: string): FirstSecrets | undefined {
  const content = parseJson(text);
  const field = (name: string): string => String(Reflect.get(Object(content), name) ?? '');
  const secrets = {
    userId: field('userId'),
    email: field('email'),
    password: field('password'),
    apiKey: field('apiKey'),
  };
  return Object.values(secrets).includes('') ? undefined : secrets;
}
