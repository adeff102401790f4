import { eventLogContract } from '../contracts/event-log.ts';
import { TestArchive } from '../support/archive.ts';

eventLogContract('an archive', () => TestArchive.make());
