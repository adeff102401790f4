import type { Commands } from '../cli/commands.ts';

export function archiveCommands(program: Commands): void {
  const archive = program.group('archive', 'Copies the event log to an archive on disk, or back.');
  archive
    .add(
      'save <dir>',
      'Saves the log, up to its present ends, to a folder, or adds to an archive that was saved there before. Needs KAFKA_BROKERS.',
      ['KAFKA_BROKERS=127.0.0.1:9092 npx ride-calendar archive save ./backup'],
      async () => (await import('./archive-save.ts')).runArchiveSave,
    )
    .option('--follow', 'go on until Ctrl-C, so that nothing that Kafka compacts away later is missed')
    .option('--after-gap', 'go on with an archive that misses what Kafka has compacted away since its last save');
  archive
    .add(
      'check <dir>',
      'Reads every record of an archive and compares its files with the manifest; names what is cut, altered, missing or foreign. ' +
        'It goes by the topic prefix of the archive itself, whatever KAFKA_TOPIC_PREFIX says.',
      ['npx ride-calendar simulate --archive ./checked --seed 7 && npx ride-calendar archive check ./checked'],
      async () => (await import('./archive-check.ts')).runArchiveCheck,
      'there is no manifest: every record was read, and there was nothing to compare with',
    )
    .option('--require-manifest', 'a missing manifest is a problem, with exit code 1');
  archive.add(
    'forget <rider> <dir>',
    'Takes a rider out of an archive: their records, their place among rides’ leaders, and rejected records about them. Every other record stays, at its offset.',
    ['npx ride-calendar simulate --archive ./erasing --seed 7 && npx ride-calendar archive forget u_0l3xe3 ./erasing'],
    async () => (await import('./archive-forget.ts')).runArchiveForget,
  );
  archive
    .add(
      'load <dir>',
      'Publishes an archive’s records to the log’s empty topics: to the same partitions, or, if there is another number of them, by KAFKA_PARTITIONER. ' +
        'A load that was stopped goes on with --append. Needs KAFKA_BROKERS.',
      [
        'export KAFKA_BROKERS=127.0.0.1:9092 KAFKA_TOPIC_PREFIX=portland. KAFKA_PARTITIONER=crc32 && npx ride-calendar topics && npx ride-calendar archive load test/data/portland',
      ],
      async () => (await import('./archive-load.ts')).runArchiveLoad,
    )
    .option('--append', 'publish each key’s last record, unless the topic’s is as new or newer')
    .option('--repartition', 'puts a log of mixed producers back together: each key’s records by their timestamps');
}
