/** GET /qr-codes/tags: the tags that people choose from, so that one thing has one tag. */
import { z } from 'zod';
import type { Codes } from '../../product/codes/codes.ts';
import { tagLengthMax } from '../../product/codes/rules.ts';
import { count, queryInteger } from '../kernel/fields.ts';
import { getRoute } from '../kernel/resource.ts';
import type { Route } from '../kernel/route.ts';

const shownMax = 1_000;

const query = z.object({
  search: z.string().max(tagLengthMax).default('').meta({
    description: 'Text in the tag; case and accents do not count',
    example: 'sum',
  }),
  limit: queryInteger(1, shownMax, 100).meta({ description: 'Tags at most' }),
});

const tagList = z
  .object({
    data: z
      .array(
        z.object({
          tag: z.string().meta({ description: 'As the workspace spells it', example: 'Summer' }),
          count: count.meta({ description: 'Codes that have it', example: 12 }),
        }),
      )
      .max(shownMax)
      .meta({ description: 'The most used first' }),
    total: count.meta({ description: 'Tags that match, of the first 10,000', example: 3 }),
  })
  .meta({ id: 'TagList' });

export function tagRoutes(codes: Codes): Route[] {
  return [
    getRoute({
      path: '/qr-codes/tags',
      operationId: 'listTags',
      access: 'viewer',
      tag: 'QR codes',
      summary: 'List tags',
      description:
        'The tags of the workspace’s codes. Tags that differ only by case, accents or spaces are one, in the ' +
        'spelling that came first: `summer` becomes `Summer` if that exists.',
      query,
      schema: tagList,
      what: 'Tags with their counts',
      read: async ({ actor, query: { search, limit } }) => {
        const { data, total } = await codes.tags(actor.workspaceNo, { search, limit });
        return { data: data.map(({ tag, codes: having }) => ({ tag, count: having })), total };
      },
    }),
  ];
}
