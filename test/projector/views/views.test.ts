import { expect, it } from 'vitest';
import { digestLength, digestOf } from '../../../schemas/views/view-values.ts';
import { liveKey, marks, metro, night, place, ride, rider, says } from '../../reference/example-log.ts';
import { foldOf, rendered } from '../../support/stores/rendered-views.ts';

/** The bytes of every kind of view, of a few facts. What views say of all other facts: `test/examples`, by rule. */
const facts = [
  ...[metro('pdx'), liveKey('rck_a'), rider('ada'), rider('bo', { name: 'Bó' })],
  ride('loop', { title: 'Loop', leaders: ['ada'], distance: 'UNDER_5' }),
  night('loop', '2015-06-13', { meet_time: 68_400_000, ...place({ place_name: 'Fountain' }) }),
  ...[marks('ada', 'bo', 'follows', 'flagged'), says('bo', 'GOING', 'loop', '2015-06-13')],
];

const aNight =
  '{"ride":"loop","title":"Loop","day":"2015-06-13","meet_time":"19:00","time_zone":"America/Los_Angeles","status":"on","cancellation_reason":null,"past":false,"going_count":1,"meeting":{"withheld":false,"place_name":"Fountain","neighbourhood":null,"neighbourhood_slug":null},"url":"https://x.example/loop/2015-06-13"}';
const zone = '"zone":"America/Los_Angeles"';
/** By the name of a view: its bytes behind the digest. */
const values = {
  'metro:pdx': `{${zone}}\n\n`,
  'key:5874aa69a6f4344c4ede5b04083a9dbd7eea238ac68b99533eb44deff41be59b': '{}\n\n',
  'rider:ada': '{"handle":"h-ada","name":"ada","sort":"ada"}\n\n',
  'rider:bo': '{"handle":"h-bo","name":"Bó","sort":"bo"}\n\n',
  'ride:loop': `{${zone},"days":[16599],"past":[238]}\n\n{"ride":"loop","title":"Loop","description":null,"type":"loop","metro":"pdx","nights":[${aNight}],"url":"https://x.example/loop"}`,
  'night:loop/2015-06-13': `{"metro":"pdx",${zone},"day":16599,"past":151,"sort":[1140,"Loop","loop"]}\n\n${aNight}`,
  'day:pdx/2015-06-13': `{${zone},"day":16599,"nights":[44,359,195]}\n[{"far":"under_5","who":null,"where":null,"text":"loop\\nfountain"}]\n{"metro":"pdx","day":"2015-06-13","nights":[${aNight}]}`,
};
const fields = {
  'reader:ada/o2015-06-08': '5loop=8',
  'reader:ada/f2015-06-13': 'loop:bo=5',
  'reader:ada/x2015-06-08': '5loop:bo=5',
  'reader:bo/o2015-06-08': '5loop=1',
};

it('every view has these bytes', () => {
  const found = [...rendered(foldOf(facts).facts)];
  const texts = found.map(([name, text]) => [name, name in fields ? text : text.slice(digestLength)]);
  expect(Object.fromEntries(texts)).toEqual({ ...values, ...fields });
  for (const [name, text] of found)
    if (name in values) expect(text).toBe(digestOf(text.slice(digestLength)) + text.slice(digestLength));
});
