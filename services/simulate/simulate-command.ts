import { InvalidArgumentError } from 'commander';
import { parseDay } from '../../schemas/views/days.ts';
import { type Commands, wholeOption } from '../cli/commands.ts';
import { defaultSizes, sizeLimits } from './world/sizes.ts';

export function simulateCommand(program: Commands): void {
  const command = program.add(
    'simulate',
    'Publishes a made-up calendar, and then a believable stream of changes, to Kafka or to an archive. Never use it on ' +
      'a log that serves real riders: its developer keys can be worked out from the seed.',
    [
      'KAFKA_BROKERS=127.0.0.1:9092 npx ride-calendar simulate --rate 20',
      'npx ride-calendar simulate --archive ./sample --seed 7 --count 1000',
    ],
    async () => (await import('./simulate.ts')).runSimulate,
  );
  const size = (name: keyof typeof defaultSizes, placeholder: string, what: string): void => {
    const [min, max] = sizeLimits[name];
    command.addOption(wholeOption(`--${name} <${placeholder}>`, what, min, max).default(defaultSizes[name]));
  };
  size('metros', 'n', 'metros, each with its time zone and districts');
  size('rides', 'n', 'rides, weekly and one-off');
  size('riders', 'n', 'riders; about one in five responds to a night each day');
  size('days', 'n', 'days of nights, a third of them past');
  size('seed', 'n', 'the same seed, sizes and day make the same records');
  command
    .addOption(
      wholeOption('--rate <n>', 'changes a second once the calendar is there; 0: as fast as possible', 0, 1e6).default(
        5,
      ),
    )
    .addOption(wholeOption('--count <n>', 'changes to make (default: until Ctrl-C; to an archive: 0)', 0, 1e12))
    .option('--around <date>', 'the day that counts as today, such as 2026-06-15 (default: today)', dayOf)
    .option('--archive <dir>', 'write to a new or empty folder instead of Kafka');
}

function dayOf(text: string): number {
  const day = parseDay(text);
  if (day === null) throw new InvalidArgumentError('Want a date, such as 2026-06-15.');
  return day;
}
