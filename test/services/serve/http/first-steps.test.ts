import { decodeJwt } from 'jose';
import { expect, it } from 'vitest';
import {
  checkRiderToTry,
  firstDay,
  firstSteps,
  metrosOf,
  picksRiders,
  stepLines,
} from '../../../../services/serve/http/first-steps.ts';
import { loadSettings } from '../../../../services/settings/settings.ts';
import { filesOfThisProcess } from '../../../../services/settings/sign-in-files.ts';
import { evening, gone, metro, night, ride, rider } from '../../../reference/example-log.ts';
import { foldOf } from '../../../support/stores/rendered-views.ts';

const nowMs = Date.parse(evening);

it('the day to look at first is the one of the coming week with the most nights that show, else the nearest', () => {
  /** Days of June, and how many nights each has. */
  const first = (nights: Record<string, number>, hidden = '') => {
    const list = Object.entries(nights).flatMap(([day, count]) =>
      Array.from({ length: count }, (_, i) => night(`${day === hidden ? 'draft' : 'ride'}${i}`, `2015-06-${day}`)),
    );
    const rides = [0, 1, 2].flatMap((i) => [ride(`ride${i}`), ride(`draft${i}`, { posted: false })]);
    return firstDay(foldOf([metro('pdx'), ...rides, ...list]).facts, nowMs);
  };
  const on = (day: string) => ({ metro: 'pdx', day: `2015-06-${day}`, ride: 'ride0' });
  expect(first({ '13': 3, '14': 1, '20': 2, '21': 3, '22': 1 })).toEqual(on('20'));
  expect(first({ '16': 1, '15': 1, '17': 3 }, '17')).toEqual(on('15'));
  expect(first({ '01': 3, '25': 1, '30': 2 })).toEqual(on('25'));
  expect(first({ '16': 1 }, '16')).toBeNull();
});

it('the metro with the most rides comes first, then by slug', () => {
  const { facts } = foldOf([...['pdx', 'sea', 'ber'].map((id) => metro(id)), ride('loop', { metro: 'sea' })]);
  expect(metrosOf(facts).map(({ slug }) => slug)).toEqual(['sea', 'ber', 'pdx']);
});

it('the rider to try is the one that a made-up log names, with a token of eight hours, but nobody who was erased since', async () => {
  const settings = loadSettings({});
  const opened = { where: '', partitioners: settings.partitioners, eventLog: null!, rejects: null };
  const madeUp = { developer_key: 'a key', rider: 'ada' };
  const { keys } = await filesOfThisProcess();
  const { facts } = foldOf([rider('ada'), rider('bo'), rider('cy')]);
  const tried = async (of = madeUp as typeof madeUp | null) => {
    const { rider, token } = await firstSteps(settings, { ...opened, madeUp: of }, facts, keys, null, null, undefined);
    const { exp = 0, iat = 0 } = token === null ? {} : decodeJwt(token);
    return [rider, exp - iat];
  };
  expect(await tried()).toEqual(['ada', 8 * 3600]);
  // Nobody may pick riders of a log that is somebody's.
  expect(await tried(null)).toEqual([null, 0]);
  const { facts: erased } = foldOf([rider('ada'), rider('bo'), gone('riders', 'ada')]);
  const steps = await firstSteps(settings, { ...opened, madeUp }, erased, keys, null, null, undefined);
  expect(steps.rider).toBe('bo');
  for (const one of ['ada', 'nobody'])
    expect(() => checkRiderToTry(one, erased, settings, { ...opened, madeUp })).toThrow('the log has no such rider');
});

it('what to try says how riders sign in, or that nobody can, and where the calendar page is, if it is served', async () => {
  const { keys } = await filesOfThisProcess();
  const of = async (env: Record<string, string>) => {
    const settings = loadSettings(env);
    const opened = { where: '', partitioners: settings.partitioners, eventLog: null!, rejects: null, madeUp: null };
    const steps = await firstSteps(settings, opened, foldOf([]).facts, keys, null, null, undefined);
    const { signIn, calendar } = steps;
    return [picksRiders(settings, opened), signIn, calendar, stepLines(steps).join().includes('No rider can sign in')];
  };
  const provider = { SIGN_IN_ISSUER: 'https://id.example.org', SIGN_IN_CLIENT_ID: 'c', SIGN_IN_CLIENT_SECRET: 's' };
  expect(await of(provider)).toEqual([false, 'issuer', null, false]);
  expect(await of({ SIGN_IN: 'pick' })).toEqual([true, 'pick', 'http://127.0.0.1:8080/calendar', false]);
  expect(await of({ CALENDAR_PAGE: 'off' })).toEqual([false, null, null, true]);
  // Of made-up data too, nobody is picked where others reach the page.
  const madeUp = { developer_key: 'a key', rider: 'ada' };
  const opened = { where: '', partitioners: null!, eventLog: null!, rejects: null, madeUp };
  expect(['127.0.0.1', '0.0.0.0'].map((HOST) => picksRiders(loadSettings({ HOST }), opened))).toEqual([true, false]);
});
