import { expect, it } from 'vitest';
import { district, metro, night, place, ride, rider, says } from '../../reference/example-log.ts';
import { applyTo, foldOf, rendered } from '../../support/stores/rendered-views.ts';

const day = '2015-06-13';
const alone = night('loop', day, place({ district: 'alameda' }));

// docs/rules.md#law: what a night was rendered to is kept only as long as all that it was rendered from.
it.each([
  ['its metro', metro('pdx', { time_zone: 'Europe/Paris' }), '"time_zone":"Europe/Paris"'],
  ['its ride', ride('loop', { title: 'Nova' }), '"title":"Nova"'],
  ['its record', night('loop', day, { status: 'CANCELLED' }), '"status":"cancelled"'],
  ['its district', district('alameda', { name: 'Nova' }), '"neighbourhood":"Nova"'],
  ['the kind of its district', district('alameda', { kind: 'CITY' }), '"neighbourhood_slug":null'],
  ['its count', says('r1', 'GOING', 'loop', day), '"going_count":1'],
])('a night that was rendered again and again is rendered anew with %s', (_, record, text) => {
  const fold = foldOf([metro('pdx'), district('alameda'), ride('loop'), rider('r1'), alone]);
  const texts = () =>
    [...rendered(fold.facts)].filter(([name]) => /^(day|night):/.test(name)).map(([, bytes]) => bytes);
  for (let times = 0; times < 3; times++) expect(texts().join('\n')).not.toContain(text);
  applyTo(fold, record);
  expect(texts()).toHaveLength(2);
  for (const bytes of texts()) expect(bytes).toContain(text);
});
