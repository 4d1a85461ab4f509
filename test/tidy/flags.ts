/**
 * Law 5, boolean flag arguments: `draw(code, true)` says nothing where it is read.
 *
 * A boolean that carries a fact (`push(chunk, isLast)` with a variable) is no flag. A flag is a boolean
 * parameter of a function of ours that some call in src gives as the literal `true` or `false`.
 */
import type { Argument, ParamPattern } from 'oxc-parser';
import type { Finding, Source } from './source.ts';

interface Flag {
  readonly called: string;
  readonly index: number;
  readonly name: string;
}

export function checkFlags(sources: readonly Source[]): Finding[] {
  const own = sources.filter(({ path }) => path.startsWith('src/'));
  const flags = own.flatMap(declaredFlags);
  return own.flatMap((source) => {
    const findings: Finding[] = [];
    const check = (called: string, given: readonly Argument[], offset: number): void => {
      given.forEach((argument, index) => {
        if (argument.type !== 'Literal' || typeof argument.value !== 'boolean') return;
        const flag = flags.find((known) => known.called === called && known.index === index);
        if (flag === undefined) return;
        const message = `boolean flag "${flag.name}" of ${called}; write two functions, or a union of two words`;
        findings.push(source.finding(offset, message));
      });
    };
    source.visit({
      CallExpression({ callee, arguments: given, start }) {
        if (callee.type === 'Identifier') check(callee.name, given, start);
        if (callee.type !== 'MemberExpression') return;
        const { property } = callee;
        const isNamed = property.type === 'Identifier' || property.type === 'PrivateIdentifier';
        if (isNamed) check(property.name, given, start);
      },
      NewExpression({ callee, arguments: given, start }) {
        if (callee.type === 'Identifier') check(callee.name, given, start);
      },
    });
    return findings;
  });
}

/** Boolean parameters of the functions, methods and constructors of a file. */
function declaredFlags(source: Source): Flag[] {
  const flags: Flag[] = [];
  const add = (called: string, params: readonly ParamPattern[]): void => {
    if (params.length < 2) return;
    params.forEach((param, index) => {
      const name = booleanName(param);
      if (name !== undefined) flags.push({ called, index, name });
    });
  };
  source.visit({
    FunctionDeclaration: (node) => add(node.id?.name ?? '', node.params),
    VariableDeclarator({ id, init }) {
      if (id.type === 'Identifier' && init?.type === 'ArrowFunctionExpression') {
        add(id.name, init.params);
      }
    },
    ClassDeclaration(node) {
      for (const member of node.body.body) {
        if (member.type !== 'MethodDefinition') continue;
        const { key, kind, value } = member;
        const isNamed = key.type === 'Identifier' || key.type === 'PrivateIdentifier';
        if (kind === 'constructor') add(node.id?.name ?? '', value.params);
        else if (isNamed) add(key.name, value.params);
      }
    },
  });
  return flags;
}

function booleanName(param: ParamPattern): string | undefined {
  const inner = param.type === 'TSParameterProperty' ? param.parameter : param;
  const isDefaulted = inner.type === 'AssignmentPattern';
  const name = isDefaulted ? inner.left : inner;
  if (name.type !== 'Identifier') return undefined;
  const isTyped = name.typeAnnotation?.typeAnnotation.type === 'TSBooleanKeyword';
  const isLiteral =
    isDefaulted && inner.right.type === 'Literal' && typeof inner.right.value === 'boolean';
  return isTyped || isLiteral ? name.name : undefined;
}
