/** `slug_taken` -> `SlugTaken`, `qr.created` -> `QrCreated`. */
export function pascalCase(name: string): string {
  return name.replace(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
