import { expect, it } from 'vitest';
import { leadersOf, standbysIn } from '../../../../infra/redis/leadership/who-leads.ts';

it('a leader whose fences move is alive, and one whose stand still is not', () => {
  expect(
    leadersOf(['5:1:ada:led', '5:7:ada:led', '9:1:bo:led', null], ['5:1:ada:led', '5:8:ada:led', '9:1:bo:led', null]),
  ).toEqual({
    leaders: [
      { epoch: 9, tags: 1, alive: false },
      { epoch: 5, tags: 2, alive: true },
    ],
    tagsUnled: 3,
  });
});

it('a tag whose fence stands still is unled, though its leader moves others', () => {
  expect(leadersOf(['5:1:ada:led', '5:1:ada:led'], ['5:2:ada:led', '5:1:ada:led'])).toEqual({
    leaders: [{ epoch: 5, tags: 2, alive: true }],
    tagsUnled: 1,
  });
});

it('a leader is known by the owner that fences name, and a free fence is nobody’s', () => {
  const before = ['5:1:ada:led', '6:1:ada:led', '7:1:bo:free'];
  expect(leadersOf(before, ['5:2:ada:led', '6:2:ada:led', '7:1:bo:free'])).toEqual({
    leaders: [{ epoch: 6, tags: 2, alive: true }],
    tagsUnled: 1,
  });
});

it('standbys are those whose signs of life move, though they write over one another', () => {
  expect(
    standbysIn([
      ['cy:1', null],
      ['cy:1', 'bo:2'],
      ['cy:1', 'ada:3'],
    ]),
  ).toEqual(['ada', 'bo']);
});
