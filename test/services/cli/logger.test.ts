import { expect, it } from 'vitest';
import { makeLogger } from '../../../services/cli/logger.ts';

function logged(tty: boolean, log: (logger: ReturnType<typeof makeLogger>) => void): string {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  log(makeLogger({ logLevel: 'info' }, { destination, tty }));
  return lines.join('');
}

const secret = 'rck_hunter2';
const withCredentials = {
  authorization: secret,
  'x-api-key': secret,
  cookie: secret,
  headers: { authorization: secret, 'x-api-key': secret, cookie: secret, 'set-cookie': secret },
  req: { headers: { authorization: secret, 'x-api-key': secret, cookie: secret } },
  res: { headers: { 'set-cookie': secret } },
};

it.each([true, false])('the logger shows no credentials of a request (terminal: %s)', (tty) => {
  const text = logged(tty, (logger) => logger.warn(withCredentials, 'refused'));
  expect(text).toContain('refused');
  expect(text).not.toContain(secret);
  expect(text.split('(hidden)').length - 1).toBe(11);
});

it('the logger writes a line of JSON where no terminal is, and keeps to its level', () => {
  const text = logged(false, (logger) => {
    logger.debug('chatter');
    logger.info({ partition: 3 }, 'caught up');
  });
  expect(JSON.parse(text)).toEqual({ level: 'info', time: expect.any(String), partition: 3, msg: 'caught up' });
});

it('the logger shows on a terminal what others wrote, without obeying it', () => {
  const words = 'set aside: a\u001b]0;b\u0007\n08:15:02 info  all is well';
  const text = logged(true, (logger) => logger.warn({ err: new Error('x\u001b[2J'), partition: 3 }, words));
  expect(text).toMatch(
    /^\d\d:\d\d:\d\d warn {2}set aside: a\\u001b\]0;b\\u0007\\n08:15:02 info {2}all is well partition=3\n {2}Error: x\\u001b\[2J\n {6}at /,
  );
});
