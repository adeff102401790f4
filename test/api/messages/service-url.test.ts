import { expect, it } from 'vitest';
import { isLoopback, serviceUrl } from '../../../api/messages/service-url.ts';

it('a host has its port, as a Host header does', () => {
  expect(serviceUrl('http://127.0.0.1:8080/api').host).toBe('127.0.0.1:8080');
});

it('this machine is localhost, ::1 and all of 127.0.0.0/8', () => {
  expect(['localhost', '127.0.0.1', '127.8.9.10', '::1', '[::1]'].filter(isLoopback)).toHaveLength(5);
  const others = ['127.0.0.1.example', '127.1', '128.0.0.1', '0.0.0.0', '::', 'localhost.example'];
  expect(others.filter(isLoopback)).toEqual([]);
});

// docs/rules.md#resource
it.each(['', '//'])('%j at the end of a base URL is no part of it', (end) => {
  const resource = 'https://rides.example/api';
  expect(serviceUrl(resource + end)).toMatchObject({ basePath: '/api', resource });
});
