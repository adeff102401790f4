import { expect, it } from 'vitest';
import { leadersOf, standbysIn } from '../../../../infra/redis/leadership/who-leads.ts';

it('a leader is alive if a fence of it moves; a tag is unled if its own stands still, is free or absent', () => {
  const before = ['5:1:ada:led', '6:7:ada:led', '9:1:bo:led', '7:1:cy:free', null];
  const after = ['5:1:ada:led', '6:8:ada:led', '9:1:bo:led', '7:2:cy:free', null];
  const leaders = [
    { epoch: 9, tags: 1, alive: false },
    { epoch: 6, tags: 2, alive: true },
  ];
  expect(leadersOf(before, after)).toEqual({ leaders, tagsUnled: 4 });
});

it('standbys are those whose signs of life move, though they write over one another', () => {
  const looks = [
    ['cy:1', null],
    ['cy:1', 'bo:2'],
    ['cy:1', 'ada:3'],
  ];
  expect(standbysIn(looks)).toEqual(['ada', 'bo']);
});
