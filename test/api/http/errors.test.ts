import { describe, expect, it } from 'vitest';
import {
  errorBody,
  invalidKeyBody,
  noSuchMetroBody,
  noSuchRideBody,
  noSuchRouteBody,
  problemBody,
  problems,
} from '../../../api/http/errors.ts';
import { errorAnswer } from '../../../schemas/interface/answers.ts';

// docs/rules.md#errors
describe('error bodies', () => {
  it("have the interface's keys in its order", () => {
    expect(errorBody('invalid_request', 'day', 'is not a date, YYYY-MM-DD').toString()).toBe(
      '{"error":"invalid_request","input":"day","detail":"is not a date, YYYY-MM-DD"}',
    );
  });

  it('fit the Error schema', () => {
    for (const body of [invalidKeyBody, noSuchMetroBody, noSuchRideBody, noSuchRouteBody]) {
      expect(errorAnswer.safeParse(JSON.parse(body.toString())).error).toBeUndefined();
    }
  });

  it('name the input that nothing was found for, and none for a key or a route', () => {
    expect(JSON.parse(invalidKeyBody.toString())).toMatchObject({ error: 'invalid_key', input: null });
    expect(JSON.parse(noSuchRouteBody.toString())).toMatchObject({ error: 'not_found', input: null });
    expect(JSON.parse(noSuchMetroBody.toString())).toMatchObject({ error: 'not_found', input: 'metro' });
    expect(JSON.parse(noSuchRideBody.toString())).toMatchObject({ error: 'not_found', input: 'ride' });
  });
});

// docs/rules.md#problems
describe('problem bodies', () => {
  it('are problem details of RFC 9457', () => {
    expect(problemBody(503, 'Service Unavailable', 'é').toString()).toBe(
      '{"title":"Service Unavailable","status":503,"detail":"é"}',
    );
    expect(JSON.parse(problems.targetTooLong.body.toString())).toMatchObject({ title: 'URI Too Long', status: 414 });
  });

  it('tell the status they are sent with', () => {
    for (const { status, body } of Object.values(problems)) {
      expect(JSON.parse(body.toString())).toMatchObject({ status });
    }
  });
});
