/**
 * The first start: makes the first workspace, and keeps what is shown of it until it was shown once.
 *
 *   secrets -> first-start.json -> ONE transaction: workspace, owner, key -> shown -> file deleted
 *
 * The file (0600) is whole and synced before the owner exists. A start that ends after the file and before the
 * transaction leaves no owner, and the next one makes other secrets; after the transaction, the next one shows these.
 * Shown means written to standard output; a start that dies between that and the deletion shows them again.
 *
 *   { "userId": "usr_…", "email": "…", "password": "…", "apiKey": "…" }
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseJson, readIfThere, replaceFile, syncFolder } from '../small-files.ts';

const fileName = 'first-start.json';

/** The first owner's sign-in and key. */
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
   * Makes the first workspace where there is no workspace yet, else resolves to undefined.
   * @param keep gets the secrets before anything is stored
   */
  readonly make: (keep: (secrets: FirstSecrets) => void) => Promise<FirstSecrets | undefined>;
  readonly hasUser: (userId: string) => boolean;
}

export class FirstStart {
  readonly #options: FirstStartOptions;

  constructor(options: FirstStartOptions) {
    this.#options = options;
  }

  /** Makes the first workspace of an empty store. @returns secrets not shown yet, of this start or an earlier one */
  async open(): Promise<FirstSecrets | undefined> {
    const made = await this.#options.make((secrets) => this.#keep(secrets));
    return made ?? this.#kept();
  }

  /** The secrets were shown: they are not kept any longer. */
  shown(): void {
    rmSync(this.#file, { force: true });
    syncFolder(this.#options.dataDir);
  }

  get #file(): string {
    return join(this.#options.dataDir, fileName);
  }

  #keep(secrets: FirstSecrets): void {
    replaceFile(this.#file, JSON.stringify(secrets));
  }

  /** Undefined also when the owner does not exist: never made, or replaced by a restore. */
  #kept(): FirstSecrets | undefined {
    const secrets = parse(String(readIfThere(this.#file) ?? ''));
    const isCurrent = secrets !== undefined && this.#options.hasUser(secrets.userId);
    return isCurrent ? secrets : undefined;
  }
}

/** Undefined for what this program has not written. */
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
