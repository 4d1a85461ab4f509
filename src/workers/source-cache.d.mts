/** Of an ES module in TypeScript; line numbers and columns stay. @throws SyntaxError */
export function strip(source: string, folder?: URL): string;
