import type { Fault } from './fault.ts';
import { kafkaFaults } from './kafka-faults.ts';
import { logFaults } from './log-faults.ts';
import { operationFaults } from './operation-faults.ts';
import { processFaults } from './process-faults.ts';
import { storeFaults } from './store-faults.ts';

export const allFaults: readonly Fault[] = [
  ...processFaults,
  ...storeFaults,
  ...kafkaFaults,
  ...logFaults,
  ...operationFaults,
];
