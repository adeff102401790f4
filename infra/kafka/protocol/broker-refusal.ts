import { protocolErrorsCodesById } from '@platformatic/kafka';
import { causeChain } from '../../net/cause-chain.ts';
import { certificateFault } from '../../net/certificate-fault.ts';

const wrongCredentials = new Set(['SASL_AUTHENTICATION_FAILED', 'UNSUPPORTED_SASL_MECHANISM']);
const sasl = 'KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD';

const authorizationErrors = ['TOPIC', 'GROUP', 'CLUSTER', 'TRANSACTIONAL_ID'].map(
  (what) => `${what}_AUTHORIZATION_FAILED`,
);

/** Kafka's name for one of its error codes, by which its documentation lists them. */
export const errorText = (code: number): string => `Kafka's error ${protocolErrorsCodesById[code] ?? code}`;

/** Kafka's user lacks a right. `right` is as kafka-acls.sh takes it: `Read on topic ride-calendar.riders`. */
export class MissingKafkaRightError extends Error {
  override name = 'MissingKafkaRightError';

  constructor(right: string) {
    super(`the user of KAFKA_SASL_USERNAME lacks ${right}; grant it with kafka-acls.sh`);
  }
}

/** Whether an error code of Kafka says that a right is missing. */
export const isUnauthorized = (code: number): boolean =>
  authorizationErrors.includes(protocolErrorsCodesById[code] ?? '');

/** An error that names the right, if Kafka refused a request because the right is missing. Else the error itself. */
export const namingRight = (error: unknown, right: string): unknown =>
  [...everyError(error)].some(saysUnauthorized) ? new MissingKafkaRightError(right) : error;

const saysUnauthorized = (error: object): boolean => {
  const { apiId, type } = error as { apiId?: string; type?: string };
  return authorizationErrors.includes(apiId ?? type ?? '');
};

/** Includes the errors of kafkajs's own aggregate, which is no AggregateError. */
function* everyError(error: unknown): Generator<object> {
  for (const one of causeChain(error)) {
    yield one;
    const { errors } = one as { errors?: unknown };
    if (Array.isArray(errors)) for (const inner of errors) yield* everyError(inner);
  }
}

/** Why waiting will not help, and what to do. `who` names the brokers. Null if waiting may help. */
export function refusalOf(error: unknown, who: string): string | null {
  for (const one of causeChain(error)) {
    if (one instanceof MissingKafkaRightError) return one.message;
    const { apiId = '' } = one as { apiId?: string };
    if (wrongCredentials.has(apiId)) return `${who} refuses the credentials; check ${sasl}`;
    if (apiId === 'ILLEGAL_SASL_STATE')
      return `${who} takes no credentials there; leave ${sasl} out, or check the port`;
    // The client has no error code for this.
    if (one.message === 'Broker requires TLS.') return `${who} wants TLS there; set KAFKA_SSL=true, or check the port`;
  }
  return certificateFault(error, who, 'KAFKA_BROKERS');
}

/** What may be wrong if a broker closes a connection without an error: TLS, or credentials. */
export function hintOf(error: unknown): string {
  for (const one of causeChain(error))
    if (one.message === 'Connection closed' || (one as NodeJS.ErrnoException).code === 'ECONNRESET')
      return ' (if it goes on: check KAFKA_SSL, and KAFKA_SASL_MECHANISM and what belongs to it)';
  return '';
}
