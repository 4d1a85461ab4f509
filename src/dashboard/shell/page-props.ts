/** What a page is given: the parameters of its address. */
export interface PageProps {
  readonly params: Readonly<Record<string, string>>;
}
