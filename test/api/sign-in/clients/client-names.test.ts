import { expect, test } from 'vitest';
import { borrowedName } from '../../../../api/sign-in/clients/client-names.ts';

const problem = borrowedName([{ client_id: 'site', client_name: 'Portland Rides' }, { client_id: 'night-rider' }]);

test.each([
  'Ride Calendar',
  'ride  calendar',
  'RIDE-CALENDAR!',
  'Ridé Cálendar',
  'Rlde Ca1endar',
  '𝓡𝓲𝓭𝓮 Calendar',
  'Ｒｉｄｅ Calendar',
  'Portland Rides 🚲',
  'p0rtland rides',
  'Night Rider',
])('a client that introduces itself may not be called %s', (name) => {
  expect(problem({ client_name: name })).toMatch(/that of this service or of another app here/);
});

test.each([
  ['Cyrillic', 'Ridе Cаlendar'],
  ['Greek', 'Pοrtland Rides'],
])('a word with %s letters among Latin ones is refused', (_, name) => {
  expect(problem({ client_name: name })).toMatch(/mix alphabets/);
});

test.each([
  'Ride Calendar Helper',
  'Яндекс GO',
  'Велосипед',
  'Ποδήλατο 2',
  'LINEで自転車',
  '자전거app',
  'Vélo',
  '2 wheels',
  '🚲',
])('a name of its own is no problem: %s', (name) => expect(problem({ client_name: name })).toBeNull());
