import { describe, expect, it, test } from 'vitest';
import {
  errorBody,
  invalidKeyBody,
  noSuchMetroBody,
  noSuchRideBody,
  noSuchRouteBody,
  problem,
  problems,
  wwwAuthenticate,
} from '../../../api/http/refusals.ts';
import { serviceUrl } from '../../../api/oauth/service-url.ts';
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
    expect(problem(503, 'é').body.toString()).toBe('{"title":"Service Unavailable","status":503,"detail":"é"}');
    expect(JSON.parse(problems.targetTooLong.body.toString())).toMatchObject({ title: 'URI Too Long', status: 414 });
  });

  it('tell the status they are sent with', () => {
    for (const { status, body } of Object.values(problems)) {
      expect(JSON.parse(body.toString())).toMatchObject({ status });
    }
  });
});

// docs/rules.md#www-authenticate, #metadata
test('a 401 names the metadata of the resource at the place of its path', () => {
  expect(wwwAuthenticate(serviceUrl('http://127.0.0.1:8080/api'), false)).toBe(
    'Bearer resource_metadata="http://127.0.0.1:8080/.well-known/oauth-protected-resource/api", scope="read"',
  );
  expect(wwwAuthenticate(serviceUrl('https://rides.example/v/one/'), true)).toBe(
    'Bearer resource_metadata="https://rides.example/.well-known/oauth-protected-resource/v/one", scope="read", error="invalid_token"',
  );
  expect(wwwAuthenticate(serviceUrl('https://rides.example'), false)).toBe(
    'Bearer resource_metadata="https://rides.example/.well-known/oauth-protected-resource", scope="read"',
  );
});
