/** Laws 5 and 6: what may not be written, in types, names, tests, comments, and in any text at all. */
import type { CallExpression, Node } from 'oxc-parser';
import type { File, Finding, Source } from './source.ts';

export function checkTypes(sources: readonly Source[]): Finding[] {
  return sources.flatMap((source) => {
    const findings: Finding[] = [];
    const mayDefault = /\.worker\.ts$|^config\//.test(source.path);
    const refuse = (node: Node, message: string): void => {
      findings.push(source.finding(node.start, message));
    };
    source.visit({
      TSAnyKeyword: (node) => refuse(node, 'any; write the type, or unknown and narrow it'),
      TSEnumDeclaration: (node) => refuse(node, 'enum; write a union of string literals'),
      TSAsExpression(node) {
        if (node.expression.type !== 'TSAsExpression') return;
        refuse(
          node,
          'a cast through another type; parse the value, or fix the type where it is made',
        );
      },
      TSTypeAssertion: (node) => refuse(node, 'a cast; parse the value, or fix the type'),
      ExportDefaultDeclaration(node) {
        if (!mayDefault) refuse(node, 'default export; export it by its name');
      },
      ExportSpecifier(node) {
        const { exported } = node;
        const name = exported.type === 'Literal' ? exported.value : exported.name;
        if (name === 'default') refuse(node, 'default export; export it by its name');
      },
    });
    return findings;
  });
}

/** Constants are named like everything else: their place and their unit tell what they are. */
export function checkConstants(sources: readonly Source[]): Finding[] {
  return sources.flatMap((source) => {
    const findings: Finding[] = [];
    source.visit({
      VariableDeclarator({ id }) {
        if (id.type !== 'Identifier' || !/^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$/.test(id.name)) return;
        findings.push(source.finding(id.start, `constant ${id.name}; write it in camelCase`));
      },
    });
    return findings;
  });
}

const runners = /^(it|test|describe|bench|suite)$/;
const skips = /^(skip|only|todo|skipIf|runIf|fails)$/;

/** Tests that do not run, that keep the others from running, or that hold nothing. */
export function checkTests(sources: readonly Source[]): Finding[] {
  return sources
    .filter(({ path }) => path.startsWith('test/'))
    .flatMap((source) => {
      const findings: Finding[] = [];
      source.visit({
        MemberExpression(node) {
          if (node.property.type !== 'Identifier' || !skips.test(node.property.name)) return;
          if (!runners.test(rootName(node.object) ?? '')) return;
          const message = `.${node.property.name} keeps tests from running; mend the test, or delete it`;
          findings.push(source.finding(node.start, message));
        },
        CallExpression(node) {
          const name = rootName(node.callee) ?? '';
          if (/^x(it|test|describe)$/.test(name)) {
            findings.push(
              source.finding(
                node.start,
                `${name} keeps tests from running; mend the test, or delete it`,
              ),
            );
          }
          if (runners.test(name) && isEmpty(node)) {
            findings.push(source.finding(node.start, 'an empty test; write it, or delete it'));
          }
        },
      });
      return findings;
    });
}

/** How the modules are wired: in the service and, for tests, in one place. */
const wiring = /^src\/(modules|app|api\/api)\.ts$/;
/** What opens the whole: commands do. */
const mayWire = /^test\/(support|cli|tidy)\//;

export function checkWiring(sources: readonly Source[]): Finding[] {
  return sources
    .filter(({ path }) => path.startsWith('test/') && !mayWire.test(path))
    .flatMap(({ path, imports }) =>
      imports
        .filter(({ target, isTypeOnly }) => wiring.test(target ?? '') && !isTypeOnly)
        .map(({ target, line }) => {
          const message = `a test wires the application (${target}); use openTestApp of test/support`;
          return { path, line, message };
        }),
    );
}

/** `it.each(…)(…)` -> `it`. */
function rootName(node: Node): string | undefined {
  if (node.type === 'Identifier') return node.name;
  if (node.type === 'MemberExpression') return rootName(node.object);
  return node.type === 'CallExpression' ? rootName(node.callee) : undefined;
}

function isEmpty(node: CallExpression): boolean {
  const [title, ...rest] = node.arguments;
  const isTitled = title?.type === 'Literal' || title?.type === 'TemplateLiteral';
  if (isTitled && rest.length === 0) return true;
  return rest.some((argument) => {
    const isFunction =
      argument.type === 'ArrowFunctionExpression' || argument.type === 'FunctionExpression';
    return (
      isFunction && argument.body?.type === 'BlockStatement' && argument.body.body.length === 0
    );
  });
}

export function checkComments(sources: readonly Source[]): Finding[] {
  return sources.flatMap((source) =>
    source.comments
      .filter(({ value }) =>
        /\b(TODO|FIXME|XXX|HACK)\b|@ts-(ignore|nocheck|expect-error)/.test(value),
      )
      .map(({ start }) =>
        source.finding(start, 'a note to oneself; do it, or open an issue for it'),
      ),
  );
}

const fileName = /(?<![\w/.*-])(?:\.{1,2}\/)*([\w./-]*\w\.(?:ts|tsx|mjs))\b/g;

/** A comment or a document that names a file names one that exists. */
export function checkFileNames(files: readonly File[], sources: readonly Source[]): Finding[] {
  const known = files.map(({ path }) => `/${path}`);
  const missing = (text: string): string[] =>
    [...text.matchAll(fileName)]
      .map(([, name = '']) => name)
      .filter((name) => !known.some((path) => path.endsWith(`/${name}`)));
  const texts = [
    ...files
      .filter(({ path }) => path.endsWith('.md'))
      .map(({ path, text }) => ({ path, text, line: 1 })),
    ...sources
      .filter(({ path }) => !path.startsWith('test/tidy/'))
      .flatMap((source) =>
        source.comments.map(({ value, start }) => {
          return { path: source.path, text: value, line: source.line(start) };
        }),
      ),
  ];
  return texts.flatMap(({ path, text, line }) =>
    missing(text).map((name) => ({
      path,
      line,
      message: `there is no ${name}; name what there is`,
    })),
  );
}

/** Traces of the machine that the text was written on. */
const traces: ReadonlyArray<{ pattern: RegExp; instead: string }> = [
  {
    pattern: /(?<![\w.])\/(work|root|home|Users|tmp)\/[\w.]/,
    instead: 'a path relative to the file, or mkdtemp in os.tmpdir()',
  },
  { pattern: /[A-Z]:\\\\?Users\\/, instead: 'a path relative to the file' },
  {
    pattern: /\bregistry\.[\w-]+\.\w+|\b(artifactor[y]|verdacci[o])\b/i,
    instead: "no registry: npm's configuration knows it",
  },
  { pattern: /"resolved": "https?:/, instead: 'a lock file without addresses (.npmrc)' },
];

/** Every text file, scripts or not: no paths of a machine, no hosts of a registry. */
export function checkTraces(files: readonly File[]): Finding[] {
  return files.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, index) =>
      traces
        .filter(({ pattern }) => pattern.test(line))
        .map(({ pattern, instead }) => ({
          path,
          line: index + 1,
          message: `"${pattern.exec(line)?.[0] ?? ''}" is of one machine; write ${instead}`,
        })),
    ),
  );
}
