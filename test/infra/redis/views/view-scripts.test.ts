import { connectionInMemory, scriptCases } from './script-cases.ts';

scriptCases('a Redis in memory', connectionInMemory);
