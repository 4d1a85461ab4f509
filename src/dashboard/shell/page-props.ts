/** The parameters of a page's address. */
export interface PageProps {
  readonly params: Readonly<Record<string, string>>;
}
